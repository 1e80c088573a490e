// `swarm data` as a person runs it: killed, stopped, on a full disk, and on bad input.
#include "swarm/base/rng.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/data/data_bed.hpp"

#include <chrono>
#include <csignal>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
using data::DataSet;
using std::chrono::microseconds;
using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

constexpr int kDocuments = 30'000;
constexpr int kKills = 20;

class DataTest : public testing::Test {
 protected:
    /// Writes 5 MB of lines, in shards of 32,768 tokens: about 150 of them.
    void write_lines() {
        Rng rng(11, 0);
        std::string lines;
        for (int i = 0; i < kDocuments; ++i) {
            documents.push_back(
                "document " + std::to_string(i) + " " + std::string(rng.below(280), 'x')
            );
            lines += R"({"text":")" + documents.back() + "\"}\n";
        }
        data::test::write_bytes(folder.path() / "in" / "lines.jsonl", lines);
        write_data_file("paths = \"in/lines.jsonl\"\n");
    }

    void write_data_file(const std::string& source, const std::string& tokenizer = "bytes") {
        data::test::write_bytes(
            folder.path() / "data.toml",
            "tokenizer = \"" + tokenizer +
                "\"\nshard_tokens = 32768\n[[source]]\nname = \"prose\"\n" + source
        );
    }

    [[nodiscard]] fs::path out(const std::string& name = "out") const {
        return folder.path() / name;
    }

    [[nodiscard]] std::vector<std::string> build(const std::string& to = "out") const {
        return {"data", "build", (folder.path() / "data.toml").string(), "-o", out(to).string()};
    }

    [[nodiscard]] int shards() const {
        int count = 0;
        while (fs::exists(out() / data::shard_name("prose", static_cast<std::uint32_t>(count)))) {
            ++count;
        }
        return count;
    }

    /// Waits until so many shards are whole, and then for a moment; the build may end before.
    void wait_for_shards(int count, microseconds moment = microseconds(0)) const {
        const auto deadline = Steady::now() + seconds(30);
        while (shards() < count && Steady::now() < deadline && !is_whole()) {
        }
        const auto end = Steady::now() + moment;
        while (Steady::now() < end && !is_whole()) {
        }
    }

    [[nodiscard]] bool is_whole() const { return fs::exists(out() / data::kManifestName); }

    void run(const std::vector<std::string>& words, int exit_code) {
        Program program(words, folder.path());
        ASSERT_EQ(program.wait(seconds(60)), exit_code) << program.err();
        printed = program.out();
        said = program.err();
    }

    /// Expects each document once, and the bytes of a build without a break.
    void expect_whole() {
        run(build("whole"), 0);
        EXPECT_TRUE(data::test::files_of(out()) == data::test::files_of(out("whole")));
        const auto set = DataSet::open(out(), data::Check::Everything);
        ASSERT_TRUE(set) << set.error().detail;
        EXPECT_TRUE(data::test::documents_of(*set, 0) == documents);
        EXPECT_EQ(set->manifest().sources[0].documents, documents.size());
    }

    void expect_refused(const std::vector<std::string>& words, const std::vector<std::string>& in) {
        run(words, 3);
        EXPECT_EQ(count_lines(said), 1U) << said;
        EXPECT_EQ(printed, "");
        for (const std::string& word : in) {
            EXPECT_NE(said.find(word), std::string::npos) << "no '" << word << "' in: " << said;
        }
        EXPECT_FALSE(fs::exists(out() / data::kManifestName));
    }

    TemporaryFolder folder;
    std::vector<std::string> documents;
    std::string printed;
    std::string said;
};

