// Runs `swarm stack clusters` like a person: groups of documents, a member for each, and texts that
// ask the member of their subject.
#include "tests/process/averages/averages_bed.hpp"

#include <cstdlib>

namespace swarm::test {
namespace {

class ClustersTest : public StackBed {
 protected:
    static std::string documents(const std::vector<std::string>& words, std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t k = 0; k < 400; ++k) {
                text += words[(i * 7 + k * (k % 5 + 1)) % words.size()] + " ";
            }
            text += "\n\n";
        }
        return text;
    }

    void SetUp() override {
        write("sea.txt", documents({"ship", "wave", "sail", "wind", "harbour", "anchor"}, 8));
        write("field.txt", documents({"plough", "wheat", "barn", "cattle", "harvest"}, 8));
    }

    void train_on(const std::string& corpus, const std::string& name) {
        train(name, "", 20, corpus, "layers = 1\nwidth = 32\n");
    }
};

TEST_F(ClustersTest, ATextAsksTheMemberOfItsSubject) {
    ASSERT_EQ(
        run({"stack", "clusters", file("sea.txt"), file("field.txt"), "-k", "2", "-o", file("g")}),
        0
    ) << err;
    EXPECT_EQ(count_lines(out), 2U) << out;
    EXPECT_NE(out.find("8 documents: "), std::string::npos) << out;
    const std::string first = read_text(file("g/cluster-1.txt"));
    const std::string second = read_text(file("g/cluster-2.txt"));
    const bool sea_is_first = first.find("anchor") != std::string::npos;
    const std::string& sea = sea_is_first ? first : second;
    const std::string& land = sea_is_first ? second : first;
    EXPECT_EQ(sea.find("wheat"), std::string::npos);
    EXPECT_EQ(land.find("wave"), std::string::npos);
    train_on("g/cluster-1.txt", "one");
    train_on("g/cluster-2.txt", "two");
    const std::string stack = file("stack.toml");
    ASSERT_EQ(
        run(
            {"stack",
             "new",
             stack,
             "--member",
             file("one"),
             "--member",
             file("two"),
             "--clusters",
             file("g/clusters.json"),
             "--experts",
             "1"}
        ),
        0
    ) << err;
    const auto answer_of =
        [&](const std::string& flag, const std::string& model, const std::string& prompt) {
            EXPECT_EQ(run({"generate", flag, model, "--raw", "--tokens", "12", prompt}), 0) << err;
            return out;
        };
    const std::string of_sea = "wind wave ship ";
    const std::string of_land = "wheat barn harvest ";
    const std::string at_sea = sea_is_first ? "one" : "two";
    const std::string on_land = sea_is_first ? "two" : "one";
    EXPECT_EQ(answer_of("--stack", stack, of_sea), answer_of("--model", file(at_sea), of_sea));
    EXPECT_EQ(answer_of("--stack", stack, of_land), answer_of("--model", file(on_land), of_land));
    EXPECT_NE(answer_of("--model", file("one"), of_sea), answer_of("--model", file("two"), of_sea));
    ASSERT_EQ(run({"stack", "measure", stack, "--text", file("sea.txt")}), 0) << err;
    EXPECT_NE(out.find("passes"), std::string::npos) << out;
    EXPECT_EQ(run({"stack", "add", stack, file("one")}), kRefused);
    EXPECT_NE(err.find("has clusters"), std::string::npos) << err;
}

TEST_F(ClustersTest, AChatAsksTheMemberOfItsSubject) {
    ASSERT_EQ(
        run({"stack", "clusters", file("sea.txt"), file("field.txt"), "-k", "2", "-o", file("g")}),
        0
    ) << err;
    std::vector<std::string> words{"stack", "new", file("two.toml")};
    for (const std::string name : {"cluster-1", "cluster-2"}) {
        train_on("g/" + name + ".txt", "run-" + name);
        ASSERT_EQ(run({"model", "export", file("run-" + name), file(name)}), 0) << err;
        write(name + "/chat_template.jinja", "{% for m in messages %}{{ m.content }} {% endfor %}");
        words.insert(words.end(), {"--member", file(name)});
    }
    words.insert(words.end(), {"--clusters", file("g/clusters.json"), "--experts", "1"});
    ASSERT_EQ(run(words), 0) << err;
    const auto chat =
        [&](const std::string& flag, const std::string& model, const std::string& turns) {
            write("turns", turns);
            const std::string line = "'" + program_dir() + "/swarm' chat " + flag + " '" +
                                     file(model) + "' --tokens 8 <'" + file("turns") + "' >'" +
                                     file("said") + "' 2>'" + file("errors") + "'";
            EXPECT_EQ(std::system(line.c_str()), 0) << read_text(file("errors"));
            return read_text(file("said"));
        };
    const bool sea_is_first =
        read_text(file("g/cluster-1.txt")).find("anchor") != std::string::npos;
    const std::string at_sea = sea_is_first ? "cluster-1" : "cluster-2";
    const std::string on_land = sea_is_first ? "cluster-2" : "cluster-1";
    const std::string of_sea = "wind wave ship\n";
    const std::string of_land = "wheat barn harvest\n";
    const std::string about_sea = chat("--model", at_sea, of_sea);
    const std::string about_land = chat("--model", on_land, of_land);
    EXPECT_EQ(chat("--stack", "two.toml", of_sea + "/new\n" + of_land), about_sea + about_land);
    EXPECT_NE(chat("--model", on_land, of_sea), about_sea);
}

TEST_F(ClustersTest, LinesOfJsonStayLines) {
    write("all.jsonl", R"({"text": "ship wave ship sail", "n": 1}
{"text": "ship sail anchor"}
{"text": "wheat barn\n\nwheat"}
{"text": "barn wheat cattle"}
)");
    ASSERT_EQ(run({"stack", "clusters", file("all.jsonl"), "-k", "2", "-o", file("g")}), 0) << err;
    EXPECT_EQ(count_lines(read_text(file("g/cluster-1.jsonl"))), 2U);
    EXPECT_EQ(count_lines(read_text(file("g/cluster-2.jsonl"))), 2U);
}

TEST_F(ClustersTest, WhatCannotBeSplitIsOneLine) {
    const auto refused = [&](const std::vector<std::string>& more, const std::string& what) {
        std::vector<std::string> words{"stack", "clusters"};
        words.insert(words.end(), more.begin(), more.end());
        words.insert(words.end(), {"-o", file("out")});
        expect_refused(words, what, "");
    };
    write("one.txt", "one document");
    write("bad.jsonl", "{\"text\": \"good\"}\n{\"text\": \"cut\n");
    refused({file("one.txt")}, "these are 1 documents, fewer than 8 groups");
    refused({file("bad.jsonl"), "-k", "2"}, "bad.jsonl:2");
    refused({file("none.txt")}, "none.txt");
}

}  // namespace
}  // namespace swarm::test
