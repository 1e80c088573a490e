// Real processes serve a model, SmolLM2 in three stages, and die and freeze in mid-text. The model
// must be in the cache.
#include "tests/golden/model_file.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <set>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr seconds kPatience{90};

std::string joined(std::uint32_t first, std::uint32_t step, std::uint32_t last) {
    std::string list = std::to_string(first);
    for (std::uint32_t at = first + step; at <= last; at += step) {
        list += "," + std::to_string(at);
    }
    return list;
}

class ServedModelTest : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(std::filesystem::exists(golden::smollm2_file())) << golden::kFetchIt;
    }

    /// Generates 64 tokens by three stages of two peers each, verified. Returns the content of
    /// --json.
    json::object local(std::vector<std::string> faults) {
        const std::filesystem::path file = folder.path() / "out.json";
        std::vector<std::string> arguments{
            "local",
            "--model",
            "smollm2",
            "--stages",
            "3",
            "--peers",
            "6",
            "--prompt",
            "Once upon a time",
            "--raw",
            "--tokens",
            "64",
            "--verify",
            "--json",
            file.string()};
        arguments.insert(arguments.end(), faults.begin(), faults.end());
        Program program(arguments, folder.path());
        EXPECT_EQ(program.wait(kPatience), 0) << program.err();
        return json::parse(read_text(file)).as_object();
    }

    /// Expects faults, and the tokens of one process.
    static void expect_survived(const json::object& report, std::size_t faults) {
        EXPECT_TRUE(report.at("verified").as_bool());
        EXPECT_EQ(report.at("ids").as_array().size(), 64U);
        // A fault waits until the other peer of the stage is back; the last one may wait too long.
        EXPECT_GT(report.at("faults").as_array().size(), faults / 2);
        EXPECT_GE(report.at("failovers").as_array().size(), 1U);
        for (const json::value& move : report.at("failovers").as_array()) {
            const double detected_ms = move.at("detect_ms").as_double();
            const double resumed_ms = move.at("resume_ms").as_double();
            std::printf("detected after %.0f ms, resumed in %.0f ms\n", detected_ms, resumed_ms);
            EXPECT_LT(detected_ms, 10'000);  // a machine under test has other work, too
            EXPECT_LT(resumed_ms, 20'000);
        }
    }

    TemporaryFolder folder;
};

TEST_F(ServedModelTest, PeersAnswerLikeOneProcess) {
    const json::object report = local({"--service-ms", "1"});
    EXPECT_TRUE(report.at("verified").as_bool());
    EXPECT_EQ(report.at("hop_ms").as_array().size(), 3U);
    EXPECT_TRUE(report.at("failovers").as_array().empty());
    EXPECT_EQ(report.at("path").as_array().size(), 3U);
    EXPECT_EQ(report.at("routes").as_array().size(), 1U);
}

TEST_F(ServedModelTest, KillsInMidTextChangeNoToken) {
    expect_survived(local({"--kill-at", joined(8, 8, 56)}), 7);
}

TEST_F(ServedModelTest, KillsOfPeersWithThreadsChangeNoToken) {
    expect_survived(local({"--threads", "2", "--kill-at", "20,40"}), 1);
}

TEST_F(ServedModelTest, FreezesAndKillsChangeNoTokenInFastReplay) {
    expect_survived(local({"--replay", "fast", "--kill-at", "10,50", "--freeze-at", "20,35"}), 4);
}

/// One process that takes the same path gives the same tokens and early exits, also through kills.
TEST_F(ServedModelTest, APeerThatIsKilledByHandStartsAgain) {
    const std::filesystem::path logs = folder.path() / "logs";
    Program program(
        {"local",
         "--model",
         "smollm2",
         "--stages",
         "2",
         "--peers",
         "3",
         "--api",
         "--port",
         "0",
         "--dir",
         logs.string()},
        folder.path()
    );
    ASSERT_TRUE(program.wait_for_text("/v1; ask", kPatience)) << program.err();
    const std::string self = std::to_string(program.pid());
    std::ifstream children("/proc/" + self + "/task/" + self + "/children");
    pid_t child = 0;
    ASSERT_TRUE(children >> child);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    EXPECT_TRUE(program.wait_for_text("exit code 137; it starts again", kPatience));
    const auto starts = [&logs] {
        std::size_t count = 0;
        for (const char* const name : {"peer-1.log", "peer-2.log", "peer-3.log"}) {
            const std::string text = read_text(logs / name);
            for (std::size_t at = text.find("serves layers"); at != std::string::npos;
                 at = text.find("serves layers", at + 1)) {
                ++count;
            }
        }
        return count;
    };
    for (const auto end = Clock::now() + kPatience; starts() < 4 && Clock::now() < end;) {
    }
    EXPECT_EQ(starts(), 4U) << program.err();
    program.signal(SIGINT);
    EXPECT_EQ(program.wait(kPatience), 130) << program.err();
}

TEST_F(ServedModelTest, PathsAndExitsAreThoseOfOneProcess) {
    const json::object report =
        local({"--path", "2,0,1,0,2", "--exit", "0.3", "--kill-at", "20,40"});
    EXPECT_TRUE(report.at("verified").as_bool());
    EXPECT_EQ(report.at("routes").at(0).as_array().size(), 5U);
    const json::array& answered = report.at("answered_by_hop").as_array();
    EXPECT_GE(answered.size(), 1U);
    const json::object never = local({"--exit", "1.1"});
    EXPECT_EQ(never.at("answered_by_hop"), (json::array{0, 0, 64}));
}

/// Coded rows are the same rows whether one process, a peer or its successor sends them.
TEST_F(ServedModelTest, CodedRowsChangeNoTokenWhicheverPeersServe) {
    const json::object report = local({"--codec", "int8,bf16", "--kill-at", "20,40"});
    EXPECT_TRUE(report.at("verified").as_bool());
    EXPECT_EQ(report.at("codecs"), "int8,bf16");
    EXPECT_GE(report.at("failovers").as_array().size(), 1U);
}

/// So short a prompt measures no line, and the peers choose the codec that costs least then.
TEST_F(ServedModelTest, RowsWithAChosenCodecChangeNoToken) {
    const json::object report = local({"--codec", "auto", "--kill-at", "20,40"});
    EXPECT_TRUE(report.at("verified").as_bool());
    EXPECT_EQ(report.at("codecs"), "int8,int8");
    EXPECT_GE(report.at("failovers").as_array().size(), 1U);
}

/// Directory, servers and client are started like people start them, each in its own process.
class ServedByHandTest : public ServedModelTest {
 protected:
    void start_directory() {
        address = "127.0.0.1:" + std::to_string(free_port());
        std::ofstream(folder.path() / "key") << "a secret of many letters\n";
        std::filesystem::permissions(folder.path() / "key", std::filesystem::perms::owner_read);
        directory = start({"directory", "--listen", address, "--swarm-key", key()});
        ASSERT_TRUE(directory->wait_for_text("directory at " + address, seconds(10)));
    }

    std::unique_ptr<Program> start(const std::vector<std::string>& arguments) {
        std::filesystem::create_directories(folder.path() / std::to_string(++started));
        return std::make_unique<Program>(arguments, folder.path() / std::to_string(started));
    }

    std::unique_ptr<Program> serve(std::vector<std::string> more) {
        more.insert(
            more.begin(),
            {"serve",
             "--model",
             "smollm2",
             "--join",
             address,
             "--listen",
             "127.0.0.1:0",
             "--swarm-key",
             key()}
        );
        return start(more);
    }

    std::unique_ptr<Program> ask(std::vector<std::string> more) {
        more.insert(
            more.begin(),
            {"generate",
             "--model",
             "smollm2",
             "--join",
             address,
             "--max-tokens",
             "7",
             "What is the capital of France?"}
        );
        return start(more);
    }

    [[nodiscard]] std::string key() const { return (folder.path() / "key").string(); }

    std::string address;
    std::unique_ptr<Program> directory;
    int started = 0;
};

TEST_F(ServedByHandTest, NewcomersFillTheStagesAndAnswer) {
    start_directory();
    const auto first = serve({"--stages", "2"});
    const auto second = serve({"--stages", "2"});
    ASSERT_TRUE(first->wait_for_text("serves layers", seconds(30))) << first->err();
    ASSERT_TRUE(second->wait_for_text("serves layers", seconds(30))) << second->err();
    const auto answer = ask({"--swarm-key", key()});
    EXPECT_EQ(answer->wait(kPatience), 0) << answer->err();
    EXPECT_EQ(answer->out(), "The capital of France is Paris.\n");
    EXPECT_NE(answer->err().find("path"), std::string::npos) << answer->err();

    first->signal(SIGINT);
    EXPECT_EQ(first->wait(seconds(10)), 130);
    EXPECT_TRUE(directory->wait_for_text("is gone", seconds(10)));
    const auto unserved = ask({"--swarm-key", key(), "--wait", "1s"});
    EXPECT_EQ(unserved->wait(seconds(30)), 1);
    EXPECT_NE(unserved->err().find("served by nobody"), std::string::npos) << unserved->err();
    EXPECT_EQ(count_lines(unserved->err()), 1U) << unserved->err();
}

/// The embedding of SmolLM2 is its head, so both stages have that matrix.
TEST_F(ServedByHandTest, TheClientChoosesThePathAndTheExit) {
    start_directory();
    const auto first = serve({"--stages", "2"});
    const auto second = serve({"--stages", "2"});
    ASSERT_TRUE(first->wait_for_text("serves layers", seconds(30))) << first->err();
    ASSERT_TRUE(second->wait_for_text("serves layers", seconds(30))) << second->err();
    const auto said = [&](std::vector<std::string> more) {
        const std::string report = (folder.path() / "said.json").string();
        more.insert(more.end(), {"--swarm-key", key(), "--ignore-eos", "--json", report});
        const auto answer = ask(more);
        EXPECT_EQ(answer->wait(kPatience), 0) << answer->err();
        return json::parse(read_text(report)).as_object();
    };
    const json::object whole = said({});
    EXPECT_EQ(whole.at("answered_by_hop"), (json::array{0, 7}));
    EXPECT_EQ(said({"--exit", "1.1"}).at("ids"), whole.at("ids"));
    EXPECT_EQ(said({"--path", "0,1"}).at("ids"), whole.at("ids"));
    EXPECT_EQ(said({"--exit", "0"}).at("answered_by_hop"), (json::array{7}));
    const json::object around = said({"--path", "1,0,1", "--exit", "0.9"});
    EXPECT_EQ(around.at("routes").at(0).as_array().size(), 3U);
    EXPECT_EQ(around.at("ids").as_array().size(), 7U);
    const auto nowhere = ask({"--swarm-key", key(), "--path", "1,2"});
    EXPECT_EQ(nowhere->wait(seconds(30)), 1);
    EXPECT_NE(nowhere->err().find("the path must begin and end"), std::string::npos);
    EXPECT_EQ(count_lines(nowhere->err()), 1U) << nowhere->err();
}

TEST_F(ServedByHandTest, TheClientForbidsTokensAndRepetitions) {
    start_directory();
    const auto first = serve({"--stages", "2"});
    const auto second = serve({"--stages", "2"});
    ASSERT_TRUE(first->wait_for_text("serves layers", seconds(30))) << first->err();
    ASSERT_TRUE(second->wait_for_text("serves layers", seconds(30))) << second->err();
    const auto ids = [&](std::vector<std::string> more) {
        const std::string report = (folder.path() / "said.json").string();
        more.insert(more.end(), {"--swarm-key", key(), "--ignore-eos", "--json", report});
        const auto answer = ask(more);
        EXPECT_EQ(answer->wait(kPatience), 0) << answer->err();
        return json::parse(read_text(report)).at("ids").as_array();
    };
    const json::array plain = ids({});
    const std::string token = json::serialize(plain.at(0));
    const json::array without = ids({"--logit-bias", token + ":-100"});
    EXPECT_EQ(std::ranges::find(without, plain.at(0)), without.end());
    const json::array fresh = ids({"--repetition-penalty", "50"});
    EXPECT_NE(fresh, plain);
    std::set<std::string> different;
    for (const json::value& id : fresh) {
        EXPECT_TRUE(different.insert(json::serialize(id)).second) << id << " came twice";
    }
}

/// Returns the digest that a server prints.
std::string weights_printed(const Program& server) {
    constexpr std::string_view kBefore = ", weights ";
    const std::string err = server.err();
    const std::size_t at = err.find(kBefore);
    return at == std::string::npos ? "" : err.substr(at + kBefore.size(), 8);
}

TEST_F(ServedByHandTest, OfPeersWithOtherWeightsAClientNamesTheOnesItMeans) {
    start_directory();
    const auto first = serve({"--layers", "0-29"});
    ASSERT_TRUE(first->wait_for_text("serves layers", seconds(30))) << first->err();
    const auto other = serve({"--layers", "0-29", "--weights", "int8"});
    ASSERT_TRUE(other->wait_for_text("serves layers", seconds(30))) << other->err();
    ASSERT_NE(weights_printed(*first), weights_printed(*other));
    const auto any = ask({"--swarm-key", key()});
    EXPECT_EQ(any->wait(kPatience), 0) << any->err();
    EXPECT_NE(any->err().find("peers disagree about the weights"), std::string::npos) << any->err();
    const auto named = ask({"--swarm-key", key(), "--digest", weights_printed(*first)});
    EXPECT_EQ(named->wait(kPatience), 0) << named->err();
    EXPECT_EQ(named->out(), "The capital of France is Paris.\n");
    EXPECT_EQ(named->err().find("disagree"), std::string::npos) << named->err();
    const auto nobody = ask({"--swarm-key", key(), "--digest", "00000000", "--wait", "1s"});
    EXPECT_EQ(nobody->wait(seconds(30)), 1);
}

TEST_F(ServedByHandTest, WithoutTheSwarmKeyNobodyIsReached) {
    start_directory();
    const auto answer = ask({"--wait", "1s"});
    EXPECT_EQ(answer->wait(seconds(30)), 1);
    EXPECT_NE(answer->err().find("directory cannot be reached"), std::string::npos)
        << answer->err();
}

TEST_F(ServedByHandTest, AModelThatCannotBeServedIsOneLine) {
    const auto expect_refused = [&](const std::vector<std::string>& arguments,
                                    const std::string& why) {
        const auto program = start(arguments);
        EXPECT_EQ(program->wait(seconds(30)), 3) << program->err();
        EXPECT_NE(program->err().find(why), std::string::npos) << program->err();
        EXPECT_EQ(count_lines(program->err()), 1U) << program->err();
    };
    const std::vector<std::string> base{"serve", "--model", "smollm2", "--join", "127.0.0.1:1"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), base.begin(), base.end());
        return more;
    };
    expect_refused(with({"--layers", "5-30"}), "--layers wants a range");
    expect_refused(with({"--layers", "7"}), "--layers wants a range");
    expect_refused(with({"--stages", "31"}), "30 layers");
    expect_refused({"local", "--model", "smollm2"}, "--prompt");
    expect_refused({"local", "--model", "smollm2", "--steps", "3", "--prompt", "x"}, "--steps");
    expect_refused({"local", "--model", "giant", "--prompt", "x"}, "giant");
    expect_refused({"local", "--model", "smollm2", "--device", "cpu", "--prompt", "x"}, "--device");
    expect_refused({"local", "--model", "oracle", "--weights", "int8"}, "--weights");
    const auto nobody = start(with({"--wait", "1s"}));
    EXPECT_EQ(nobody->wait(seconds(30)), 4) << nobody->err();
    EXPECT_NE(nobody->err().find("no directory at 127.0.0.1:1"), std::string::npos);
}

}  // namespace
}  // namespace swarm::test
