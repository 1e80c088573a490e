#include "stacking/composition/stack_file.hpp"

#include "stacking/composition/ensemble.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>
#include <toml++/toml.h>
#include <utility>

namespace stacking::composition {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

constexpr std::size_t kSeamsMax = 1024;
constexpr std::size_t kTextMax = 512;
constexpr StackMode kModes[] = {StackMode::Ensemble, StackMode::Chain, StackMode::Bridge};

/// Reads tables key by key and keeps the first fault.
class Reader {
 public:
    explicit Reader(std::string file) : file_(std::move(file)) {}

    template <class Take>
    void each_key(const toml::table& table, Take take) {
        for (const auto& [key, node] : table) {
            if (!take(key.str(), node)) {
                fail(node, "unknown key " + std::string(key.str()));
            }
        }
    }

    /// Calls `take` with each table of an array of tables.
    template <class Take>
    void each_table(const toml::node& node, std::size_t most, Take take) {
        const toml::array* const items = node.as_array();
        if (items == nullptr || items->size() > most) {
            return fail(node, "wants at most " + std::to_string(most) + " tables");
        }
        for (const toml::node& item : *items) {
            if (const toml::table* const table = item.as_table()) {
                take(*table);
            } else {
                fail(item, "wants a table");
            }
        }
    }

    void text(const toml::node& node, std::string& into) {
        const auto value = node.value_exact<std::string>();
        if (!value || value->empty() || value->size() > kTextMax) {
            return fail(node, "wants a text of 1 to 512 bytes");
        }
        into = *value;
    }

    void number(const toml::node& node, double least, double& into) {
        const auto value = node.is_number() ? node.value<double>() : std::nullopt;
        if (!value || !std::isfinite(*value) || *value < least) {
            return fail(node, "wants a number that is not below " + std::to_string(least));
        }
        into = *value;
    }

    void fail(const toml::node& node, const std::string& what) {
        if (!fault_) {
            fault_ = Error{
                ErrorCode::Usage,
                Reaction::Reject,
                file_ + ":" + std::to_string(node.source().begin.line) + ": " + what};
        }
    }

    void fail(const std::string& what) {
        if (!fault_) {
            fault_ = Error{ErrorCode::Usage, Reaction::Reject, file_ + ": " + what};
        }
    }

    [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }

 private:
    std::string file_;
    std::optional<Error> fault_;
};

constexpr double kSmallestPrior = 1e-6;

void read_member(Reader& reader, const toml::table& table, StackMember& member) {
    reader.each_key(table, [&](std::string_view key, const toml::node& node) {
        if (key == "model") {
            reader.text(node, member.model);
        } else if (key == "prior") {
            reader.number(node, kSmallestPrior, member.prior);
        } else if (key == "layers") {
            member.layers = parse_layers(node.value_exact<std::string>().value_or(""));
            if (!member.layers) {
                reader.fail(node, "layers wants a range, as \"0-5\"");
            }
        } else {
            return false;
        }
        return true;
    });
    if (member.model.empty()) {
        reader.fail(table, "a member needs a model");
    }
}

void read_losses(Reader& reader, const toml::node& node, std::vector<double>& losses) {
    const toml::array* const items = node.as_array();
    if (items == nullptr || items->size() > kMembersMax) {
        return reader.fail(node, "wants a list with one loss per member");
    }
    for (const toml::node& item : *items) {
        reader.number(item, 0, losses.emplace_back());
    }
}

void read_seam(Reader& reader, const toml::table& table, Seam& seam) {
    reader.each_key(table, [&](std::string_view key, const toml::node& node) {
        if (key == "text") {
            reader.text(node, seam.text);
        } else if (key == "tokens") {
            const auto tokens = node.value_exact<std::int64_t>();
            seam.tokens = tokens && *tokens > 0 ? static_cast<std::uint64_t>(*tokens) : 0;
        } else if (key == "members") {
            read_losses(reader, node, seam.members);
        } else if (key == "stack") {
            reader.number(node, 0, seam.stack);
        } else {
            return false;
        }
        return true;
    });
    if (seam.tokens == 0) {
        reader.fail(table, "a seam needs the number of its tokens");
    }
}

void read_mode(Reader& reader, const toml::node& node, StackMode& mode) {
    const auto value = node.value_exact<std::string>();
    const auto found = parse_mode(value.value_or(""));
    if (!found) {
        return reader.fail(node, "mode is \"ensemble\", \"chain\" or \"bridge\"");
    }
    mode = *found;
}

void read_experts(Reader& reader, const toml::node& node, std::uint32_t& experts) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 0 || *value > static_cast<std::int64_t>(kMembersMax)) {
        return reader.fail(node, "experts wants a number from 0 to " + std::to_string(kMembersMax));
    }
    experts = static_cast<std::uint32_t>(*value);
}

void check(Reader& reader, const StackFile& stack) {
    if (stack.members.empty()) {
        reader.fail("a stack needs a member");
    }
    if (stack.mode == StackMode::Bridge && stack.members.size() != 2) {
        reader.fail("a bridge leads from one member to another: it needs two");
    }
    if (stack.mode != StackMode::Bridge && !stack.bridge.empty()) {
        reader.fail("only mode bridge has a bridge");
    }
    if (stack.mode != StackMode::Ensemble && !stack.clusters.empty()) {
        reader.fail("only mode ensemble has clusters");
    }
    if (stack.clusters.empty() && stack.experts > 0) {
        reader.fail("experts needs clusters, by which they are chosen");
    }
    for (const Seam& seam : stack.seams) {
        if (seam.members.size() != stack.members.size()) {
            reader.fail("the seam of " + seam.text + " was measured with other members");
        }
    }
}