TEST_F(DataTest, KillsLoseNoDocument) {
    write_lines();
    Rng rng(5, 0);
    int wanted = 0;
    for (int kill = 0; kill < kKills; ++kill) {
        Program program(build(), folder.path());
        wanted += static_cast<int>(rng.below(6));
        wait_for_shards(wanted, microseconds(rng.below(10'000)));
        program.signal(SIGKILL);
        EXPECT_EQ(program.wait(seconds(10)), 128 + SIGKILL) << "kill " << kill;
        EXPECT_TRUE(DataSet::open(out(), data::Check::Headers).has_error());
        wanted = shards();
    }
    EXPECT_GT(wanted, 10);
    run(build(), 0);
    expect_whole();
}

TEST_F(DataTest, AStopKeepsWholeShards) {
    write_lines();
    Program program(build(), folder.path());
    wait_for_shards(2);
    program.signal(SIGINT);
    EXPECT_EQ(program.wait(seconds(10)), 128 + SIGINT) << program.err();
    EXPECT_NE(program.err().find("the same command goes on"), std::string::npos) << program.err();
    run(build(), 0);
    expect_whole();
}

TEST_F(DataTest, AFullDiskIsOneLine) {
    write_lines();
    {
        Program program(build(), folder.path());
        wait_for_shards(1);
        program.limit_files(30'000);
        EXPECT_EQ(program.wait(seconds(30)), 1) << program.err();
        EXPECT_EQ(count_lines(program.err()), 1U) << program.err();
        for (const std::string word : {".shard: File too large", "make room there"}) {
            EXPECT_NE(program.err().find(word), std::string::npos) << program.err();
        }
    }
    EXPECT_TRUE(DataSet::open(out(), data::Check::Headers).has_error());
    run(build(), 0);
    expect_whole();
}

TEST_F(DataTest, AFolderIsShownAndSampled) {
    write_lines();
    run(build(), 0);
    EXPECT_NE(printed.find("30,000"), std::string::npos) << printed;
    run({"data", "show", out().string(), "--check"}, 0);
    EXPECT_NE(printed.find("tokenizer bytes, 256 tokens"), std::string::npos) << printed;
    run({"data", "sample", out().string(), "-n", "3", "--from", "7", "--seed", "1"}, 0);
    EXPECT_NE(printed.find("sample 9: prose, epoch 0, tokens "), std::string::npos) << printed;
    EXPECT_NE(printed.find("document "), std::string::npos) << printed;
    run(build(), 0);
    EXPECT_NE(said.find("was built before"), std::string::npos) << said;
}

TEST_F(DataTest, BadInputIsOneLine) {
    const auto write = [&](const std::string& name, const std::string& text) {
        data::test::write_bytes(folder.path() / "in" / name, text);
    };
    write("cut.jsonl", "{\"text\":\"one\"}\n{\"text\":\"cut in mid-li");
    write_data_file("paths = \"in/cut.jsonl\"\n");
    expect_refused(build(), {"cut.jsonl:2: is no JSON: incomplete", "bad_lines = \"skip\""});
    write("bad.txt", "\xFF\xFE");
    write_data_file("paths = \"in/bad.txt\"\n");
    expect_refused(build("second"), {"bad.txt: is no UTF-8 text"});
    write("empty.jsonl", "");
    write_data_file("paths = \"in/empty.jsonl\"\n");
    expect_refused(build("third"), {"source prose has no documents"});
    write_data_file("paths = \"in/bad.txt\"\nweight = 0\n");
    expect_refused(build("fourth"), {"data.toml", "source.weight is 0 in all sources"});
    write("table.parquet", "PAR1");
    write_data_file("paths = \"in/table.parquet\"\n");
    expect_refused(build("fifth"), {"table.parquet: is no Parquet file, or cut short"});
    write("junk.model", "no tokenizer");
    write_data_file("paths = \"in/cut.jsonl\"\n", "spm:in/junk.model");
    expect_refused(build("sixth"), {"junk.model"});
    write_data_file("paths = \"in/cut.jsonl\"\n", "no-such-model");
    expect_refused(build("seventh"), {"no-such-model"});
    fs::remove(folder.path() / "data.toml");
    expect_refused(build("eighth"), {"data.toml"});
    expect_refused({"data", "show", (folder.path() / "in").string()}, {"has not ended there"});
}

}  // namespace
}  // namespace swarm::test
