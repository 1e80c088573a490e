// A full disk or a damaged checkpoint is one line, and the run can go on.
#include "tests/process/train_bed.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

const std::vector<std::string> kDamagedRun{
    "--model",
    "oracle",
    "--stages",
    "2",
    "--steps",
    "30",
    "--checkpoint-every",
    "10",
    "--min-peers",
    "3"};

/// Returns the lines that begin with `start`.
std::vector<std::string> lines_with(const std::string& text, const std::string& begin) {
    std::vector<std::string> found;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (text.compare(at, begin.size(), begin) == 0) {
            found.push_back(text.substr(at, end - at));
        }
        at = end + 1;
    }
    return found;
}

void expect_mentions(const std::string& line, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        EXPECT_NE(line.find(word), std::string::npos) << "no '" << word << "' in: " << line;
    }
}

class DiskFullTest : public TrainBed {
 protected:
    static std::vector<std::string> run_with(const std::string& more) {
        std::vector<std::string> flags = kDamagedRun;
        flags.push_back(more);
        return flags;
    }

    /// Leaves no room for a file of this name.
    void fill(const std::string& name) const {
        const fs::path path = directory / name;
        fs::create_directories(path.parent_path());
        fs::create_symlink("/dev/full", path);
    }

    /// Expects exit code 1 and one line that says what happened, why, and what to do.
    static void expect_ended(Program& program, const std::vector<std::string>& words) {
        EXPECT_EQ(program.wait(seconds(60)), 1) << program.err();
        const std::vector<std::string> errors = lines_with(program.err(), "swarm: ");
        ASSERT_EQ(errors.size(), 1U) << program.err();
        expect_mentions(errors.front(), words);
    }

    void expect_resumes() {
        Program second(train({"--resume"}), folder.path());
        ASSERT_EQ(second.wait(seconds(90)), 0) << second.err();
        EXPECT_EQ(weights_of(second), single_weights("2", "30"));
    }
};

TEST_F(DiskFullTest, AFullDiskInACommitLosesNothing) {
    Program first(train(kDamagedRun), folder.path());
    start_peers(3, "5");
    ASSERT_TRUE(first.wait_for_text("step 13/", seconds(60))) << first.err();
    const fs::path log = directory / "journal.log";
    first.limit_files(fs::file_size(log) + 700);  // room for one record and a piece of the next
    expect_ended(first, {"journal.log", "File too large", "make room", "--resume"});
    EXPECT_EQ(first.err().find("step 30/"), std::string::npos);
    expect_resumes();
}

TEST_F(DiskFullTest, AFullDiskInACheckpointLosesNothing) {
    fill("checkpoint-0-10/layers.1.safetensors.draft");
    Program first(train(kDamagedRun), folder.path());
    start_peers(3, "5");
    expect_ended(
        first, {"layers.1.safetensors", "No space left on device", "make room", "--resume"}
    );
    expect_resumes();
}

TEST_F(DiskFullTest, AFullDiskInASingleRunLosesNothing) {
    fill("checkpoint-0-20/layers.1.safetensors.draft");
    Program first(train(run_with("--single")), folder.path());
    expect_ended(
        first,
        {"layers.1.safetensors",
         "No space left on device",
         "make room",
         "--resume goes on from the checkpoint of step 10"}
    );
    EXPECT_FALSE(fs::exists(directory / "checkpoint-0-20")) << "it fills the disk";
    Program second(train({"--single", "--resume"}), folder.path());
    ASSERT_EQ(second.wait(seconds(60)), 0) << second.err();
    EXPECT_EQ(second.err().find("step 10/"), std::string::npos) << second.err();
    EXPECT_EQ(weights_of(second), single_weights("2", "30"));
}

