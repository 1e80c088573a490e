#include "swarm/cli/stack/member_files.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/run/run_file/config_changes.hpp"

#include <algorithm>

namespace swarm::cli {
namespace {

constexpr std::size_t kNameMax = 48;         // leaves room in a run's name
constexpr std::uint64_t kDeal = 0x6465616c;  // stream of the random numbers

bool is_of_names(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
}

}  // namespace

std::string member_name(const std::filesystem::path& source) {
    std::filesystem::path plain = source.lexically_normal();
    if (!plain.has_filename()) {
        plain = plain.parent_path();  // "data/" is "data"
    }
    std::string name = plain.stem().string().substr(0, kNameMax);
    std::ranges::replace_if(
        name, [](char letter) { return !is_of_names(letter); }, '-'
    );
    return name.empty() ? "member" : name;
}

std::string run_file_text(const run::RunConfig& config, const std::string& comment) {
    std::string text = "# " + comment + "\n";
    std::string table;
    for (const run::KeyChange& change : run::changes_between(run::RunConfig{}, config)) {
        const std::size_t dot = change.key.find('.');
        if (change.key.substr(0, dot) != table) {
            table = change.key.substr(0, dot);
            text += "\n[" + table + "]\n";
        }
        text += change.key.substr(dot + 1) + " = " + change.now + "\n";
    }
    return text;
}

std::vector<std::string> deal_paragraphs(
    const std::vector<std::string>& texts, std::size_t members, std::uint64_t seed
) {
    SWARM_ASSERT(members > 0);
    std::vector<std::string> dealt(members);
    Rng draw(seed, kDeal);
    for (const std::string& text : texts) {
        std::size_t begin = 0;
        while (begin < text.size()) {
            std::size_t end = text.find("\n\n", begin);
            end = end == std::string::npos ? text.size() : text.find_first_not_of('\n', end);
            end = std::min(end, text.size());
            std::string& one = dealt[draw.below(members)];
            if (!one.empty() && !one.ends_with("\n\n")) {
                one += one.back() == '\n' ? "\n" : "\n\n";  // the last one of another text
            }
            one.append(text, begin, end - begin);
            begin = end;
        }
    }
    return dealt;
}

}  // namespace swarm::cli
