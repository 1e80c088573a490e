// Two members, trained apart on two kinds of text, form stacks: the ensemble is nearly as good as
// the better member on each text, and the gate refuses a raw chain. Both come with their losses.
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr double kWindow = 32;

struct Losses {
    double digits = 0;
    double words = 0;
    double stack = 0;
};

class StacksTest : public testing::Test {
 protected:
    void SetUp() override {
        std::string digits;
        std::string words;
        for (int i = 0; i < 20'000; ++i) {
            digits += static_cast<char>('0' + i % 10);
        }
        while (words.size() < 20'000) {
            words += "it is a truth universally acknowledged that a single man must want ";
        }
        train("digits", digits);
        train("words", words);
    }

    /// Trains a Llama in runs/<name>; the beginning of its text stays in <name>.part.
    void train(const std::string& name, const std::string& text, int layers = 1, int steps = 60) {
        std::ofstream(file(name + ".txt")) << text;
        std::ofstream(file(name + ".part")) << text.substr(0, 2000);
        std::ofstream(file(name + ".toml"))
            << "[run]\nname = \"" << name << "\"\nstages = 1\nsteps = " << steps
            << "\nmicrobatches = 4\n"
            << "batch = 4\ncorpus = \"" << file(name + ".txt") << "\"\n[model]\nlayers = " << layers
            << "\n"
            << "width = 32\nheads = 2\nkv_heads = 2\nffn_width = 64\ncontext = " << kWindow << "\n";
        EXPECT_EQ(run({"train", "--single", file(name + ".toml"), "--dir", file(name)}), 0) << err;
    }

    int run(const std::vector<std::string>& arguments) {
        Program program(arguments, folder.path());
        const int exit_code = program.wait(seconds(60));
        out = program.out();
        err = program.err();
        return exit_code;
    }

    int make(const std::string& mode) {
        return run(
            {"stack",
             "new",
             file(mode + ".toml"),
             "--mode",
             mode,
             "--member",
             "digits",
             "--member",
             "words"}
        );
    }

    int train_bridge(const std::string& steps) {
        return run(
            {"stack",
             "train",
             file("bridge.toml"),
             "--text",
             file("digits.txt"),
             "--steps",
             steps,
             "--batch",
             "4",
             "--window",
             "32",
             "--learning-rate",
             "0.01"}
        );
    }

    int measure(const std::string& mode) {
        return run(
            {"stack",
             "measure",
             file(mode + ".toml"),
             "--text",
             file("digits.part"),
             "--text",
             file("words.part"),
             "--window",
             "32"}
        );
    }

    /// Returns the figures of the n-th text that was measured.
    [[nodiscard]] Losses losses(int text) const {
        std::istringstream lines(out);
        std::string line;
        for (int skip = 0; skip <= 4 * text; ++skip) {
            std::getline(lines, line);
        }
        Losses losses;
        std::string name;
        lines >> losses.digits >> name >> losses.words >> name >> losses.stack;
        return losses;
    }

    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder.path() / name).string();
    }

    TemporaryFolder folder;
    std::string out;
    std::string err;
    int code = 0;
};

TEST_F(StacksTest, AnEnsembleIsNearlyAsGoodAsTheBetterMemberOnEachText) {
    ASSERT_EQ(make("ensemble"), 0) << err;
    EXPECT_NE(out.find("not measured yet"), std::string::npos);
    ASSERT_EQ(measure("ensemble"), 0) << err;
    const double dearest =
        std::log(2.0) / (kWindow - 1);  // the price of finding out which member fits
    const Losses digits = losses(0);
    EXPECT_LT(digits.digits + 1, digits.words) << out;
    EXPECT_LE(digits.stack, digits.digits + dearest + 1e-3) << out;
    const Losses words = losses(1);
    EXPECT_LT(words.words + 1, words.digits) << out;
    EXPECT_LE(words.stack, words.words + dearest + 1e-3) << out;
    EXPECT_NE(out.find("\npasses: "), std::string::npos) << out;

    ASSERT_EQ(run({"stack", "show", file("ensemble.toml")}), 0) << err;
    EXPECT_NE(out.find("\npasses: "), std::string::npos) << out;
    ASSERT_EQ(run({"generate", "--stack", file("ensemble.toml"), "--tokens", "8", "34567890"}), 0)
        << err;
    EXPECT_EQ(out, "3456789012345678\n");
    EXPECT_EQ(count_lines(err), 2U) << err;
}

