// Chat templates against Jinja: the templates of chat_templates.txt, each with 200 drawn
// conversations, must make the texts whose digests chat_templates.py has kept.
#include "stacking/tokenizers/jinja/template.hpp"
#include "swarm/base/digest.hpp"
#include "tests/places.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace swarm::golden {
namespace {

using stacking::tokenizers::jinja::Origin;
using stacking::tokenizers::jinja::Template;
using stacking::tokenizers::jinja::Variables;

constexpr std::size_t kConversations = 200;
constexpr std::size_t kChunk = 25;
constexpr std::int64_t kNow_s = 1'767'264'909;  // 2026-01-01 10:55:09, as in the script

// The pieces of the script, in its order.
constexpr auto kWords = std::to_array<const char*>(
    {"Hello",
     "what is",
     "the",
     "weather",
     "in",
     R"(Z\u00fcrich)",
     R"(\u4e2d\u6587)",
     "?",
     "!",
     ".",
     R"(\n)",
     R"(\n\n)",
     " ",
     "  ",
     R"(\t)",
     "it's",
     R"(\"quoted\")",
     "<b>&amp;</b>",
     "{{ x }}",
     "{% if %}",
     "<think>",
     "</think>",
     "maybe so",
     "42",
     "3.5",
     "-7",
     R"(\\)",
     "a,b;c",
     "UPPER",
     R"(\u00e9t\u00e9)",
     R"(\ud83d\ude00)",
     R"(def f(x):\n    return x)",
     "[INST]",
     "<|end|>",
     "|",
     "---",
     R"(\u2028)",
     R"(\u0007)",
     "%s",
     "'"}
);
constexpr auto kScalars = std::to_array<const char*>(
    {"1", "-3", "2.5", "1e20", "true", "false", "null", "\"x\"", "[1, 2]", "{}"}
);
constexpr auto kNames = std::to_array<const char*>({"get_weather", "search", "add_numbers", "run"});
constexpr auto kKinds =
    std::to_array<const char*>({"string", "integer", "number", "boolean", "array"});

/// Draws a conversation as chat_templates.py does.
class Drawing {
 public:
    explicit Drawing(std::uint64_t seed) : state_(seed) {}

    std::string conversation() {
        std::string text = "{\"messages\": " + messages();
        text += std::string(", \"tools\": ") + (below(3) == 0 ? tools() : "null");
        text += std::string(", \"add_generation_prompt\": ") + (below(2) != 0 ? "true" : "false");
        text += R"(, "bos_token": "<s>", "eos_token": "</s>")";
        const std::uint64_t thinking = below(3);
        if (thinking != 0) {
            text += std::string(", \"enable_thinking\": ") + (thinking == 1 ? "true" : "false");
        }
        if (below(4) == 0) {
            text += R"(, "date_string": "26 Jul 2024")";
        }
        return text + "}";
    }

 private:
    /// splitmix64
    std::uint64_t below(std::uint64_t bound) {
        state_ += 0x9E3779B97F4A7C15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EB;
        return (z ^ (z >> 31U)) % bound;
    }

    template <std::size_t N>
    const char* one_of(const std::array<const char*, N>& all) {
        return all[below(N)];
    }

    std::string text(std::uint64_t most) {
        std::vector<std::string> words(below(most + 1));
        for (std::string& word : words) {
            word = one_of(kWords);
        }
        return '"' + joined(words, below(2) != 0 ? " " : "") + '"';
    }

    static std::string joined(const std::vector<std::string>& parts, const std::string& between) {
        std::string all;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            all += (i == 0 ? "" : between) + parts[i];
        }
        return all;
    }

    std::string arguments() {
        std::vector<std::string> fields(below(3));
        for (std::size_t i = 0; i < fields.size(); ++i) {
            std::string value = one_of(kScalars);
            if (below(2) != 0) {
                value = text(3);
            }
            fields[i] = "\"arg" + std::to_string(i) + "\": " + value;
        }
        return "{" + joined(fields, ", ") + "}";
    }

    std::string calls() {
        std::vector<std::string> all(1 + below(2));
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::string name = one_of(kNames);
            all[i] = "{\"id\": \"call_" + std::to_string(i) +
                     R"(", "type": "function", "function": {"name": ")" + name +
                     "\", \"arguments\": " + arguments() + "}}";
        }
        return "[" + joined(all, ", ") + "]";
    }