std::string quoted(const std::string& text) {
    std::ostringstream out;
    out << toml::value<std::string>(text);
    return out.str();
}

std::string range_text(LayerSpan layers) {
    return std::to_string(layers.first) + "-" + std::to_string(layers.last);
}

/// The shortest text that reads back as the same number.
std::string number(double value) {
    std::ostringstream out;
    out.precision(std::numeric_limits<double>::max_digits10);
    out << value;
    std::string text = out.str();
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::optional<LayerSpan> parse_layers(std::string_view text) {
    LayerSpan layers;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, layers.first);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '-') {
        return std::nullopt;
    }
    const auto last = std::from_chars(first.ptr + 1, end, layers.last);
    const bool good = last.ec == std::errc{} && last.ptr == end && layers.first <= layers.last;
    return good ? std::optional(layers) : std::nullopt;
}

std::string member_text(const StackMember& member) {
    return member.layers ? member.model + "@" + range_text(*member.layers) : member.model;
}

std::string alone_text(const StackFile& stack, std::size_t member) {
    const StackMember& one = stack.members[member];
    return stack.mode == StackMode::Chain ? one.model : member_text(one);
}

std::string_view to_text(StackMode mode) {
    switch (mode) {
        case StackMode::Ensemble:
            return "ensemble";
        case StackMode::Chain:
            return "chain";
        case StackMode::Bridge:
            break;
    }
    return "bridge";
}

std::optional<StackMode> parse_mode(std::string_view text) {
    const auto* const found =
        std::ranges::find_if(kModes, [&](StackMode one) { return to_text(one) == text; });
    return found == std::end(kModes) ? std::nullopt : std::optional(*found);
}

Result<StackFile> parse_stack(std::string_view toml, const std::string& file) {
    toml::table document;
    try {
        document = toml::parse(toml, std::string_view(file));
    } catch (const toml::parse_error& error) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            file + ":" + std::to_string(error.source().begin.line) + ": " +
                std::string(error.description())};
    }
    Reader reader(file);
    StackFile stack;
    reader.each_key(document, [&](std::string_view key, const toml::node& node) {
        if (key == "name") {
            reader.text(node, stack.name);
        } else if (key == "mode") {
            read_mode(reader, node, stack.mode);
        } else if (key == "bridge") {
            reader.text(node, stack.bridge);
        } else if (key == "clusters") {
            reader.text(node, stack.clusters);
        } else if (key == "experts") {
            read_experts(reader, node, stack.experts);
        } else if (key == "member") {
            reader.each_table(node, kMembersMax, [&](const toml::table& table) {
                read_member(reader, table, stack.members.emplace_back());
            });
        } else if (key == "seam") {
            reader.each_table(node, kSeamsMax, [&](const toml::table& table) {
                read_seam(reader, table, stack.seams.emplace_back());
            });
        } else {
            return false;
        }
        return true;
    });
    check(reader, stack);
    if (reader.fault()) {
        return *reader.fault();
    }
    return stack;
}

std::string to_toml(const StackFile& stack) {
    std::string text = "name = " + quoted(stack.name) +
                       "\nmode = " + quoted(std::string(to_text(stack.mode))) + "\n";
    if (!stack.bridge.empty()) {
        text += "bridge = " + quoted(stack.bridge) + "\n";
    }
    if (!stack.clusters.empty()) {
        text += "clusters = " + quoted(stack.clusters) + "\n";
    }
    if (stack.experts > 0) {
        text += "experts = " + std::to_string(stack.experts) + "\n";
    }
    for (const StackMember& member : stack.members) {
        text += "\n[[member]]\nmodel = " + quoted(member.model) +
                "\nprior = " + number(member.prior) + "\n";
        if (member.layers) {
            text += "layers = \"" + range_text(*member.layers) + "\"\n";
        }
    }
    for (const Seam& seam : stack.seams) {
        text += "\n[[seam]]\ntext = " + quoted(seam.text) +
                "\ntokens = " + std::to_string(seam.tokens) + "\nmembers = [";
        for (std::size_t i = 0; i < seam.members.size(); ++i) {
            text += (i > 0 ? ", " : "") + number(seam.members[i]);
        }
        text += "]\nstack = " + number(seam.stack) + "\n";
    }
    return text;
}

std::optional<Verdict> judge(const StackFile& stack) {
    if (stack.seams.empty()) {
        return std::nullopt;
    }
    double tokens = 0;
    double stack_nats = 0;
    std::vector<double> member_nats(stack.members.size());
    for (const Seam& seam : stack.seams) {
        const auto count = static_cast<double>(seam.tokens);
        tokens += count;
        stack_nats += seam.stack * count;
        for (std::size_t i = 0; i < member_nats.size(); ++i) {
            member_nats[i] += seam.members[i] * count;
        }
    }
    const auto best = std::min_element(member_nats.begin(), member_nats.end());
    return Verdict{
        stack_nats / tokens, *best / tokens, static_cast<std::size_t>(best - member_nats.begin())};
}

}  // namespace stacking::composition
