#include "swarm/cli/options.hpp"

#include "swarm/cli/exit_code.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

Command parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "swarm");
    return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

int exit_code_of(std::vector<const char*> arguments) {
    const Command command = parse(std::move(arguments));
    const auto* const exit = std::get_if<Exit>(&command);
    return exit == nullptr ? -1 : exit->code;
}

TEST(Options, HelpOfEachVerbIsNoErrorAndShowsAnExample) {
    for (const char* verb :
         {"train", "serve", "directory", "generate", "local", "plan", "doctor"}) {
        const Command command = parse({verb, "--help"});
        ASSERT_TRUE(std::holds_alternative<Exit>(command)) << verb;
        EXPECT_EQ(std::get<Exit>(command).code, kDone);
        const std::string example = std::string("\n  swarm ") + verb + " ";
        EXPECT_NE(std::get<Exit>(command).text.find(example), std::string::npos) << verb;
    }
}

TEST(Options, GenerateTakesAModelInThisProcess) {
    const Command command = parse(
        {"generate",
         "--model",
         "smollm2",
         "--prompt",
         "Emma",
         "--raw",
         "--max-tokens",
         "7",
         "--ignore-eos",
         "--weights",
         "int8",
         "--json",
         "out.json"}
    );
    ASSERT_TRUE(std::holds_alternative<GenerateOptions>(command));
    const auto& generate = std::get<GenerateOptions>(command);
    EXPECT_EQ(generate.model, "smollm2");
    EXPECT_EQ(generate.prompt, "Emma");
    EXPECT_EQ(generate.tokens, 7U);
    EXPECT_EQ(generate.weights, "int8");
    EXPECT_EQ(generate.json_file, "out.json");
    EXPECT_TRUE(generate.raw && generate.ignore_eos);
}

TEST(Options, GenerateTakesAModelAndItsPeers) {
    const Command command = parse(
        {"generate",
         "--model",
         "smollm2",
         "--join",
         "a:1",
         "--replay",
         "fast",
         "--path",
         "0,1,1,2",
         "--exit",
         "0.9",
         "text"}
    );
    EXPECT_EQ(
        std::get<GenerateOptions>(
            parse({"generate", "--model", "smollm2", "--stages", "2", "--path", "1,0,1", "text"})
        )
            .stages,
        2U
    );
    ASSERT_TRUE(std::holds_alternative<GenerateOptions>(command));
    const auto& generate = std::get<GenerateOptions>(command);
    EXPECT_EQ(generate.join, "a:1");
    EXPECT_EQ(generate.model, "smollm2");
    EXPECT_EQ(generate.replay, "fast");
    EXPECT_EQ(generate.path, (std::vector<std::uint32_t>{0, 1, 1, 2}));
    EXPECT_EQ(generate.exit_threshold, 0.9);
}

TEST(Options, ServeTakesPartsOfAModel) {
    const Command command = parse(
        {"serve",
         "--model",
         "smollm2",
         "--join",
         "a:1",
         "--stages",
         "3",
         "--weights",
         "bf16",
         "--kv-memory",
         "2GiB",
         "--layers",
         "0-9"}
    );
    ASSERT_TRUE(std::holds_alternative<ServeOptions>(command));
    const auto& serve = std::get<ServeOptions>(command);
    EXPECT_EQ(serve.model, "smollm2");
    EXPECT_EQ(serve.stages, 3U);
    EXPECT_EQ(serve.weights, "bf16");
    EXPECT_EQ(serve.kv_bytes, 2ULL << 30);
    EXPECT_EQ(serve.layers, "0-9");
}

TEST(Options, VersionIsNoError) {
    const Command command = parse({"--version"});
    ASSERT_TRUE(std::holds_alternative<Exit>(command));
    EXPECT_EQ(std::get<Exit>(command).code, kDone);
    EXPECT_EQ(std::get<Exit>(command).text.rfind("swarm ", 0), 0U);
}

