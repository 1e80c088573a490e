#include "swarm/data/input_files.hpp"

#include "tests/unit/data/data_bed.hpp"

namespace swarm::data::test {
namespace {

class InputFilesTest : public DataBed {
 protected:
    [[nodiscard]] Result<InputFiles> find(std::vector<std::string> paths) const {
        return find_input_files({"prose", std::move(paths)}, folder.path() / "in");
    }

    /// Returns the names of the files that were found, below the folder of the inputs.
    [[nodiscard]] std::vector<std::string> names(std::vector<std::string> paths) const {
        const auto found = find(std::move(paths));
        EXPECT_TRUE(found) << found.error().detail;
        std::vector<std::string> list;
        for (const InputFile& file : found->files) {
            list.push_back(file.path.lexically_relative(folder.path() / "in").generic_string());
        }
        return list;
    }

    void expect_refused(const std::string& path, ErrorCode code, const std::string& words) const {
        const auto found = find({path});
        ASSERT_TRUE(found.has_error());
        EXPECT_EQ(found.error().code, code);
        EXPECT_NE(found.error().detail.find(words), std::string::npos) << found.error().detail;
    }
};

using Names = std::vector<std::string>;

TEST_F(InputFilesTest, AFolderStandsForAllBelowItByName) {
    write("f/b.txt", "b");
    write("f/a/z.jsonl", "{}");
    write("f/a.md", "a");
    write("f/t.parquet", "PAR1");
    write("f/picture.png", "p");
    const auto found = find({"f"});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->ignored, 1U);
    EXPECT_EQ(names({"f"}), (Names{"f/a/z.jsonl", "f/a.md", "f/b.txt", "f/t.parquet"}));
    EXPECT_EQ(found->files[0].bytes, 2U);
    EXPECT_EQ(found->files[0].format, InputFormat::Lines);
    EXPECT_EQ(found->files[3].format, InputFormat::Parquet);
}

TEST_F(InputFilesTest, AGlobStandsForItsMatchesByName) {
    write("b1.jsonl.gz", "");
    write("b2.jsonl.zst", "");
    write("c.txt", "");
    EXPECT_EQ(names({"b*"}), (Names{"b1.jsonl.gz", "b2.jsonl.zst"}));
    EXPECT_EQ(names({"c.txt", "[bc]*"}), (Names{"c.txt", "b1.jsonl.gz", "b2.jsonl.zst"}));
}

TEST_F(InputFilesTest, AFileMayHaveTheNameOfAGlob) {
    write("[a]*.txt", "");
    write("a.txt", "");
    EXPECT_EQ(names({"[a]*.txt"}), Names{"[a]*.txt"});
}

TEST_F(InputFilesTest, NoFileComesTwice) {
    write("a.txt", "");
    fs::create_symlink(input("a.txt"), input("link.txt"));
    EXPECT_EQ(names({"a.txt", "*.txt", "."}), Names{"a.txt"});
}

TEST_F(InputFilesTest, WhatCannotBeReadIsNamed) {
    write("a.csv", "");
    fs::create_directories(input("empty"));
    expect_refused("nothing.txt", ErrorCode::NotFound, "nothing.txt: no such file or folder");
    expect_refused("no*.txt", ErrorCode::NotFound, "no file matches");
    expect_refused("a.csv", ErrorCode::Unsupported, "read are .txt, .md");
    expect_refused("empty", ErrorCode::NotFound, "source prose: its paths have no file");
    fs::create_symlink("/dev/zero", input("zero.txt"));
    expect_refused("zero.txt", ErrorCode::NotFound, "neither a file nor a folder");
}

}  // namespace
}  // namespace swarm::data::test
