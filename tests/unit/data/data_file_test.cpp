#include "swarm/data/data_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace swarm::data {
namespace {

constexpr const char* kSource = "[[source]]\nname = \"a\"\npaths = \"x.txt\"\n";

std::string with_tokenizer(const std::string& rest) {
    return "tokenizer = \"bytes\"\n" + rest;
}

/// Expects one line with all of these words.
void expect_refused(const std::string& toml, const std::vector<std::string>& words) {
    const auto read = parse_data_file(toml, "d.toml");
    ASSERT_TRUE(read.has_error()) << toml;
    const std::string& line = read.error().detail;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    for (const std::string& word : words) {
        EXPECT_NE(line.find(word), std::string::npos) << "no '" << word << "' in: " << line;
    }
}

TEST(DataFile, ReadsAllKeys) {
    const auto read = parse_data_file(
        R"(tokenizer = "smollm2"
end_token = "<|endoftext|>"
shard_tokens = 4096
[[source]]
name = "prose"
paths = ["prose/*.jsonl.gz", "notes"]
field = "content"
weight = 0.7
bad_lines = "skip"
[[source]]
name = "code_2"
paths = "code"
weight = 3
)",
        "d.toml"
    );
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(read->tokenizer, "smollm2");
    EXPECT_EQ(std::get<std::string>(read->end_token), "<|endoftext|>");
    EXPECT_EQ(read->shard_tokens, 4096U);
    ASSERT_EQ(read->sources.size(), 2U);
    const Source& prose = read->sources[0];
    EXPECT_EQ(prose.name, "prose");
    EXPECT_EQ(prose.paths, (std::vector<std::string>{"prose/*.jsonl.gz", "notes"}));
    EXPECT_EQ(prose.field, "content");
    EXPECT_EQ(prose.weight, 0.7);
    EXPECT_EQ(prose.bad_lines, BadLines::Skip);
    const Source& code = read->sources[1];
    EXPECT_EQ(code.paths, std::vector<std::string>{"code"});
    EXPECT_EQ(code.field, "text");
    EXPECT_EQ(code.weight, 3);
    EXPECT_EQ(code.bad_lines, BadLines::Fatal);
}

TEST(DataFile, ASourceMayHaveChats) {
    const auto texts = parse_data_file(with_tokenizer("") + kSource, "d.toml");
    ASSERT_TRUE(texts) << texts.error().detail;
    EXPECT_FALSE(texts->has_chats());
    const std::string chats = with_tokenizer("chat_template = \"lines\"\n") + kSource;
    const auto read = parse_data_file(chats + "rows = \"chat\"\n", "d.toml");
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_TRUE(read->has_chats());
    EXPECT_EQ(read->chat_template, ChatTemplateName::Lines);
    EXPECT_EQ(read->sources[0].field, "messages");
    const auto other =
        parse_data_file(chats + "rows = \"chat\"\nfield = \"turns\"\n", "d.toml");
    ASSERT_TRUE(other) << other.error().detail;
    EXPECT_EQ(other->sources[0].field, "turns");
    expect_refused(chats + "rows = \"chats\"\n", {"d.toml:6", "source.rows", "\"chat\""});
    expect_refused(
        with_tokenizer("chat_template = \"chatml\"\n") + kSource,
        {"d.toml:2", "chat_template must be", "\"lines\""}
    );
}

TEST(DataFile, AnEndTokenMayBeAnId) {
    const auto read = parse_data_file(with_tokenizer("end_token = 7\n") + kSource, "d.toml");
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(std::get<std::uint32_t>(read->end_token), 7U);
    EXPECT_FALSE(read->sources[0].weight);
}

TEST(DataFile, RefusalsNameLineKeyAndWhatItMayBe) {
    const std::string source = kSource;
    expect_refused(source, {"d.toml", "tokenizer is missing", "spm:FILE"});
    expect_refused(with_tokenizer(""), {"d.toml: source is missing", "[[source]]"});
    expect_refused(with_tokenizer("source = 3"), {"d.toml:2", "source must be", "[[source]]"});
    expect_refused(
        with_tokenizer(source + "kind = 1\n"),
        {"d.toml:5: source.kind is unknown", "name, paths, rows, field, weight, bad_lines"}
    );
    expect_refused(
        "mix = 1\n" + with_tokenizer(source), {"d.toml:1: mix is unknown", "tokenizer, end_token"}
    );
    expect_refused(
        with_tokenizer(source + "weight = -1\n"), {"d.toml:5: source.weight must be", "0 to 1e9"}
    );
    expect_refused(with_tokenizer(source + "weight = nan\n"), {"source.weight must be"});
    expect_refused(with_tokenizer(source + "weight = \"1\"\n"), {"source.weight must be"});
    expect_refused(
        with_tokenizer(source + "bad_lines = \"warn\"\n"),
        {"d.toml:5: source.bad_lines must be", "\"skip\" or \"fatal\""}
    );
    expect_refused(with_tokenizer(source + "field = 1\n"), {"source.field must be"});
    expect_refused(with_tokenizer("end_token = -1\n" + source), {"d.toml:2: end_token must be"});
    expect_refused(with_tokenizer("shard_tokens = 5\n" + source), {"shard_tokens", "1024"});
    expect_refused(with_tokenizer("[[source]]\npaths = \"x\"\n"), {"source.name is missing"});
    expect_refused(
        with_tokenizer("[[source]]\nname = \"../a\"\npaths = \"x\"\n"), {"d.toml:3", "source.name"}
    );
    expect_refused(with_tokenizer("[[source]]\nname = \"a\"\n"), {"source.paths is missing"});
    expect_refused(with_tokenizer("[[source]]\nname = \"a\"\npaths = []\n"), {"source.paths must"});
    expect_refused(
        with_tokenizer("[[source]]\nname = \"a\"\npaths = [1]\n"), {"source.paths must"}
    );
    expect_refused("tokenizer = ", {"d.toml:1"});
    expect_refused("\"a\\nb\" = 1\ntokenizer = \"bytes\"\n" + source, {"a?b is unknown"});
}

TEST(DataFile, SourcesFitTogether) {
    const std::string b = "[[source]]\nname = \"b\"\npaths = \"y.txt\"\n";
    expect_refused(with_tokenizer(std::string(kSource) + kSource), {"two sources", "name a"});
    expect_refused(with_tokenizer(kSource + ("weight = 1\n" + b)), {"source.weight is missing"});
    expect_refused(
        with_tokenizer(kSource + ("weight = 0\n" + b) + "weight = 0.0\n"),
        {"source.weight is 0 in all sources"}
    );
    std::string many;
    for (int i = 0; i < 65; ++i) {
        many += "[[source]]\nname = \"s" + std::to_string(i) + "\"\npaths = \"x\"\n";
    }
    expect_refused(with_tokenizer(many), {"more than 64 sources"});
    expect_refused(std::string(kDataFileBytesMax + 1, '#'), {"d.toml", "bytes"});
}

}  // namespace
}  // namespace swarm::data
