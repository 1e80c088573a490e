// Chats from lines of JSONL to the tokens of a run.
#include "swarm/base/token_flags.hpp"
#include "swarm/data/chat_rows.hpp"
#include "swarm/data/samples.hpp"
#include "tests/unit/data/data_bed.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>

namespace swarm::data::test {
namespace {

constexpr std::uint32_t kEnd = 256;

/// Contents as bytes; those of the assistant count, and so does the end behind the last of them.
Encoder chat_encoder() {
    Encoder encoder = byte_encoder();
    encoder.chat_template = "test";
    encoder.encode_chat = [](std::span<const ChatMessage> messages) {
        std::vector<std::uint32_t> tokens;
        for (const ChatMessage& message : messages) {
            if (message.content == "refused") {
                return Result<std::vector<std::uint32_t>>(
                    Error{ErrorCode::Mismatch, Reaction::Reject, "the template refuses it"}
                );
            }
            for (const char letter : message.content) {
                const bool counts = message.role == ChatRole::Assistant;
                tokens.push_back(
                    static_cast<unsigned char>(letter) | (counts ? 0 : kNoLossFlag)
                );
            }
            if (message.content == "inner") {
                tokens.push_back(kEnd);
            }
        }
        tokens.push_back(kEnd);
        return Result<std::vector<std::uint32_t>>(std::move(tokens));
    };
    return encoder;
}

std::string chat_line(const std::string& question, const std::string& answer) {
    return R"({"id":1,"messages":[{"role":"user","content":")" + question +
           R"("},{"role":"assistant","content":")" + answer + "\"}]}\n";
}

class ChatBuildTest : public DataBed {
 protected:
    static DataFile chats(BadLines bad_lines = BadLines::Skip) {
        DataFile data = data_of({"."});
        data.sources[0].rows = RowKind::Chat;
        data.sources[0].field = "messages";
        data.sources[0].bad_lines = bad_lines;
        return data;
    }

    [[nodiscard]] Result<Built> build_chats(
        const BuildEvents& events = {},
        const std::string& to = "out",
        const DataFile& data = chats()
    ) const {
        return build_data(data, chat_encoder(), {folder.path() / "in", output(to)}, events);
    }