TEST(Options, WhatIsNotUnderstoodIsAUsageErrorOfOneLine) {
    const std::vector<std::vector<const char*>> bad = {
        {},
        {"dance"},
        {"train", "--stepz", "3"},
        {"train", "--steps", "many"},
        {"train", "--steps", "-1"},
        {"train", "--single", "--mode", "fast"},
        {"train", "--mode", "sparse", "--beside-exact"},
        {"train", "--single", "--resume", "--beside-exact"},
        {"serve"},
        {"serve", "--join", "a:1", "--wait", "soon"},
        {"serve", "--join", "a:1", "--memory", "-1GiB"},
        {"serve", "--join", "a:1", "--memory", "2 elephants"},
        {"serve", "--join", "a:1", "--memory", "99999999999TiB"},
        {"generate", "--join", "a:1"},
        {"generate", "--model", "smollm2"},
        {"generate", "text"},
        {"generate", "--model", "smollm2", "--join", "a:1", "--weights", "int8", "text"},
        {"generate", "--model", "smollm2", "--join", "a:1", "--replay", "slow", "text"},
        {"generate", "--join", "a:1", "--path", "0,1", "text"},
        {"generate", "--join", "a:1", "--exit", "0.5", "text"},
        {"generate", "--model", "smollm2", "--join", "a:1", "--stages", "2", "text"},
        {"generate", "--model", "smollm2", "--join", "a:1", "--exit", "-1", "text"},
        {"serve", "--join", "a:1", "--layers", "0-3"},
        {"serve", "--join", "a:1", "--model", "smollm2", "--stages", "0"},
        {"serve", "--join", "a:1", "--model", "smollm2", "--stages", "65"},
        {"serve", "--join", "a:1", "--model", "smollm2", "--kv-memory", "none"},
        {"serve", "--model", "smollm2"},
        {"serve", "--join", "a:1", "--model", "smollm2", "--device", "cuda:0"},
        {"serve", "--join", "a:1", "--model", "smollm2", "--memory", "1GiB"},
        {"serve", "--join", "a:1", "--model", "smollm2", "--cache", "folder"},
        {"directory", "somewhere"},
        {"local", "--kill-at", "x"},
        {"generate", "--join", "a:1", "--raw", "text"},
        {"generate", "--model", "smollm2", "--swarm-key", "k", "text"},
        {"generate", "--model", "smollm2", "--weights", "fp64", "text"},
        {"local", "--peers", "0"},
        {"local", "--service-ms", "4,x"},
        {"local", "--kill-every", "-3s"},
    };
    for (const auto& arguments : bad) {
        const Command command = parse(arguments);
        ASSERT_TRUE(std::holds_alternative<Exit>(command))
            << (arguments.empty() ? "" : arguments.back());
        const std::string& text = std::get<Exit>(command).text;
        EXPECT_EQ(std::get<Exit>(command).code, kUsage) << text;
        EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
    }
}

TEST(Options, AFlagThatIsNotGivenOverridesNothing) {
    const Command command = parse({"train", "run.toml", "--steps", "7"});
    const auto& train = std::get<TrainOptions>(command);
    EXPECT_EQ(train.run_file, "run.toml");
    EXPECT_EQ(train.run.steps, 7U);
    EXPECT_FALSE(train.run.stages);
    EXPECT_FALSE(train.run.model);
    EXPECT_FALSE(train.single);
}

TEST(Options, TrainTakesAMode) {
    const Command command =
        parse({"train", "--single", "--mode", "sparse", "--sync-every", "4", "--replicas", "3"});
    const auto& train = std::get<TrainOptions>(command);
    EXPECT_EQ(train.run.mode, "sparse");
    EXPECT_EQ(train.run.sync_every, 4U);
    EXPECT_EQ(train.run.replicas, 3U);
    EXPECT_FALSE(train.beside_exact);
}