    std::string tools() {
        std::vector<std::string> all(1 + below(2));
        for (std::string& tool : all) {
            std::vector<std::string> fields(below(3));
            for (std::size_t i = 0; i < fields.size(); ++i) {
                const std::string kind = one_of(kKinds);
                fields[i] = "\"arg" + std::to_string(i) + "\": {\"type\": \"" + kind +
                            "\", \"description\": " + text(3) + "}";
            }
            const std::string required = below(2) != 0 ? R"(["arg0"])" : "[]";
            const std::string name = one_of(kNames);
            tool = R"({"type": "function", "function": {"name": ")" + name +
                   "\", \"description\": " + text(4) +
                   R"(, "parameters": {"type": "object", "properties": {)" + joined(fields, ", ") +
                   "}, \"required\": " + required + "}}}";
        }
        return "[" + joined(all, ", ") + "]";
    }

    std::string message(const std::string& role, const std::string& more = "") {
        return "{\"role\": \"" + role + "\", \"content\": " + text(6) + more + "}";
    }

    std::string messages() {
        std::vector<std::string> all;
        if (below(3) != 0) {
            all.push_back(message("system"));
        }
        const std::uint64_t turns = 1 + below(4);
        for (std::uint64_t turn = 0; turn < turns; ++turn) {
            all.push_back(message("user"));
            if (below(12) == 0) {
                all.push_back(message("user"));
            }
            if (below(5) == 0) {
                const std::string called = calls();
                all.push_back(message("assistant", ", \"tool_calls\": " + called));
                const std::string name = one_of(kNames);
                all.push_back(
                    message("tool", ", \"name\": \"" + name + R"(", "tool_call_id": "call_0")")
                );
            }
            if (below(4) != 0) {
                const std::string reasoning =
                    below(3) == 0 ? ", \"reasoning_content\": " + text(3) : "";
                all.push_back(message("assistant", reasoning));
            }
        }
        return "[" + joined(all, ", ") + "]";
    }

    std::uint64_t state_;
};

std::string read_file(const std::string& name) {
    std::ifstream file(test::source_dir() + "/tests/golden/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> read_templates() {
    constexpr std::string_view kMark = "\n######## ";
    const std::string all = read_file("chat_templates.txt");
    std::map<std::string, std::string> templates;
    for (std::size_t at = all.find(kMark); at != std::string::npos;) {
        at += kMark.size();
        const std::size_t line = all.find('\n', at);
        const std::size_t next = all.find(kMark, line);
        templates[all.substr(at, line - at)] = all.substr(line + 1, next - line - 1);
        at = next;
    }
    return templates;
}

/// Returns the text, or one of the script's two marks.
std::string render(const Template& compiled, std::size_t number) {
    const boost::json::value drawn = boost::json::parse(Drawing(number).conversation());
    Variables variables;
    for (const auto& [name, json] : drawn.as_object()) {
        variables.emplace_back(
            std::string(name), *stacking::tokenizers::jinja::from_json(json, Origin::Data)
        );
    }
    const auto text = compiled.render(variables, kNow_s);
    if (text) {
        return text->bytes();
    }
    const std::string zero(1, '\0');
    return text.error().code == ErrorCode::Mismatch ? zero + "refused: " + text.error().detail
                                                    : zero + "failed";
}

std::string digest_of(const std::string& bytes) {
    return to_hex(sha256(std::as_bytes(std::span(bytes)))).substr(0, 16);
}

TEST(ChatTemplates, TheConversationsAreThoseOfTheScript) {
    std::string all;
    for (std::size_t number = 0; number < kConversations; ++number) {
        all += Drawing(number).conversation() + "\n";
    }
    const boost::json::value golden = boost::json::parse(read_file("chat_templates.json"));
    EXPECT_EQ(digest_of(all), golden.at("conversations").as_string());
}

TEST(ChatTemplates, MakeTheTextsOfJinja) {
    const boost::json::value golden = boost::json::parse(read_file("chat_templates.json"));
    const std::map<std::string, std::string> templates = read_templates();
    ASSERT_EQ(templates.size(), golden.at("templates").as_object().size());
    ASSERT_GE(templates.size(), 25U);
    for (const auto& [name, text] : templates) {
        const auto compiled = Template::compile(text);
        ASSERT_TRUE(compiled.has_value()) << name << ": " << compiled.error().detail;
        const boost::json::array& digests = golden.at("templates").at(name).as_array();
        for (std::size_t begin = 0; begin < kConversations; begin += kChunk) {
            std::string all;
            for (std::size_t number = begin; number < begin + kChunk; ++number) {
                all += render(*compiled, number) + "\n";
            }
            EXPECT_EQ(digest_of(all), digests.at(begin / kChunk).as_string())
                << name << ", conversations from " << begin
                << "; chat_templates.py --show prints what Jinja makes of one";
        }
    }
}

}  // namespace
}  // namespace swarm::golden
