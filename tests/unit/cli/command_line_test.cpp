#include "swarm/cli/command_line.hpp"

#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/doctor/doctor.hpp"
#include "swarm/cli/generate/generate.hpp"
#include "swarm/cli/local/local.hpp"
#include "swarm/cli/plan/plan.hpp"
#include "swarm/cli/serve/serve.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/train/train.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using test::exit_of;
using test::joined;
using test::options_of;
using test::Words;

TEST(CommandLine, HelpOfEachVerbIsNoErrorAndShowsAnExample) {
    for (const char* verb :
         {"train", "serve", "directory", "generate", "local", "plan", "doctor"}) {
        const Exit help = exit_of({verb, "--help"});
        EXPECT_EQ(help.code, kDone) << verb;
        const std::string example = std::string("\n  swarm ") + verb + " ";
        EXPECT_NE(help.text.find(example), std::string::npos) << verb;
        EXPECT_NE(help.text.find("exit codes: 0 done"), std::string::npos) << verb;
    }
}

TEST(CommandLine, HelpOfTheProgramListsVerbsAndExitCodes) {
    const std::string text = exit_of({"--help"}).text;
    for (const char* verb :
         {"train",
          "serve",
          "directory",
          "generate",
          "local",
          "plan",
          "doctor",
          "sim",
          "model",
          "stack"}) {
        EXPECT_NE(text.find(std::string("\n  ") + verb + " "), std::string::npos) << verb;
    }
    EXPECT_NE(text.find("exit codes: 0 done"), std::string::npos) << text;
}

TEST(CommandLine, VersionIsNoError) {
    const Exit version = exit_of({"--version"});
    EXPECT_EQ(version.code, kDone);
    EXPECT_TRUE(version.text.starts_with("swarm ")) << version.text;
}