    void write_many() const {
        std::string lines;
        for (int i = 0; i < 400; ++i) {
            lines += chat_line("question " + std::to_string(i), "answer " + std::to_string(i * i));
        }
        write("a.jsonl", lines);
    }
};

TEST_F(ChatBuildTest, FlagsAllButAnswers) {
    write("a.jsonl", chat_line("ab", "cd") + chat_line("e", "f"));
    const auto built = build_chats();
    ASSERT_TRUE(built) << built.error().detail;
    const ManifestSource& source = built->manifest.sources[0];
    EXPECT_EQ(source.tokens, 8U);
    EXPECT_EQ(source.documents, 2U);
    EXPECT_EQ(source.no_loss_tokens, 3U);
    EXPECT_EQ(source.text_bytes, 10U);  // contents, each with a line feed
    EXPECT_FALSE(source.has_inner_ends);
    const auto data = DataSet::open(output(), Check::Everything);
    ASSERT_TRUE(data) << data.error().detail;
    EXPECT_EQ(data->manifest(), built->manifest);
    std::vector<std::uint32_t> tokens(8);
    ASSERT_TRUE(data->read(0, 0, tokens));
    EXPECT_EQ(
        tokens,
        (std::vector<std::uint32_t>{
            'a' | kNoLossFlag, 'b' | kNoLossFlag, 'c', 'd', kEnd, 'e' | kNoLossFlag, 'f', kEnd})
    );
}

TEST_F(ChatBuildTest, TheFirstTokenOfASampleHasNoFlag) {
    write_many();
    ASSERT_TRUE(build_chats());
    const auto data = DataSet::open(output(), Check::Everything);
    ASSERT_TRUE(data) << data.error().detail;
    const auto samples = Samples::make(*data, 16, 1);
    ASSERT_TRUE(samples);
    std::size_t flagged = 0;
    std::vector<std::uint32_t> row(17);
    for (std::uint64_t i = 0; i < samples->per_epoch(); ++i) {
        ASSERT_TRUE(samples->read(i, row));
        EXPECT_TRUE(counts_for_loss(row.front()));
        flagged += static_cast<std::size_t>(
            std::count_if(row.begin(), row.end(), [](std::uint32_t token) {
                return !counts_for_loss(token);
            })
        );
    }
    const ManifestSource& source = data->manifest().sources[0];
    const std::uint64_t left_out = source.tokens - samples->per_epoch() * 16;
    EXPECT_GE(flagged + left_out, source.no_loss_tokens);
    EXPECT_LE(flagged, source.no_loss_tokens);
}

TEST_F(ChatBuildTest, BadRowsAreCountedAndNamed) {
    write(
        "a.jsonl",
        std::string(R"({"text":"a"})") + "\n" + R"({"messages":"a"})" + "\n" +
            R"({"messages":[]})" + "\n" + R"({"messages":[{"role":"boss","content":"a"}]})" + "\n" +
            R"({"messages":[{"role":"user","content":"a"}]})" + "\n" +
            R"({"messages":[{"role":"assistant","content":null}]})" + "\n" +
            R"({"messages":[3]})" + "\n" + chat_line("refused", "a") + chat_line("b", "c")
    );
    write("b.txt", "no chat");
    std::vector<std::string> named;
    BuildEvents events;
    events.skipped = [&](const std::string&, const BadLine& bad) {
        named.push_back(std::to_string(bad.line) + ": " + bad.reason);
    };
    const auto built = build_chats(events);
    ASSERT_TRUE(built) << built.error().detail;
    EXPECT_EQ(built->manifest.sources[0].bad_lines, 9U);
    EXPECT_EQ(built->manifest.sources[0].documents, 1U);
    EXPECT_EQ(
        named,
        (std::vector<std::string>{
            "1: has no field \"messages\"",
            "2: is no list of messages",
            "3: has no messages",
            "4: message 1 has the unknown role \"boss\"; known are system, user, assistant and "
            "tool",
            "5: has no answer of the assistant",
            "6: message 1 has no text in \"content\"",
            "7: message 1 is no object",
            "8: the template refuses it",
            "0: is neither JSONL nor Parquet, and its source has chats"})
    );
    const auto fatal = build_chats({}, "other", chats(BadLines::Fatal));
    ASSERT_TRUE(fatal.has_error());
    EXPECT_NE(fatal.error().detail.find("a.jsonl:1: has no field"), std::string::npos);
}

TEST_F(ChatBuildTest, AStoppedBuildGoesOnToTheSameBytes) {
    write_many();
    ASSERT_TRUE(build_chats({}, "whole"));
    for (const int stop_at : {0, 1, 100, 250, 399}) {
        int calls = 0;
        BuildEvents events;
        events.is_to_stop = [&] { return calls++ == stop_at; };
        const auto stopped = build_chats(events, "parts");
        ASSERT_TRUE(stopped) << stopped.error().detail;
        EXPECT_FALSE(stopped->is_whole);
        ASSERT_TRUE(build_chats({}, "parts"));
        EXPECT_EQ(files_of(output("parts")), files_of(output("whole"))) << stop_at;
        fs::remove_all(output("parts"));
    }
}

TEST_F(ChatBuildTest, AnEndTokenWithinAChatIsNoted) {
    write("a.jsonl", chat_line("inner", "a"));
    const auto built = build_chats();
    ASSERT_TRUE(built) << built.error().detail;
    EXPECT_TRUE(built->manifest.sources[0].has_inner_ends);
    const auto data = DataSet::open(output(), Check::Everything);
    ASSERT_TRUE(data);
    EXPECT_EQ(data->manifest(), built->manifest);
}

TEST_F(ChatBuildTest, AFlagThatTheHeaderDoesNotCountIsDamage) {
    write("a.jsonl", chat_line("ab", "cd"));
    ASSERT_TRUE(build_chats());
    const fs::path path = output() / shard_name("prose", 0);
    const auto shard = Shard::open(path);
    ASSERT_TRUE(shard);
    EXPECT_TRUE(shard->verify(257));
    EXPECT_FALSE(shard->verify(99)) << "d is 100";
    ShardHeader header = shard->header();
    header.no_loss_tokens = 3;
    std::string bytes = read_bytes(path);
    const ShardHeaderBytes lying = to_bytes(header);
    std::copy_n(reinterpret_cast<const char*>(lying.data()), lying.size(), bytes.begin());
    write_bytes(path, bytes);
    const auto other = Shard::open(path);
    ASSERT_TRUE(other) << other.error().detail;
    EXPECT_TRUE(other->verify(257).has_error());
}

TEST(ReadChat, HasABoundOfMessages) {
    boost::json::array list(kMessagesMax, {{"role", "assistant"}, {"content", "a"}});
    std::vector<ChatMessage> messages;
    EXPECT_FALSE(read_chat(list, messages));
    EXPECT_EQ(messages.size(), kMessagesMax);
    list.push_back(list.front());
    EXPECT_EQ(read_chat(list, messages), "has more than 256 messages");
}

}  // namespace
}  // namespace swarm::data::test
