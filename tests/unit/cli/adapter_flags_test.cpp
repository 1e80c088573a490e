#include "swarm/cli/chat/chat.hpp"
#include "swarm/cli/eval/eval.hpp"
#include "swarm/cli/generate/generate.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace swarm::cli {
namespace {

using test::exit_of;
using test::joined;
using test::options_of;
using test::Words;

TEST(AdapterFlags, NameAFolderForTheModelOfThisProcess) {
    const Words words{"generate", "--model", "m", "--adapter", "tuned", "text"};
    EXPECT_EQ(options_of<GenerateOptions>(words).adapter, "tuned");
    const auto eval = options_of<EvalOptions>({"eval", "m", "--adapter", "tuned", "--text", "a"});
    EXPECT_EQ(eval.adapter, "tuned");
    const auto chat = options_of<ChatOptions>({"chat", "--model", "m", "--adapter", "tuned"});
    EXPECT_EQ(chat.generate.adapter, "tuned");
    EXPECT_EQ(options_of<EvalOptions>({"eval", "m", "--text", "a"}).adapter, "");
}

TEST(AdapterFlags, AreForNoPeersAndNoStack) {
    const std::vector<Words> bad = {
        {"generate", "--model", "m", "--join", "a:1", "--adapter", "tuned", "text"},
        {"generate", "--stack", "s.toml", "--adapter", "tuned", "text"},
        {"generate", "--join", "a:1", "--adapter", "tuned", "text"},
        {"chat", "--model", "m", "--join", "a:1", "--adapter", "tuned"},
        {"chat", "--stack", "s.toml", "--adapter", "tuned"}};
    for (const Words& words : bad) {
        EXPECT_EQ(exit_of(words).code, kUsage) << joined(words);
    }
}

}  // namespace
}  // namespace swarm::cli