TEST(CommandLine, GenerateTakesAModelInThisProcess) {
    const auto generate = options_of<GenerateOptions>(
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
    EXPECT_EQ(generate.model, "smollm2");
    EXPECT_EQ(generate.prompt, "Emma");
    EXPECT_EQ(generate.tokens, 7U);
    EXPECT_EQ(generate.weights, "int8");
    EXPECT_EQ(generate.json_file, "out.json");
    EXPECT_TRUE(generate.raw && generate.ignore_eos);
}

TEST(CommandLine, GenerateTakesStagesOfAModelInThisProcess) {
    const auto generate = options_of<GenerateOptions>(
        {"generate", "--model", "smollm2", "--stages", "2", "--path", "1,0,1", "text"}
    );
    EXPECT_EQ(generate.stages, 2U);
    EXPECT_EQ(generate.path, (std::vector<std::uint32_t>{1, 0, 1}));
}

TEST(CommandLine, GenerateTakesAModelAndItsPeers) {
    const auto generate = options_of<GenerateOptions>(
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
    EXPECT_EQ(generate.join, "a:1");
    EXPECT_EQ(generate.model, "smollm2");
    EXPECT_EQ(generate.replay, "fast");
    EXPECT_EQ(generate.path, (std::vector<std::uint32_t>{0, 1, 1, 2}));
    EXPECT_EQ(generate.exit_threshold, 0.9);
}

TEST(CommandLine, ServeTakesPartsOfAModel) {
    const auto serve = options_of<ServeOptions>(
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
    EXPECT_EQ(serve.model, "smollm2");
    EXPECT_EQ(serve.stages, 3U);
    EXPECT_EQ(serve.weights, "bf16");
    EXPECT_EQ(serve.kv_bytes, 2ULL << 30);
    EXPECT_EQ(serve.layers, "0-9");
}

TEST(CommandLine, AnErrorOfUsageIsOneLine) {
    const std::vector<Words> bad = {
        {},
        {"dance"},
        {"train", "--stepz", "3"},
        {"train", "--steps", "many"},
        {"train", "--steps", "-1"},
        {"train", "--single", "--mode", "fast"},
        {"train", "--mode", "sparse", "--beside-exact"},
        {"train", "--single", "--resume", "--beside-exact"},
        {"train", "--print-toml", "--resume"},
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
    for (const Words& words : bad) {
        const Exit exit = exit_of(words);
        EXPECT_EQ(exit.code, kUsage) << joined(words);
        EXPECT_EQ(exit.text.find('\n'), exit.text.size() - 1) << exit.text;
        EXPECT_EQ(usage_error(words), exit.text);
    }
}

TEST(CommandLine, AMistypedVerbNamesTheNearestAndTheHelpThatDescribesIt) {
    EXPECT_EQ(
        exit_of({"srve", "--join", "a:1"}).text,
        "swarm: there is no verb srve; is it serve?; see `swarm --help`\n"
    );
    EXPECT_EQ(
        exit_of({"model", "fetsch", "smollm2"}).text,
        "swarm: there is no verb fetsch; is it fetch?; see `swarm model --help`\n"
    );
    EXPECT_EQ(exit_of({"quantise"}).text, "swarm: there is no verb quantise; see `swarm --help`\n");
    EXPECT_NE(exit_of({"serve"}).text.find("see `swarm serve --help`"), std::string::npos);
}

TEST(CommandLine, APromptMayBeginWithADash) {
    for (const char* prompt : {"--verbose mode", "-hello", "-", "- a list"}) {
        EXPECT_EQ(
            options_of<GenerateOptions>({"generate", "--join", "a:1", prompt}).prompt, prompt
        );
        EXPECT_EQ(
            options_of<GenerateOptions>({"generate", "--join", "a:1", "--prompt", prompt}).prompt,
            prompt
        );
    }
    EXPECT_EQ(
        options_of<LocalOptions>({"local", "--prompt", "--verbose mode"}).prompt, "--verbose mode"
    );
    EXPECT_EQ(exit_of({"generate", "-h"}).code, kDone);
    EXPECT_EQ(exit_of({"generate", "--join", "a:1", "--unknown", "text"}).code, kUsage);
}

TEST(CommandLine, StopTextsComeSeveralTimesAndLeaveThePromptAlone) {
    const auto options = options_of<GenerateOptions>(
        {"generate",
         "--model",
         "m",
         "--stop",
         "END",
         "--stop",
         "- a list",
         "--stop",
         "-hello",
         "Hi"}
    );
    EXPECT_EQ(options.stops, (Words{"END", "- a list", "-hello"}));
    EXPECT_EQ(options.prompt, "Hi");
    EXPECT_EQ(exit_of({"generate", "--model", "m", "--stop", "", "Hi"}).code, kUsage);
    EXPECT_EQ(
        options_of<LocalOptions>({"local", "--model", "m", "--stop", "a", "--stop", "b"}).stops,
        (Words{"a", "b"})
    );
}

TEST(CommandLine, ASystemMessageNeedsAChatTemplateOfAModel) {
    const auto options =
        options_of<GenerateOptions>({"generate", "--model", "m", "--system", "-be brief", "Hi"});
    EXPECT_EQ(options.system, "-be brief");
    EXPECT_EQ(options_of<GenerateOptions>({"generate", "--model", "m", "Hi"}).system, std::nullopt);
    EXPECT_EQ(exit_of({"generate", "--join", "a:1", "--system", "x", "Hi"}).code, kUsage);
    EXPECT_EQ(exit_of({"generate", "--model", "m", "--raw", "--system", "x", "Hi"}).code, kUsage);
}

TEST(CommandLine, AHostToJoinWithoutAPortGetsTheOneOfItsKind) {
    EXPECT_EQ(options_of<ServeOptions>({"serve", "--join", "host"}).join, "host:7117");
    EXPECT_EQ(
        options_of<ServeOptions>({"serve", "--join", "host", "--model", "m"}).join, "host:7118"
    );
    EXPECT_EQ(options_of<GenerateOptions>({"generate", "--join", "host", "Hi"}).join, "host:7117");
    EXPECT_EQ(
        options_of<GenerateOptions>({"generate", "--join", "::1", "--model", "m", "Hi"}).join,
        "[::1]:7118"
    );
    EXPECT_EQ(options_of<GenerateOptions>({"generate", "--join", "host:9", "Hi"}).join, "host:9");
}

TEST(CommandLine, TheNameInJoinIsWhoMustAnswer) {
    const std::string name = "5qzl7fd3m2xwk6vhtcay4ngrbe";
    const auto serve = options_of<ServeOptions>({"serve", "--join", name + "@host", "--forget"});
    EXPECT_EQ(serve.join, "host:7117");
    EXPECT_EQ(serve.owner.name, name);
    EXPECT_TRUE(serve.owner.forget);
    const auto generate = options_of<GenerateOptions>({"generate", "--join", name + "@host", "Hi"});
    EXPECT_EQ(generate.join, "host:7117");
    EXPECT_EQ(generate.owner.name, name);
    const auto doctor = options_of<DoctorOptions>({"doctor", "--join", name + "@[::1]:9"});
    EXPECT_EQ(doctor.reach.join, "[::1]:9");
    EXPECT_EQ(doctor.reach.owner.name, name);
    for (const Words& words : std::vector<Words>{
             {"serve", "--join", "root@host"},
             {"generate", "--join", "root@host", "Hi"},
             {"doctor", "--join", "root@host"},
             {"doctor", "--forget"}}) {
        EXPECT_EQ(exit_of(words).code, kUsage) << joined(words);
    }
    EXPECT_TRUE(options_of<TrainOptions>({"train", "--qr"}).qr);
    EXPECT_EQ(exit_of({"train", "--qr", "--single"}).code, kUsage);
}

TEST(CommandLine, NumbersThatAreNoneAreRefused) {
    const Words generate{"generate", "--join", "a:1", "text"};
    for (const Words& flag :
         std::vector<Words>{{"--temperature", "nan"}, {"--temperature", "inf"}}) {
        Words words = generate;
        words.insert(words.end(), flag.begin(), flag.end());
        EXPECT_EQ(exit_of(words).code, kUsage) << joined(words);
    }
    EXPECT_EQ(exit_of({"generate", "--model", "m", "--exit", "nan", "text"}).code, kUsage);
    EXPECT_EQ(exit_of({"plan", "--speeds", "nan"}).code, kUsage);
    EXPECT_EQ(exit_of({"stack", "new", "s", "--member", "m", "--prior", "nan"}).code, kUsage);
}

TEST(CommandLine, HelpIsAVerb) {
    EXPECT_EQ(exit_of({"help"}).text, exit_of({"--help"}).text);
    EXPECT_EQ(exit_of({"help", "model", "fetch"}).text, exit_of({"model", "fetch", "--help"}).text);
    EXPECT_EQ(exit_of({"help", "sim"}).code, kDone);
}

TEST(CommandLine, HasNoUsageErrorForWordsThatTheProgramTakes) {
    for (const Words& words : std::vector<Words>{
             {"local"}, {"local", "--help"}, {"--version"}, {"stack", "show", "two.toml"}}) {
        EXPECT_EQ(usage_error(words), std::nullopt) << joined(words);
    }
}

TEST(CommandLine, AFlagThatIsNotGivenOverridesNothing) {
    const auto train = options_of<TrainOptions>({"train", "run.toml", "--steps", "7"});
    EXPECT_EQ(train.run_file, "run.toml");
    EXPECT_EQ(train.run.steps, 7U);
    EXPECT_FALSE(train.run.stages);
    EXPECT_FALSE(train.run.model);
    EXPECT_FALSE(train.single);
    EXPECT_FALSE(train.print_toml);
}

TEST(CommandLine, TrainTakesANumberOfPeersToWaitFor) {
    EXPECT_EQ(options_of<TrainOptions>({"train", "--min-peers", "5"}).run.min_peers, 5U);
    EXPECT_FALSE(options_of<TrainOptions>({"train"}).run.min_peers);
}

TEST(CommandLine, TrainTakesFlagsForItsPeers) {
    const auto train = options_of<TrainOptions>(
        {"train", "--min-peers", "6", "--listen", "127.0.0.1:0", "--stage-lost-after", "2m"}
    );
    EXPECT_EQ(train.run.min_peers, 6U);
    EXPECT_EQ(train.listen, "127.0.0.1:0");
    EXPECT_EQ(train.stage_lost_after, std::chrono::minutes(2));
}

TEST(CommandLine, TrainTakesAMode) {
    const auto train = options_of<TrainOptions>(
        {"train", "--single", "--mode", "sparse", "--sync-every", "4", "--replicas", "3"}
    );
    EXPECT_EQ(train.run.mode, "sparse");
    EXPECT_EQ(train.run.sync_every, 4U);
    EXPECT_EQ(train.run.replicas, 3U);
    EXPECT_FALSE(train.beside_exact);
}

TEST(CommandLine, VerbsOfARunTakeSettingsBeforeTheFile) {
    const std::vector<std::pair<std::string, std::string>> settings{
        {"optimizer.learning_rate", "1e-4"}, {"run.corpus", "a=b.txt"}};
    const auto words = [](const std::string& verb) {
        return Words{
            verb, "--set", "optimizer.learning_rate=1e-4", "--set", "run.corpus=a=b.txt", "a.toml"};
    };
    EXPECT_EQ(options_of<TrainOptions>(words("train")).run.settings, settings);
    EXPECT_EQ(options_of<TrainOptions>(words("train")).run_file, "a.toml");
    EXPECT_EQ(options_of<LocalOptions>(words("local")).run.settings, settings);
    EXPECT_EQ(options_of<PlanOptions>(words("plan")).run.settings, settings);
    EXPECT_EQ(exit_of({"train", "--set", "run.steps"}).code, kUsage);
}

TEST(CommandLine, LocalTakesFaultsAndSpeeds) {
    const auto local = options_of<LocalOptions>(
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
    EXPECT_EQ(local.peers, 3U);
    EXPECT_EQ(local.service_ms, (std::vector<std::uint32_t>{40, 80, 160}));
    EXPECT_EQ(local.kill_every, std::chrono::seconds(3));
    EXPECT_EQ(local.freeze_every, std::chrono::milliseconds(500));
    EXPECT_EQ(local.churn, "default");
    EXPECT_TRUE(local.verify);
}

TEST(CommandLine, LocalTakesTheRatesOfLines) {
    const auto local = options_of<LocalOptions>(
        {"local",
         "--line-rate",
         "10Mb/s,2.5Gb/s,64kbit/s",
         "--line-delay",
         "20ms",
         "--cut-every",
         "1s"}
    );
    EXPECT_EQ(local.line_bytes_per_s, (std::vector<std::uint64_t>{1'250'000, 312'500'000, 8'000}));
    EXPECT_EQ(local.line_delay, std::chrono::milliseconds(20));
    EXPECT_EQ(local.cut_every, std::chrono::seconds(1));
    for (const char* bad :
         {"10", "10MB/s", "0Mb/s", "-1Mb/s", "nan Mb/s", "nanMb/s", "1e9Gb/s", "Mb/s"}) {
        EXPECT_EQ(exit_of({"local", "--line-rate", bad}).code, kUsage) << bad;
    }
}

TEST(CommandLine, MemoryHasUnits) {
    const auto memory = [](const char* size) {
        return options_of<ServeOptions>({"serve", "--join", "a:1", "--memory", size}).memory_bytes;
    };
    EXPECT_EQ(memory("1024"), 1024U);
    EXPECT_EQ(memory("2GiB"), 2ULL << 30);
    EXPECT_EQ(memory("3 MB"), 3'000'000U);
    EXPECT_EQ(options_of<ServeOptions>({"serve", "--join", "a:1"}).memory_bytes, 0U);
}

TEST(CommandLine, APromptMayLookLikeAFlag) {
    const auto generate =
        options_of<GenerateOptions>({"generate", "--join", "a:1", "--", "--emma"});
    EXPECT_EQ(generate.prompt, "--emma");
}

TEST(CommandLine, ServeTakesAddressesThatAreNotItsOwn) {
    const auto serve = options_of<ServeOptions>(
        {"serve",
         "--join",
         "a:1",
         "--advertise",
         "home.example:7200",
         "--dial-from",
         "10.0.0.7",
         "--host",
         "2"}
    );
    EXPECT_EQ(serve.peer.listen, "*:0");
    EXPECT_EQ(serve.peer.advertise, "home.example:7200");
    EXPECT_EQ(serve.peer.dial_from, "10.0.0.7");
    EXPECT_EQ(serve.peer.seats, 2U);
}

TEST(ParseDuration, TakesUnits) {
    EXPECT_EQ(parse_duration("500ms"), std::chrono::milliseconds(500));
    EXPECT_EQ(parse_duration("3s"), std::chrono::seconds(3));
    EXPECT_EQ(parse_duration("1.5"), std::chrono::milliseconds(1500));
    EXPECT_EQ(parse_duration("2m"), std::chrono::minutes(2));
    EXPECT_EQ(parse_duration("2h"), std::chrono::hours(2));
    for (const char* bad : {"", "s", "3d", "-1s", "25h", "nan", "inf", "1e9s", "3 s", "3ss"}) {
        EXPECT_FALSE(parse_duration(bad)) << bad;
    }
}

}  // namespace
}  // namespace swarm::cli
