#include "swarm/cli/chat/conversation.hpp"

#include <gtest/gtest.h>

#include <string>

namespace swarm::cli {
namespace {

using Kind = Conversation::Kind;

/// "system:a user:b assistant:c"
std::string shown(const Conversation& conversation) {
    std::string text;
    for (const auto& message : conversation.messages()) {
        using stacking::tokenizers::ChatRole;
        text += (text.empty() ? "" : " ") +
                std::string(
                    message.role == ChatRole::System ? "system:"
                    : message.role == ChatRole::User ? "user:"
                                                     : "assistant:"
                ) +
                message.content;
    }
    return text;
}

Conversation with_two_turns() {
    Conversation conversation("be kind");
    for (const char* const turn : {"1", "2"}) {
        EXPECT_EQ(conversation.take(std::string("q") + turn).kind, Kind::Ask);
        conversation.add_answer(std::string("a") + turn);
    }
    return conversation;
}

TEST(Conversation, TheModelIsAskedWithAllThatWasSaid) {
    Conversation conversation = with_two_turns();
    EXPECT_EQ(conversation.take("  q3\r").kind, Kind::Ask);
    EXPECT_EQ(
        shown(conversation), "system:be kind user:q1 assistant:a1 user:q2 assistant:a2 user:q3"
    );
}

TEST(Conversation, UndoTakesBackAQuestionWithItsAnswer) {
    Conversation conversation = with_two_turns();
    EXPECT_EQ(conversation.take("/undo").kind, Kind::Tell);
    EXPECT_EQ(shown(conversation), "system:be kind user:q1 assistant:a1");
    conversation.take("/undo");
    EXPECT_EQ(shown(conversation), "system:be kind");
    EXPECT_NE(conversation.take("/undo").text.find("nothing"), std::string::npos);
}

TEST(Conversation, AQuestionWithoutAnAnswerIsDropped) {
    Conversation conversation = with_two_turns();
    conversation.take("q3");
    conversation.drop_question();
    EXPECT_EQ(shown(conversation), "system:be kind user:q1 assistant:a1 user:q2 assistant:a2");
}

TEST(Conversation, NewKeepsTheSystemMessage) {
    Conversation conversation = with_two_turns();
    conversation.take("/new");
    EXPECT_EQ(shown(conversation), "system:be kind");
    conversation.take("/system");
    EXPECT_EQ(shown(conversation), "");
    conversation.take("/system  be brief ");
    EXPECT_EQ(shown(conversation), "system:be brief");
}

TEST(Conversation, IsSavedAsMessagesOfTheApi) {
    Conversation conversation("s");
    conversation.take("q\"");
    conversation.add_answer("a");
    const auto step = conversation.take("/save talk.json");
    EXPECT_EQ(step.kind, Kind::Save);
    EXPECT_EQ(step.text, "talk.json");
    EXPECT_EQ(
        conversation.to_json(),
        R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"q\""},)"
        R"({"role":"assistant","content":"a"}]})"
        "\n"
    );
}

TEST(Conversation, CommandsAreNoQuestions) {
    Conversation conversation;
    EXPECT_EQ(conversation.take("/help").kind, Kind::Tell);
    EXPECT_EQ(conversation.take("/dance").kind, Kind::Tell);
    EXPECT_EQ(conversation.take("/save").kind, Kind::Tell);
    EXPECT_EQ(conversation.take("   ").kind, Kind::Nothing);
    EXPECT_EQ(conversation.take("/end").kind, Kind::End);
    EXPECT_EQ(shown(conversation), "");
}

}  // namespace
}  // namespace swarm::cli
