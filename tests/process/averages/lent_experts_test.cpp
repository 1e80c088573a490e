// Real processes serve a mixture in parts: a trunk without experts, and two peers that lend them.
#include "tests/process/averages/averages_bed.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>

namespace swarm::test {
namespace {

using std::chrono::seconds;

class LentExperts : public AveragesBed {
 protected:
    void SetUp() override {
        AveragesBed::SetUp();
        ASSERT_EQ(
            run({"stack", "mix", file("a"), file("b"), "--copies", "2", "-o", file("mixed")}), 0
        ) << err;
        address_ = "127.0.0.1:" + std::to_string(free_port());
        directory_ = start({"directory", "--listen", address_});
        ASSERT_TRUE(directory_->wait_for_text("directory at " + address_, seconds(10)));
    }

    std::unique_ptr<Program> start(const std::vector<std::string>& arguments) {
        const auto place = folder.path() / std::to_string(++started_);
        std::filesystem::create_directories(place);
        return std::make_unique<Program>(arguments, place);
    }

    std::unique_ptr<Program> serve(const std::vector<std::string>& more, const std::string& says) {
        std::vector<std::string> arguments{
            "serve", "--model", file("mixed"), "--join", address_, "--listen", "127.0.0.1:0"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        auto program = start(arguments);
        EXPECT_TRUE(program->wait_for_text(says, seconds(20))) << program->err();
        return program;
    }

    std::vector<std::string> question(const std::vector<std::string>& more = {}) {
        std::vector<std::string> words{
            "generate", "--model", file("mixed"), "--raw", "--tokens", "48"};
        words.insert(words.end(), more.begin(), more.end());
        words.push_back("it is a ");
        return words;
    }

    std::vector<std::string> question_to_peers() { return question({"--join", address_}); }

    std::string address_;
    std::unique_ptr<Program> directory_;
    int started_ = 0;
};

TEST_F(LentExperts, GiveTheTextOfOneProcessThoughALenderIsKilled) {
    ASSERT_EQ(run(question()), 0) << err;
    const std::string text = out;
    ASSERT_FALSE(text.empty());
    const auto trunk = serve({"--experts", "none"}, "serves layers 0 to 1 of 2 without");
    const auto first = serve({"--experts", "0,1,2,3"}, "serves experts 0, 1, 2, 3 of layers");
    const auto second = serve({"--experts", "0,1,2,3"}, "serves experts 0, 1, 2, 3 of layers");
    ASSERT_EQ(run(question_to_peers()), 0) << err;
    EXPECT_EQ(out, text);

    const auto asked = start(question_to_peers());
    first->signal(SIGKILL);
    ASSERT_EQ(asked->wait(seconds(30)), 0) << asked->err();
    EXPECT_EQ(asked->out(), text);
    EXPECT_EQ(asked->err().find("nobody lends"), std::string::npos) << asked->err();

    second->signal(SIGKILL);
    ASSERT_EQ(run(question_to_peers()), 0) << err;
    EXPECT_NE(err.find("nobody lends expert 0 of "), std::string::npos) << err;
    EXPECT_EQ(err.find("nobody lends expert 0 of "), err.rfind("nobody lends expert 0 of ")) << err;
    EXPECT_TRUE(trunk->wait_for_text("nobody lends expert 0 of layer", seconds(5)));
}

TEST_F(LentExperts, MayBePartlyAtTheTrunk) {
    ASSERT_EQ(run(question()), 0) << err;
    const std::string text = out;
    const auto trunk = serve({"--trunk", "--experts", "1,3"}, "and experts 1, 3 to others");
    const auto lender = serve({"--experts", "0,2"}, "serves experts 0, 2 of layers");
    ASSERT_EQ(run(question_to_peers()), 0) << err;
    EXPECT_EQ(out, text);
}

TEST_F(LentExperts, AreRefusedWhereThereAreNone) {
    const auto refusal = [&](const std::string& model, const std::string& experts) {
        EXPECT_NE(
            run({"serve", "--model", file(model), "--join", address_, "--experts", experts}), 0
        );
        return err;
    };
    EXPECT_NE(refusal("a", "0").find("has no experts"), std::string::npos) << err;
    for (const char* const bad : {"4", "0,", "0;1", "x", "none,1"}) {
        EXPECT_NE(refusal("mixed", bad).find("some of 0 to 3"), std::string::npos) << err;
    }
}

}  // namespace
}  // namespace swarm::test