TEST_F(DiskFullTest, AFullDiskAtTheStartBeginsNoRun) {
    fill("run.toml.draft");
    Program first(train(kDamagedRun), folder.path());
    expect_ended(first, {"run.toml", "No space left on device", "--dir"});
    Program second(train(run_with("--single")), folder.path());
    EXPECT_EQ(second.wait(seconds(60)), 0) << second.err();
}

TEST_F(DiskFullTest, AFullDiskForTheReportIsOneLine) {
    Program program(
        {"train",
         "--single",
         "--model",
         "oracle",
         "--steps",
         "2",
         "--json",
         "/dev/full",
         "--dir",
         directory.string()},
        folder.path()
    );
    expect_ended(program, {"/dev/full", "No space left on device", "name another"});
}

using TornLogTest = TrainBed;

TEST_F(TornLogTest, IsCutOffWhereItIsTorn) {
    Program first(train(kDamagedRun), folder.path());
    start_peers(3, "5");
    ASSERT_TRUE(first.wait_for_text("step 13/", seconds(60))) << first.err();
    first.signal(SIGKILL);
    first.wait(seconds(10));
    const std::string torn = "\x40\x01half of a record";
    std::ofstream(directory / "journal.log", std::ios::app | std::ios::binary) << torn;
    Program second(train({"--resume"}), folder.path());
    ASSERT_EQ(second.wait(seconds(90)), 0) << second.err();
    expect_mentions(second.err(), {"cut " + std::to_string(torn.size()) + " torn bytes"});
    EXPECT_EQ(second.err().find("step 13/"), std::string::npos) << "it began anew";
    EXPECT_EQ(weights_of(second), single_weights("2", "30"));
}

class DamagedCheckpointTest : public TrainBed {
 protected:
    /// Trains until the second checkpoint, and kills the coordinator and all peers.
    void leave_two_checkpoints() {
        Program first(train(kDamagedRun), folder.path());
        start_peers(3, "5");
        ASSERT_TRUE(first.wait_for_text("wrote " + newest().string(), seconds(60))) << first.err();
        first.signal(SIGKILL);
        first.wait(seconds(10));
        peers.clear();
    }

    [[nodiscard]] fs::path newest() const { return directory / "checkpoint-0-20"; }

    /// Expects one line with the damaged checkpoint and the used one, and a right end of the run.
    void expect_resumes_from_the_previous(const std::string& damaged, const std::string& why) {
        Program second(train({"--resume"}), folder.path());
        start_peers(3, "5");
        ASSERT_EQ(second.wait(seconds(120)), 0) << second.err();
        const auto lines = lines_with(second.err(), "warning: " + newest().string());
        ASSERT_EQ(lines.size(), 1U) << second.err();
        const std::string previous = (directory / "checkpoint-0-10").string();
        expect_mentions(lines.front(), {damaged, why, "going on from " + previous});
        EXPECT_EQ(weights_of(second), single_weights("2", "30"));
    }
};

TEST_F(DamagedCheckpointTest, GoesOnFromThePreviousOneWhenTruncated) {
    ASSERT_NO_FATAL_FAILURE(leave_two_checkpoints());
    const fs::path file = newest() / "layers.2.adam.safetensors";
    fs::resize_file(file, fs::file_size(file) - 1);
    expect_resumes_from_the_previous("layers.2.adam.safetensors", "bytes, not");
}

TEST_F(DamagedCheckpointTest, GoesOnFromThePreviousOneWhenABitIsFlipped) {
    ASSERT_NO_FATAL_FAILURE(leave_two_checkpoints());
    const fs::path file = newest() / "layers.3.safetensors";
    std::fstream io(file, std::ios::in | std::ios::out | std::ios::binary);
    io.seekg(-2, std::ios::end);
    const char flipped = static_cast<char>(io.get() ^ 0x10);
    io.seekp(-2, std::ios::end);
    io.put(flipped);
    io.close();
    ASSERT_TRUE(io);
    expect_resumes_from_the_previous("layers.3.safetensors", "SHA-256");
}

}  // namespace
}  // namespace swarm::test