/// Each member has two peers, real processes; a peer of either member dies in mid-text.
TEST_F(StacksTest, PeersAnswerForTheMembersAndMayDie) {
    ASSERT_EQ(make("ensemble"), 0) << err;
    const std::vector<std::string> ask{
        "local",
        "--stack",
        file("ensemble.toml"),
        "--peers",
        "4",
        "--prompt",
        "it is a ",
        "--tokens",
        "20",
        "--kill-at",
        "4,9,14",
        "--verify",
        "--json",
        file("said.json")};
    ASSERT_EQ(run(ask), 0) << err;
    EXPECT_NE(err.find("the same 20 tokens"), std::string::npos) << err;
    EXPECT_EQ(out.substr(0, 8), "it is a ");
    const json::object report = json::parse(read_text(file("said.json"))).as_object();
    EXPECT_TRUE(report.at("verified").as_bool());
    // A fault waits until the other peer of the member is back; the last one may wait too long.
    EXPECT_GE(report.at("faults").as_array().size(), 2U);
    EXPECT_GE(report.at("failovers").as_array().size(), 1U);
    ASSERT_EQ(report.at("members").as_array().size(), 2U);
    for (const json::value& member : report.at("members").as_array()) {
        EXPECT_FALSE(member.as_object().contains("left_out_at"));
    }
}

TEST_F(StacksTest, ABridgeBeginsAsItsSecondMemberAndLearns) {
    ASSERT_EQ(make("bridge"), 0) << err;
    measure("bridge");  // over both texts the gate may refuse it, like any one member
    const Losses before = losses(1);
    EXPECT_EQ(before.stack, before.words) << out;
    EXPECT_EQ(losses(0).stack, losses(0).words) << out;
    ASSERT_EQ(train_bridge("60"), 0) << err;
    EXPECT_NE(out.find("held out, nats per token"), std::string::npos) << out;
    measure("bridge");
    EXPECT_LT(losses(0).stack, losses(0).words - 0.5) << out;
}

/// The control: a model that is cut in two and put together again predicts what it did before. In
/// the wrong order it does not, and the gate refuses it.
TEST_F(StacksTest, AModelCutIntoMembersIsThatModel) {
    train("deep", read_text(file("words.txt")), 2, 300);
    const auto loss_of = [&](const std::string& name, std::vector<std::string> members) {
        std::vector<std::string> made{"stack", "new", file(name), "--mode", "chain"};
        for (std::string& member : members) {
            made.insert(made.end(), {"--member", std::move(member)});
        }
        EXPECT_EQ(run(made), 0) << err;
        code =
            run({"stack", "measure", file(name), "--text", file("words.part"), "--window", "32"});
        const std::string written = read_text(file(name));
        return written.substr(written.rfind("stack = "));
    };
    const std::string whole = loss_of("whole.toml", {"deep"});
    EXPECT_EQ(loss_of("cut.toml", {"deep@0-0", "deep@1-1"}), whole);
    EXPECT_EQ(code, 0) << out;
    EXPECT_NE(loss_of("swapped.toml", {"deep@1-1", "deep@0-0"}), whole);
    EXPECT_EQ(code, 3) << out;
    EXPECT_NE(out.find("\nrefused: "), std::string::npos) << out;
    EXPECT_NE(out.find("by deep alone"), std::string::npos) << out;
    const std::vector<std::string> ask{"--tokens", "16", "--temperature", "0.8", "it is a "};
    std::vector<std::string> of_model{"generate", "--model", file("deep")};
    std::vector<std::string> of_parts{"generate", "--stack", file("cut.toml")};
    of_model.insert(of_model.end(), ask.begin(), ask.end());
    of_parts.insert(of_parts.end(), ask.begin(), ask.end());
    EXPECT_EQ(run(of_model), 0) << err;
    const std::string text = out;
    EXPECT_EQ(run(of_parts), 0) << err;
    EXPECT_EQ(out, text);
}

/// The second member lacks its first layer, and the third one its last: no peer has the layer 0 of
/// one or the head of the other, unless they are asked to.
TEST_F(StacksTest, AChainOfPartsIsServedAsOneProcessReadsIt) {
    train("one", read_text(file("words.txt")), 3, 40);
    train("two", read_text(file("words.txt")), 3, 30);
    const std::string cut = file("cut.toml");
    ASSERT_EQ(
        run({"stack", "new", cut, "--mode", "chain", "--member", "one@0-1", "--member", "two@1-2"}),
        0
    ) << err;
    ASSERT_EQ(run({"stack", "measure", cut, "--text", file("words.part"), "--window", "32"}), 3)
        << out;
    ASSERT_EQ(run({"stack", "show", cut}), 0) << err;
    EXPECT_NE(out.find("  one@0-1, prior 1\n  two@1-2, prior 1\n"), std::string::npos) << out;
    EXPECT_NE(out.find("  one\n"), std::string::npos) << out;
    EXPECT_NE(out.find("\nrefused: "), std::string::npos) << out;
    const auto served = [&](const std::string& peers) {
        EXPECT_EQ(
            run(
                {"local",
                 "--stack",
                 cut,
                 "--peers",
                 peers,
                 "--prompt",
                 "it is a ",
                 "--tokens",
                 "12",
                 "--verify",
                 "--json",
                 file("said.json")}
            ),
            0
        ) << err;
        EXPECT_NE(err.find("the same 12 tokens"), std::string::npos) << err;
        return json::parse(read_text(file("said.json"))).as_object();
    };
    ASSERT_EQ(run({"stack", "add", cut, "one@1-2"}), 0) << err;
    EXPECT_EQ(served("3").at("routes").at(0).as_array().size(), 3U);
    ASSERT_EQ(run({"stack", "remove", cut, "one@1-2"}), 0) << err;
    ASSERT_EQ(run({"stack", "add", cut, "one@1-1"}), 0) << err;
    EXPECT_EQ(served("3").at("routes").at(0).as_array().size(), 3U);
    EXPECT_NE(err.find("serve --exits"), std::string::npos) << err;
}