TEST(Options, LocalTakesFaultsAndSpeeds) {
    const Command command = parse(
        {"local",
         "--peers",
         "3",
         "--service-ms",
         "40,80,160",
         "--kill-every",
         "3s",
         "--freeze-every",
         "500ms",
         "--churn",
         "default",
         "--verify"}
    );
    const auto& local = std::get<LocalOptions>(command);
    EXPECT_EQ(local.peers, 3U);
    EXPECT_EQ(local.service_ms, (std::vector<std::uint32_t>{40, 80, 160}));
    EXPECT_EQ(local.kill_every, std::chrono::seconds(3));
    EXPECT_EQ(local.freeze_every, std::chrono::milliseconds(500));
    EXPECT_EQ(local.churn, "default");
    EXPECT_TRUE(local.verify);
}

TEST(Options, MemoryHasUnits) {
    const auto memory = [](const char* size) {
        const Command command = parse({"serve", "--join", "a:1", "--memory", size});
        return std::get<ServeOptions>(command).memory_bytes;
    };
    EXPECT_EQ(memory("1024"), 1024U);
    EXPECT_EQ(memory("2GiB"), 2ULL << 30);
    EXPECT_EQ(memory("3 MB"), 3'000'000U);
    EXPECT_EQ(std::get<ServeOptions>(parse({"serve", "--join", "a:1"})).memory_bytes, 0U);
}

TEST(Options, APromptMayLookLikeAFlag) {
    const Command command = parse({"generate", "--join", "a:1", "--", "--emma"});
    EXPECT_EQ(std::get<GenerateOptions>(command).prompt, "--emma");
}

TEST(Options, LocalTakesTheRatesOfLines) {
    const Command command = parse(
        {"local",
         "--line-rate",
         "10Mb/s,2.5Gb/s,64kbit/s",
         "--line-delay",
         "20ms",
         "--cut-every",
         "1s"}
    );
    ASSERT_TRUE(std::holds_alternative<LocalOptions>(command));
    const auto& local = std::get<LocalOptions>(command);
    EXPECT_EQ(local.line_bytes_per_s, (std::vector<std::uint64_t>{1'250'000, 312'500'000, 8'000}));
    EXPECT_EQ(local.line_delay, std::chrono::milliseconds(20));
    EXPECT_EQ(local.cut_every, std::chrono::seconds(1));
    for (const char* bad :
         {"10", "10MB/s", "0Mb/s", "-1Mb/s", "nan Mb/s", "nanMb/s", "1e9Gb/s", "Mb/s"}) {
        EXPECT_EQ(exit_code_of({"local", "--line-rate", bad}), kUsage) << bad;
    }
}

TEST(Options, ServeTakesAddressesThatAreNotItsOwn) {
    const Command command = parse(
        {"serve", "--join", "a:1", "--advertise", "home.example:7200", "--dial-from", "10.0.0.7"}
    );
    ASSERT_TRUE(std::holds_alternative<ServeOptions>(command));
    EXPECT_EQ(std::get<ServeOptions>(command).advertise, "home.example:7200");
    EXPECT_EQ(std::get<ServeOptions>(command).dial_from, "10.0.0.7");
}

TEST(Options, TimesHaveUnits) {
    EXPECT_EQ(parse_duration("500ms"), std::chrono::milliseconds(500));
    EXPECT_EQ(parse_duration("3s"), std::chrono::seconds(3));
    EXPECT_EQ(parse_duration("1.5"), std::chrono::milliseconds(1500));
    EXPECT_EQ(parse_duration("2m"), std::chrono::minutes(2));
    for (const char* bad : {"", "s", "3h", "-1s", "nan", "inf", "1e9s", "3 s", "3ss"}) {
        EXPECT_FALSE(parse_duration(bad)) << bad;
    }
}

TEST(Options, UsageErrorsAreTold) {
    EXPECT_EQ(exit_code_of({"local", "--help"}), kDone);
    EXPECT_EQ(exit_code_of({"local", "--nonsense"}), kUsage);
    EXPECT_EQ(exit_code_of({"local"}), -1);
}

}  // namespace
}  // namespace swarm::cli
