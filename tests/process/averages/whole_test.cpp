// Runs `swarm stack train --whole` like a person: peers that die train a chain with an exit behind
// its first member, and `swarm eval` says what early exits cost.
#include "tests/process/averages/averages_bed.hpp"

#include <boost/json/array.hpp>
#include <gtest/gtest.h>

namespace swarm::test {
namespace {

namespace json = boost::json;

class WholeTest : public AveragesBed {
 protected:
    int make_stack(const std::string& name, std::vector<std::string> members, bool chain = true) {
        std::vector<std::string> words{"stack", "new", file(name)};
        if (chain) {
            words.insert(words.end(), {"--mode", "chain"});
        }
        for (std::string& member : members) {
            words.insert(words.end(), {"--member", std::move(member)});
        }
        return run(words);
    }

    std::vector<std::string> whole_of(const std::string& stack, const std::string& to) const {
        return {"stack", "train", file(stack), "--whole", "--text", file("b.txt"), "-o", file(to)};
    }

    /// The figures of the text of the training: for exits of the probabilities 0, 0.5 and 1.
    /// `more`: further words.
    json::object exits_of(const std::string& model, const std::vector<std::string>& more = {}) {
        std::vector<std::string> words{
            "eval", file(model), "--text", file("b.txt"), "--exit", "0,0.5,1", "--exit-cost", "1"};
        words.insert(words.end(), {"--json", file("exits.json")});
        words.insert(words.end(), more.begin(), more.end());
        EXPECT_EQ(run(words), 0) << err;
        return json::parse(read_text(file("exits.json"))).as_object().at("all").as_object();
    }

    void train_without_exits(const std::string& name) {
        ASSERT_EQ(
            run(
                {"train",
                 "--single",
                 file("whole/chain.toml"),
                 "--set",
                 "train.exits=[]",
                 "--dir",
                 file(name)}
            ),
            0
        ) << err;
    }

    /// `after`: what exits_of() returned.
    void expect_tokens_add_up(const json::object& after) const {
        const json::array& exits = after.at("exits").as_array();
        ASSERT_EQ(exits.size(), 3U);
        const double tokens = number(after.at("tokens"));
        const double loss = number(after.at("loss"));
        EXPECT_EQ(number(exits[0].at("tokens").at(0)), tokens) << "all exit";
        EXPECT_EQ(number(exits[2].at("tokens").at(1)), tokens) << "none does";
        EXPECT_NEAR(number(exits[2].at("loss")), loss, 1e-9);
        const json::value& half = exits[1].at("tokens");
        EXPECT_EQ(number(half.at(0)) + number(half.at(1)), tokens);
        const json::value& found = after.at("exit_found");
        if (found.is_null()) {
            EXPECT_NE(out.find("no --exit of 0.01 to 0.99 keeps"), std::string::npos) << out;
        } else {
            EXPECT_LE(number(found.at("loss")), 1.01 * loss);
            EXPECT_NE(out.find("lets most tokens leave early for at most +1 %"), std::string::npos)
                << out;
        }
    }

    static double number(const json::value& value) { return value.to_number<double>(); }
};

TEST_F(WholeTest, PeersThatDieTrainAChainWithExitsToTheBitsOfOneProcess) {
    ASSERT_EQ(make_stack("chain.toml", {file("a"), file("a") + "@1-1"}), 0) << err;
    auto words = whole_of("chain.toml", "whole");
    for (const char* const setting :
         {"run.steps=12",
          "run.microbatches=4",
          "run.batch=4",
          "optimizer.learning_rate=0.01",
          "optimizer.warmup_steps=0"}) {
        words.insert(words.end(), {"--set", setting});
    }
    ASSERT_EQ(run(words), 0) << err;
    EXPECT_NE(out.find("exits behind layers 2\nswarm train "), std::string::npos) << out;
    const std::string run_file = read_text(file("whole/chain.toml"));
    EXPECT_NE(run_file.find("exits = [ 2 ]"), std::string::npos) << run_file;
    EXPECT_NE(run_file.find("layers_per_stage = [ 2, 1 ]"), std::string::npos) << run_file;
    ASSERT_EQ(
        run(
            {"local",
             file("whole/chain.toml"),
             "--peers",
             "4",
             "--kill-every",
             "2s",
             "--service-ms",
             "20",
             "--verify",
             "--dir",
             file("local"),
             "--json",
             file("local.json")}
        ),
        0
    ) << err;
    const auto report = json::parse(read_text(file("local.json"))).as_object();
    EXPECT_TRUE(report.at("verify").at("equal").as_bool());

    const json::object after = exits_of("local/run");
    EXPECT_NE(err.find("exits behind layers 2: the run was trained with them"), std::string::npos)
        << err;
    const json::value asked = json::parse(read_text(file("exits.json")));
    EXPECT_EQ(asked.at("exits_at"), json::value({2}));
    expect_tokens_add_up(after);
    train_without_exits("plain");
    EXPECT_LT(
        number(after.at("exits").at(0).at("loss")),
        number(exits_of("plain", {"--exits-at", "2"}).at("exits").at(0).at("loss"))
    ) << "the first member has learned to answer";
    ASSERT_EQ(
        run(
            {"generate",
             "--model",
             file("local/run"),
             "--raw",
             "--tokens",
             "4",
             "--exit",
             "0.5",
             "it is a "}
        ),
        0
    ) << err;
    EXPECT_NE(err.find("exits behind layers 2: "), std::string::npos) << err;
}

TEST_F(WholeTest, WhatCannotBeTrainedAsAWholeIsOneLine) {
    ASSERT_EQ(make_stack("two.toml", {file("a"), file("b")}, false), 0) << err;
    expect_refused(whole_of("two.toml", "out"), "two.toml", "no chain");
    ASSERT_EQ(make_stack("heads.toml", {file("a"), file("b")}), 0) << err;
    expect_refused(whole_of("heads.toml", "out"), "the head of", file("b"));
    ASSERT_EQ(make_stack("cut.toml", {file("a") + "@0-0", file("a")}), 0) << err;
    expect_refused(whole_of("cut.toml", "out"), "@0-0", "cut before layer 1");
    ASSERT_EQ(make_stack("chain.toml", {file("a"), file("a")}), 0) << err;
    auto words = whole_of("chain.toml", "out");
    words.insert(words.end(), {"--set", "run.split=measured"});
    expect_refused(words, "train.exits", "measured");
    words = whole_of("chain.toml", "out");
    words[5] = file("none.txt");
    expect_refused(words, "none.txt", "not there");
    expect_refused(
        {"eval", file("a"), "--text", file("held.txt"), "--exits-at", "2", "--exit", "0.5"},
        "--exits-at",
        "2 layers"
    );
    expect_refused(
        {"eval", file("a"), "--text", file("held.txt"), "--exit", "0.5"},
        "--exits-at",
        "not trained with exits"
    );
}

}  // namespace
}  // namespace swarm::test