TEST_F(StacksTest, ImpossiblePartsAreOneLine) {
    train("deep", read_text(file("words.txt")), 2, 1);
    const std::string chain = file("parts.toml");
    const auto expect_refused = [&](const std::string& member, const std::string& why) {
        EXPECT_EQ(run({"stack", "new", chain, "--mode", "chain", "--member", member}), 3);
        EXPECT_NE(err.find(why), std::string::npos) << err;
        EXPECT_EQ(count_lines(err), 1U) << err;
        EXPECT_EQ(out, "");
    };
    expect_refused("deep@1-2", "has the layers 0 to 1, not 2");
    for (const char* const range : {"1-0", "", "1", "-", "1-", "-1", "0-99999999999"}) {
        expect_refused(std::string("deep@") + range, "names no layers: MODEL@A-B wants");
    }
    expect_refused("deep@first", "no file or folder deep@first");
    ASSERT_EQ(run({"stack", "new", chain, "--mode", "chain", "--member", "deep@1-1"}), 0) << err;
    EXPECT_EQ(run({"stack", "add", chain, "deep@1-0"}), 3);
    EXPECT_EQ(count_lines(err), 1U) << err;
    EXPECT_EQ(run({"generate", "--stack", chain, "--tokens", "4", "it"}), 0) << err;
    EXPECT_EQ(run({"generate", "--stack", chain, "--join", "127.0.0.1:1", "it"}), 3);
    EXPECT_NE(err.find("deep@1-1 begins the chain without the layer 0"), std::string::npos) << err;
}

TEST_F(StacksTest, AnImpossibleTrainingIsOneLine) {
    ASSERT_EQ(make("chain"), 0) << err;
    ASSERT_EQ(make("bridge"), 0) << err;
    const auto expect_refused = [&](std::vector<std::string> more, const std::string& why) {
        more.insert(more.begin(), {"stack", "train"});
        EXPECT_EQ(run(more), 3);
        EXPECT_NE(err.find(why), std::string::npos) << err;
        EXPECT_EQ(count_lines(err), 1U) << err;
    };
    const std::string bridge = file("bridge.toml");
    EXPECT_EQ(run({"stack", "add", bridge, "digits"}), 3);
    EXPECT_NE(err.find("it needs two"), std::string::npos) << err;
    expect_refused({file("chain.toml"), "--text", file("words.txt")}, "is no bridge");
    expect_refused({bridge, "--text", file("words.txt")}, "at most 32 tokens");
    expect_refused({bridge, "--text", file("words.part"), "--window", "32"}, "are the least");
    expect_refused({bridge, "--text", file("none.txt"), "--window", "32"}, "none.txt");
    EXPECT_EQ(run({"generate", "--stack", bridge, "--join", "127.0.0.1:1", "x"}), 3);
    EXPECT_NE(err.find("has no trained bridge"), std::string::npos) << err;
    for (const char* const no_bridge : {"none.safetensors", "words.txt"}) {
        const std::string named = file(no_bridge);
        EXPECT_EQ(
            run({"serve", "--model", file("words"), "--bridge", named, "--join", "127.0.0.1:1"}), 3
        );
        EXPECT_NE(err.find(named), std::string::npos) << err;
        EXPECT_EQ(count_lines(err), 1U) << err;
    }
}

