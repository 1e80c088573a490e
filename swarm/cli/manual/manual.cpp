#include "swarm/cli/manual/manual.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <span>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

/// "swarm sim compare" -> "swarm-sim-compare".
std::string page_name(const VerbText& verb) {
    std::string name = verb.name;
    std::replace(name.begin(), name.end(), ' ', '-');
    return name;
}

/// Escapes what man(7) would read as more than text: backslashes, dashes that are to be typed, and
/// a control character at the begin of a line.
std::string roff(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        const bool begins_line = escaped.empty() || escaped.back() == '\n';
        if (begins_line && (c == '.' || c == '\'')) {
            escaped += "\\&";
        }
        if (c == '\\') {
            escaped += "\\e";
        } else if (c == '-') {
            escaped += "\\-";
        } else {
            escaped += c;
        }
    }
    return escaped;
}

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of('\n');
    const std::size_t last = text.find_last_not_of('\n');
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// Text whose lines stay as they are.
std::string verbatim(const std::string& text) {
    return ".nf\n" + roff(trimmed(text)) + "\n.fi\n";
}

std::string synopsis(const VerbText& verb) {
    std::string line = ".B " + roff(verb.name) + "\n[\\fIOPTIONS\\fR]\n";
    for (const FlagText& flag : verb.flags) {
        line += flag.is_word ? "\\fI" + roff(flag.names) + "\\fR\n" : "";
    }
    return line + (verb.verbs.empty() ? "" : "\\fIVERB\\fR ...\n");
}

std::string entry(const FlagText& flag) {
    std::string head = ".TP\n\\fB" + roff(flag.names) + "\\fR";
    if (!flag.value.empty() && !flag.is_word) {
        head += " \\fI" + roff(flag.value) + "\\fR";
    }
    std::string values;
    for (const std::string& choice : flag.choices) {
        values += (values.empty() ? " One of: " : ", ") + choice;
    }
    return head + "\n" + roff(flag.meaning + (values.empty() ? "" : "." + values + ".")) + "\n";
}

Result<> write_page(const fs::path& folder, const VerbText& verb, std::size_t& pages) {
    const std::string page = manual_page(verb);
    const fs::path file = folder / (page_name(verb) + ".1");
    SWARM_TRY(write_durably(file, std::as_bytes(std::span(page))));
    ++pages;
    for (const VerbText& below : verb.verbs) {
        SWARM_TRY(write_page(folder, below, pages));
    }
    return {};
}

Result<std::size_t> write_all(const ManualOptions& options) {
    const fs::path pages = fs::path(options.folder) / "man" / "man1";
    const fs::path completions = fs::path(options.folder) / "bash-completion" / "completions";
    SWARM_TRY(make_folder(pages));
    SWARM_TRY(make_folder(completions));
    std::size_t count = 0;
    SWARM_TRY(write_page(pages, options.swarm, count));
    const std::string completion = bash_completion(options.swarm);
    SWARM_TRY(write_durably(completions / "swarm", std::as_bytes(std::span(completion))));
    return count;
}

}  // namespace

std::string manual_page(const VerbText& verb) {
    const std::string name = page_name(verb);
    std::string title = name;
    std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) {
        return static_cast<char>(std::toupper(c));
    });
    std::string page = ".TH " + roff(title) + " 1 \"\" \"swarm " SWARM_VERSION "\" \"swarm\"\n";
    page += ".SH NAME\n" + roff(name) + " \\- " + roff(verb.meaning) + "\n";
    page += ".SH SYNOPSIS\n" + synopsis(verb);
    if (!verb.verbs.empty()) {
        page += ".SH VERBS\n";
        for (const VerbText& below : verb.verbs) {
            page += ".TP\n\\fB" + roff(page_name(below)) + "\\fR(1)\n" + roff(below.meaning) + "\n";
        }
    }
    page += ".SH OPTIONS\n";
    for (const FlagText& flag : verb.flags) {
        page += entry(flag);
    }
    if (!trimmed(verb.examples).empty()) {
        page += ".SH EXAMPLES\n" + verbatim(verb.examples);
    }
    return page + ".SH EXIT STATUS\n" + verbatim(verb.exit_codes);
}

int manual(const ManualOptions& options) {
    Console console;
    const Result<std::size_t> pages = write_all(options);
    if (!pages) {
        return end_with(console, pages.error());
    }
    std::cout << "wrote " << *pages << " manual pages and the completion of bash below "
              << options.folder << std::endl;
    return kDone;
}

}  // namespace swarm::cli
