#include "swarm/data/build.hpp"

#include "swarm/base/rng.hpp"
#include "tests/unit/data/data_bed.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace swarm::data::test {
namespace {

using Texts = std::vector<std::string>;

class BuildTest : public DataBed {
 protected:
    /// Writes files of all kinds, with documents that are longer than a shard, and bad lines.
    Texts write_all_kinds() {
        Rng rng(3, 0);
        Texts documents;
        std::string lines;
        for (int i = 0; i < 60; ++i) {
            const std::string text = "document " + std::to_string(i) + " " +
                                     std::string(rng.below(i % 10 == 0 ? 3000 : 90), 'x');
            documents.push_back(text);
            lines += json_line(text) + (i % 9 == 4 ? "bad line\n" : "");
        }
        const std::string_view all = lines;
        const std::size_t half = all.find('\n', all.size() / 2) + 1;
        write("a.jsonl", all.substr(0, half));
        write("b.jsonl.gz", gzip(all.substr(half)));
        const std::string long_text(kPieceBytesMax + 5000, 'y');
        write("c.txt", long_text);
        documents.push_back(long_text);
        write("d.jsonl.zst", zstd(json_line("last")));
        documents.emplace_back("last");
        return documents;
    }

    static DataFile skipping() {
        DataFile data = data_of({"."});
        data.sources[0].bad_lines = BadLines::Skip;
        return data;
    }