/// Each member has two peers, real processes; peers that hold the bridge die, too.
TEST_F(StacksTest, PeersAnswerOverABridgeAndMayDie) {
    ASSERT_EQ(make("bridge"), 0) << err;
    ASSERT_EQ(train_bridge("20"), 0) << err;
    const std::vector<std::string> ask{
        "local",
        "--stack",
        file("bridge.toml"),
        "--peers",
        "4",
        "--prompt",
        "34567",
        "--tokens",
        "24",
        "--kill-at",
        "4,9,14,19",
        "--verify",
        "--json",
        file("said.json")};
    ASSERT_EQ(run(ask), 0) << err;
    EXPECT_NE(err.find("the same 24 tokens"), std::string::npos) << err;
    const json::object report = json::parse(read_text(file("said.json"))).as_object();
    EXPECT_TRUE(report.at("verified").as_bool());
    EXPECT_GE(report.at("faults").as_array().size(), 2U);
    EXPECT_GE(report.at("failovers").as_array().size(), 1U);
    EXPECT_EQ(report.at("routes").at(0).as_array().size(), 2U);
}

/// A model is cut into two members with two peers each; then two models have one peer each.
TEST_F(StacksTest, PeersAnswerForAChainAndMayDie) {
    train("deep", read_text(file("words.txt")), 2, 20);
    ASSERT_EQ(make("chain"), 0) << err;
    const std::string cut = file("cut.toml");
    ASSERT_EQ(
        run({"stack", "new", cut, "--mode", "chain", "--member", "deep@0-0", "--member", "deep@1-1"}
        ),
        0
    ) << err;
    const auto local = [&](const std::string& stack, std::vector<std::string> more) {
        more.insert(
            more.begin(), {"local", "--stack", stack, "--prompt", "it is a ", "--tokens", "20"}
        );
        more.insert(more.end(), {"--verify", "--json", file("said.json")});
        EXPECT_EQ(run(more), 0) << err;
        EXPECT_NE(err.find("the same 20 tokens"), std::string::npos) << err;
        return json::parse(read_text(file("said.json"))).as_object();
    };
    const json::object killed = local(cut, {"--peers", "4", "--kill-at", "4,9,14"});
    EXPECT_GE(killed.at("faults").as_array().size(), 2U);
    EXPECT_GE(killed.at("failovers").as_array().size(), 1U);
    EXPECT_EQ(killed.at("routes").at(0).as_array().size(), 2U);
    const json::object two = local(file("chain.toml"), {"--peers", "2"});
    EXPECT_EQ(two.at("answered_by_hop"), (json::array{0, 20}));
}

TEST_F(StacksTest, RawChainingIsRefusedWithTheLosses) {
    ASSERT_EQ(make("chain"), 0) << err;
    EXPECT_EQ(measure("chain"), 3) << err;
    EXPECT_NE(out.find("\nrefused: "), std::string::npos) << out;
    EXPECT_EQ(run({"generate", "--stack", file("chain.toml"), "--tokens", "8", "3456"}), 3);
    EXPECT_NE(err.find("worse than its best member alone"), std::string::npos) << err;
    EXPECT_EQ(count_lines(err), 1U) << err;
    EXPECT_EQ(out, "");
}

TEST_F(StacksTest, AMemberThatIsAddedMakesItAStackThatWasNotMeasured) {
    ASSERT_EQ(make("ensemble"), 0) << err;
    ASSERT_EQ(measure("ensemble"), 0) << err;
    EXPECT_EQ(run({"stack", "add", file("ensemble.toml"), "digits"}), 0) << err;
    EXPECT_NE(out.find("3 members"), std::string::npos) << out;
    EXPECT_EQ(read_text(file("ensemble.toml")).find("[[seam]]"), std::string::npos);
    EXPECT_EQ(run({"generate", "--stack", file("ensemble.toml"), "--tokens", "4", "3456"}), 0);
    EXPECT_NE(err.find("was not measured"), std::string::npos) << err;
    EXPECT_EQ(out, "34567890\n");
}

TEST_F(StacksTest, AnImpossibleStackIsOneLine) {
    const auto expect_refused = [&](const std::vector<std::string>& arguments,
                                    const std::string& why) {
        EXPECT_EQ(run(arguments), 3) << err;
        EXPECT_NE(err.find(why), std::string::npos) << err;
        EXPECT_EQ(count_lines(err), 1U) << err;
    };
    ASSERT_EQ(make("ensemble"), 0) << err;
    const std::string stack = file("ensemble.toml");
    expect_refused({"stack", "new", stack, "--member", "digits"}, "is there already");
    expect_refused({"stack", "add", stack, "giant"}, "giant");
    expect_refused({"stack", "measure", stack, "--text", file("none")}, "none");
    expect_refused(
        {"stack", "measure", stack, "--text", file("words.part"), "--window", "33"}, "2 to 32"
    );
    expect_refused({"stack", "show", file("none.toml")}, "none.toml");
    expect_refused(
        {"stack", "new", file("x.toml"), "--member", "digits", "--prior", "1,2"}, "--prior"
    );
}

}  // namespace
}  // namespace swarm::test
