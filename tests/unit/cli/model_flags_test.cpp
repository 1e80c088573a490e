#include "swarm/cli/model/model_flags.hpp"

#include "swarm/cli/exit_code.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

Command parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"swarm", "model"});
    return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(ModelFlags, EachVerbTakesItsArguments) {
    EXPECT_EQ(std::get<ModelFetchOptions>(parse({"fetch", "smollm2"})).name, "smollm2");
    const auto plain = std::get<ModelShowOptions>(parse({"show", "a.gguf"}));
    EXPECT_EQ(plain.model, "a.gguf");
    EXPECT_EQ(plain.stages, 1U);
    EXPECT_EQ(plain.json_file, "");
    const auto show =
        std::get<ModelShowOptions>(parse({"show", "a.gguf", "--stages", "5", "--json", "o.json"}));
    EXPECT_EQ(show.stages, 5U);
    EXPECT_EQ(show.json_file, "o.json");
    const auto exported = std::get<ModelExportOptions>(parse({"export", "smollm2", "folder"}));
    EXPECT_EQ(exported.model, "smollm2");
    EXPECT_EQ(exported.folder, "folder");
}

TEST(ModelFlags, HelpOfEachVerbShowsAnExample) {
    for (const char* const verb : {"fetch", "show", "export"}) {
        const Command command = parse({verb, "--help"});
        ASSERT_TRUE(std::holds_alternative<Exit>(command)) << verb;
        EXPECT_EQ(std::get<Exit>(command).code, kDone);
        const std::string example = std::string("\n  swarm model ") + verb + " smollm2";
        EXPECT_NE(std::get<Exit>(command).text.find(example), std::string::npos) << verb;
    }
}

TEST(ModelFlags, WhatIsNotUnderstoodIsAUsageError) {
    const std::vector<std::vector<const char*>> bad = {
        {},
        {"dance"},
        {"fetch"},
        {"show"},
        {"show", "a.gguf", "--stages", "0"},
        {"show", "a.gguf", "--stages", "65"},
        {"export", "a.gguf"}};
    for (const auto& arguments : bad) {
        const Command command = parse(arguments);
        ASSERT_TRUE(std::holds_alternative<Exit>(command));
        EXPECT_EQ(std::get<Exit>(command).code, kUsage) << std::get<Exit>(command).text;
    }
}

}  // namespace
}  // namespace swarm::cli