    void expect_refused(const Result<Built>& built, ErrorCode code, const Texts& words) {
        ASSERT_TRUE(built.has_error());
        EXPECT_EQ(built.error().code, code) << built.error().detail;
        EXPECT_EQ(built.error().detail.find('\n'), std::string::npos) << built.error().detail;
        for (const std::string& word : words) {
            EXPECT_NE(built.error().detail.find(word), std::string::npos)
                << "no '" << word << "' in: " << built.error().detail;
        }
        EXPECT_TRUE(DataSet::open(output(), Check::Headers).has_error());
    }
};

TEST_F(BuildTest, EachDocumentIsThereOnce) {
    const Texts documents = write_all_kinds();
    Texts named;
    BuildEvents events;
    events.skipped = [&](const std::string& source, const BadLine& bad) {
        EXPECT_EQ(source, "prose");
        named.push_back(bad.file.filename().string());
    };
    BuildProgress last;
    events.progress = [&](const BuildProgress& progress) { last = progress; };
    const auto built = build(skipping(), events);
    ASSERT_TRUE(built) << built.error().detail;
    EXPECT_TRUE(built->is_whole);
    const auto data = DataSet::open(output(), Check::Everything);
    ASSERT_TRUE(data) << data.error().detail;
    EXPECT_EQ(documents_of(*data, 0), documents);
    const ManifestSource& source = data->manifest().sources[0];
    EXPECT_EQ(source.documents, documents.size());
    EXPECT_EQ(source.bad_lines, 7U);
    EXPECT_EQ(named.size(), 7U);
    EXPECT_EQ(source.tokens, source.text_bytes + documents.size());
    EXPECT_GT(source.shards.size(), 5U);
    EXPECT_EQ(built->new_shards, source.shards.size());
    EXPECT_EQ(built->digest, data->digest());
    EXPECT_EQ(last.documents, documents.size());
    EXPECT_EQ(last.tokens, source.tokens);
    EXPECT_EQ(last.bytes, last.bytes_total);
}

TEST_F(BuildTest, TheTableNamesEachDocument) {
    const Texts documents = write_all_kinds();
    ASSERT_TRUE(build(skipping()));
    const auto data = DataSet::open(output(), Check::Everything);
    ASSERT_TRUE(data);
    Texts found;
    bool goes_on = false;
    for (const Shard& shard : data->shards(0)) {
        for (std::uint64_t i = 0; i < shard.header().documents; ++i) {
            const Shard::Document document = shard.document(i);
            EXPECT_EQ(document.continues, goes_on);
            goes_on = document.goes_on;
            if (!document.continues) {
                found.emplace_back();
            }
            std::vector<std::uint32_t> ids(document.tokens);
            shard.read(document.first, ids);
            if (!goes_on) {
                EXPECT_EQ(ids.back(), 256U);
                ids.pop_back();
            }
            for (const std::uint32_t id : ids) {
                found.back().push_back(static_cast<char>(id));
            }
        }
    }
    EXPECT_FALSE(goes_on);
    EXPECT_TRUE(found == documents);
}

/// Stops before every third piece in turn and goes on.
TEST_F(BuildTest, AStoppedBuildGoesOnToTheSameBytes) {
    write_all_kinds();
    ASSERT_TRUE(build(skipping(), {}, "whole"));
    const auto whole = files_of(output("whole"));
    for (int stop_at = 0; stop_at < 72; stop_at += 3) {
        int pieces = 0;
        BuildEvents events;
        events.is_to_stop = [&] { return pieces++ == stop_at; };
        const auto stopped = build(skipping(), events);
        ASSERT_TRUE(stopped) << stopped.error().detail;
        if (stopped->is_whole) {
            EXPECT_GT(stop_at, 60);
        } else {
            EXPECT_TRUE(DataSet::open(output(), Check::Headers).has_error()) << stop_at;
        }
        const auto built = build(skipping());
        ASSERT_TRUE(built) << built.error().detail;
        EXPECT_TRUE(files_of(output()) == whole) << "stopped at " << stop_at;
        fs::remove_all(output());
    }
}

TEST_F(BuildTest, ABuildThatStopsOftenComesToItsEnd) {
    write_all_kinds();
    ASSERT_TRUE(build(skipping(), {}, "whole"));
    Rng rng(9, 0);
    bool is_whole = false;
    for (int run = 0; run < 1000 && !is_whole; ++run) {
        std::uint64_t pieces = 1 + rng.below(80);
        BuildEvents events;
        events.is_to_stop = [&] { return pieces-- == 0; };
        const auto built = build(skipping(), events);
        ASSERT_TRUE(built) << built.error().detail;
        is_whole = built->is_whole;
    }
    EXPECT_TRUE(is_whole);
    EXPECT_TRUE(files_of(output()) == files_of(output("whole")));
}

/// A process that was killed leaves a draft, which is no shard.
TEST_F(BuildTest, ADraftDoesNotCount) {
    write_all_kinds();
    ASSERT_TRUE(build(skipping(), {}, "whole"));
    int pieces = 0;
    BuildEvents events;
    events.is_to_stop = [&] { return pieces++ == 30; };
    ASSERT_TRUE(build(skipping(), events));
    std::uint32_t next = 0;
    while (fs::exists(output() / shard_name("prose", next))) {
        ++next;
    }
    ASSERT_GT(next, 0U);
    write_bytes(output() / (shard_name("prose", next) + ".draft"), "half");
    write_bytes(output() / "manifest.json.draft", "{");
    ASSERT_TRUE(build(skipping()));
    EXPECT_TRUE(files_of(output()) == files_of(output("whole")));
}

TEST_F(BuildTest, ASecondBuildKeepsTheShards) {
    write_all_kinds();
    const auto first = build(skipping());
    const auto second = build(skipping());
    ASSERT_TRUE(second);
    EXPECT_TRUE(second->is_whole);
    EXPECT_EQ(second->new_shards, 0U);
    EXPECT_EQ(second->digest, first->digest);
    DataFile weighted = skipping();
    weighted.sources[0].weight = 2;
    const auto third = build(weighted);
    ASSERT_TRUE(third) << third.error().detail;
    EXPECT_EQ(third->new_shards, 0U);
    EXPECT_NE(third->digest, first->digest);
}

TEST_F(BuildTest, SeveralSourcesHaveShardsOfTheirOwn) {
    write("a.txt", "first");
    write("b.txt", "second");
    DataFile data = data_of({"a.txt"});
    data.sources.push_back({"other", {"b.txt"}});
    ASSERT_TRUE(build(data));
    const auto set = DataSet::open(output(), Check::Everything);
    ASSERT_TRUE(set);
    EXPECT_EQ(documents_of(*set, 0), Texts{"first"});
    EXPECT_EQ(documents_of(*set, 1), Texts{"second"});
    EXPECT_TRUE(fs::exists(output() / "other-000000.shard"));
}

TEST_F(BuildTest, LargeVocabulariesHaveWideIds) {
    write("a.txt", "x");
    Encoder encoder = byte_encoder(70'000);
    encoder.encode = [](std::string_view, TextPlace) {
        return Result<std::vector<std::uint32_t>>(std::vector<std::uint32_t>{69'999});
    };
    ASSERT_TRUE(build_data(data_of({"a.txt"}), encoder, {input(""), output()}, {}));
    const auto set = DataSet::open(output(), Check::Everything);
    ASSERT_TRUE(set);
    std::vector<std::uint32_t> ids(2);
    ASSERT_TRUE(set->read(0, 0, ids));
    EXPECT_EQ(ids, (std::vector<std::uint32_t>{69'999, 256}));
}

TEST_F(BuildTest, TheEncoderHearsWhereADocumentBegins) {
    write("a.txt", std::string(kPieceBytesMax + 1, 'x'));
    write("b.jsonl", json_line(std::string(kPieceBytesMax + 1, 'x')) + json_line("y"));
    std::vector<TextPlace> places;
    Encoder encoder = byte_encoder();
    encoder.encode = [&](std::string_view text, TextPlace place) {
        EXPECT_LE(text.size(), kPieceBytesMax);
        places.push_back(place);
        return Result<std::vector<std::uint32_t>>(std::vector<std::uint32_t>{1});
    };
    ASSERT_TRUE(build_data(data_of({"."}), encoder, {input(""), output()}, {}));
    using enum TextPlace;
    EXPECT_EQ(places, (std::vector<TextPlace>{Begin, Within, Begin, Within, Begin}));
}

TEST_F(BuildTest, ABadLineMayBeFatalAndLaterSkipped) {
    write("a.jsonl", json_line(std::string(2000, 'x')) + json_line("two") + "{\"text\":\"cut");
    expect_refused(
        build(data_of({"a.jsonl"})),
        ErrorCode::Malformed,
        {"a.jsonl:3: is no JSON: incomplete", "bad_lines = \"skip\"", "source prose"}
    );
    DataFile skip = data_of({"a.jsonl"});
    skip.sources[0].bad_lines = BadLines::Skip;
    const auto built = build(skip);
    ASSERT_TRUE(built) << built.error().detail;
    EXPECT_EQ(built->manifest.sources[0].documents, 2U);
    EXPECT_EQ(built->manifest.sources[0].bad_lines, 1U);
}

TEST_F(BuildTest, InvalidTextIsABadLine) {
    write("a.txt", "\xFF\xFE");
    expect_refused(
        build(data_of({"a.txt"})), ErrorCode::Malformed, {"a.txt: is no UTF-8 text", "prose"}
    );
}

TEST_F(BuildTest, ASourceWithoutDocumentsIsRefused) {
    write("a.jsonl", "\n\n");
    write("b.txt", "");
    expect_refused(
        build(data_of({"."})),
        ErrorCode::Malformed,
        {"source prose has no documents: 2 files, 0 bad lines"}
    );
}

TEST_F(BuildTest, ATokenizerThatDoesNotFitIsRefused) {
    write("a.txt", "text");
    const BuildPlace place{input(""), output()};
    expect_refused(
        build_data(data_of({"a.txt"}), byte_encoder(100), place, {}),
        ErrorCode::Mismatch,
        {"end_token 256 is no token of bytes", "100"}
    );
    Encoder lying = byte_encoder(101);
    lying.end_token = 0;
    expect_refused(
        build_data(data_of({"a.txt"}), lying, place, {}), ErrorCode::Mismatch, {"above its 101"}
    );
    Encoder failing = byte_encoder();
    failing.encode = [](std::string_view, TextPlace) {
        return Result<std::vector<std::uint32_t>>(Error{
            ErrorCode::Malformed, Reaction::Reject, "no such letter"});
    };
    expect_refused(
        build_data(data_of({"a.txt"}), failing, {input(""), output("other")}, {}),
        ErrorCode::Malformed,
        {"source prose: no such letter"}
    );
}

TEST_F(BuildTest, TheFolderOfAnotherBuildIsRefused) {
    write_all_kinds();
    ASSERT_TRUE(build(skipping()));
    const auto refused = [&](const Result<Built>& built, const std::string& part) {
        ASSERT_TRUE(built.has_error()) << part;
        EXPECT_EQ(built.error().code, ErrorCode::Mismatch);
        EXPECT_NE(built.error().detail.find("whose " + part + " differ"), std::string::npos)
            << built.error().detail;
    };
    DataFile other = skipping();
    other.sources[0].field = "body";
    refused(build(other), "sources");
    Encoder encoder = byte_encoder(258);
    refused(build_data(skipping(), encoder, {input(""), output()}, {}), "tokenizer");
    write("a.jsonl", json_line("changed"));
    refused(build(skipping()), "input files");
    EXPECT_TRUE(DataSet::open(output(), Check::Everything));
}

TEST_F(BuildTest, AFolderWithOtherFilesIsRefused) {
    write("a.txt", "text");
    write_bytes(output() / "thesis.tex", "years of work");
    expect_refused(build(data_of({"a.txt"})), ErrorCode::Usage, {"is not empty", "another folder"});
}

TEST_F(BuildTest, AFolderInUseIsRefused) {
    write("a.txt", "text");
    fs::create_directories(output());
    const int lock = ::open(output().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(::flock(lock, LOCK_EX), 0);
    expect_refused(build(data_of({"a.txt"})), ErrorCode::Usage, {"in use by another build"});
    ::close(lock);
    EXPECT_TRUE(build(data_of({"a.txt"})));
}

TEST_F(BuildTest, ADamagedShardIsRefused) {
    write_all_kinds();
    ASSERT_TRUE(build(skipping()));
    const fs::path shard = output() / shard_name("prose", 2);
    const std::string whole = read_bytes(shard);
    fs::remove(output() / kManifestName);
    write_bytes(shard, whole.substr(0, whole.size() - 8));
    expect_refused(build(skipping()), ErrorCode::Malformed, {"prose-000002.shard", "remove"});
    write_bytes(shard, read_bytes(output() / shard_name("prose", 1)));
    expect_refused(build(skipping()), ErrorCode::Malformed, {"does not follow the shard before"});
}

/// A full disk, in a shard and in the manifest.
TEST_F(BuildTest, AFullDiskLosesNothing) {
    write_all_kinds();
    ASSERT_TRUE(build(skipping(), {}, "whole"));
    fs::create_directories(output());
    ASSERT_TRUE(build(skipping()));
    for (const std::string name : {"prose-000003.shard", "manifest.json"}) {
        fs::remove(output() / kManifestName);
        for (std::uint32_t i = 3; i < 20; ++i) {
            fs::remove(output() / shard_name("prose", i));
        }
        fs::create_symlink("/dev/full", output() / (name + ".draft"));
        expect_refused(
            build(skipping()),
            ErrorCode::StorageFailed,
            {name, "No space left on device; make room there, or name another folder"}
        );
        EXPECT_FALSE(fs::exists(fs::symlink_status(output() / (name + ".draft"))));
        ASSERT_TRUE(build(skipping()));
        EXPECT_TRUE(files_of(output()) == files_of(output("whole"))) << name;
    }
}

}  // namespace
}  // namespace swarm::data::test
