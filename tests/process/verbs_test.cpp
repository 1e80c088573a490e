// The answers of each verb to mistakes and to signals.
#include "tests/places.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>

namespace swarm::test {
namespace {

using std::chrono::seconds;

/// Returns the exit code of a command line of bash, whose errors nobody reads.
int shell(const std::string& line) {
    const int status = std::system(("exec 2>/dev/null; bash -c '" + line + "'").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class VerbsTest : public testing::Test {
 protected:
    /// Expects this exit code and one line with the reason.
    void expect_refused(const std::vector<std::string>& arguments, int exit_code) {
        Program program(arguments, folder.path());
        EXPECT_EQ(program.wait(seconds(30)), exit_code) << program.err();
        EXPECT_EQ(count_lines(program.err()), 1U) << program.err();
        EXPECT_EQ(program.out(), "");
    }

    std::string write(const std::string& name, const std::string& text) {
        const std::filesystem::path path = folder.path() / name;
        std::ofstream(path) << text;
        return path.string();
    }

    std::string write_key(const std::string& name, const std::string& secret) {
        const std::string path = write(name, secret);
        std::filesystem::permissions(path, std::filesystem::perms::owner_read);
        return path;
    }

    [[nodiscard]] std::string directory(const std::string& name) const {
        return (folder.path() / name).string();
    }

    TemporaryFolder folder;
};

TEST_F(VerbsTest, WrongFlagsAreAUsageError) {
    expect_refused({}, 2);
    expect_refused({"dance"}, 2);
    expect_refused({"local", "--peers", "none"}, 2);
    expect_refused({"serve"}, 2);
    expect_refused({"train", "--kill-every", "3s"}, 2);
}

TEST_F(VerbsTest, ResultsThatCannotBeWrittenAreAnError) {
    const std::string swarm = program_dir() + "/swarm";
    for (const char* verb : {" sim --list", " train --print-toml", " --help"}) {
        EXPECT_EQ(shell(swarm + verb + " > /dev/full"), 1) << verb;
        EXPECT_EQ(shell(swarm + verb + " >&-"), 1) << verb;
        EXPECT_EQ(shell(swarm + verb + " > /dev/null"), 0) << verb;
    }
}

TEST_F(VerbsTest, AReaderThatGoesEndsTheWork) {
    const std::string swarm = program_dir() + "/swarm";
    const std::string gone = "exec 3> >(true); wait $!; ";
    EXPECT_EQ(shell(gone + swarm + " sim freeze --replay 1 >&3"), 141);
    EXPECT_EQ(shell(gone + swarm + " --help >&3"), 141);
}

TEST_F(VerbsTest, NamesInFilesDoNotCommandTheTerminal) {
    const std::string title = "\x1b]0;OWNED\a";
    const std::string run = write("esc.toml", "\"\\u001b]0;OWNED\\u0007\" = 1\n");
    const std::string red = directory(title + "red.toml");
    std::filesystem::copy_file(source_dir() + "/sim/scenarios/freeze.toml", red);
    for (const auto& words : {
             std::vector<std::string>{"train", run, "--dir", directory("run")},
             std::vector<std::string>{"sim", red},
         }) {
        Program program(words, folder.path());
        program.wait(seconds(60));
        const std::string text = program.out() + program.err();
        EXPECT_NE(text.find("\\x1b]0;OWNED\\x07"), std::string::npos) << words.front();
        EXPECT_EQ(text.find('\x1b'), std::string::npos) << words.front();
    }
}

/// /dev/null is a file, so no folder can be made below it, whoever asks.
TEST_F(VerbsTest, APlaceThatCannotBeWrittenIsNamedWithItsReason) {
    const auto expect_reason = [&](const std::vector<std::string>& arguments,
                                   const std::string& text) {
        Program program(arguments, folder.path());
        EXPECT_EQ(program.wait(seconds(30)), 1) << program.err();
        const std::string error = program.err();
        EXPECT_NE(error.find("swarm: cannot write /dev/null/" + text), std::string::npos) << error;
        EXPECT_NE(error.find("; a part of the path is a file: "), std::string::npos) << error;
    };
    const std::string oracle =
        write("run.toml", "[run]\nstages = 1\nsteps = 1\n[model]\nkind = \"oracle\"\n");
    expect_reason({"train", oracle, "--dir", "/dev/null/run"}, "run: Not a directory");
    expect_reason({"train", "--single", oracle, "--dir", "/dev/null/run"}, "run: Not a directory");
    expect_reason({"local", oracle, "--dir", "/dev/null/run"}, "run: Not a directory");
    expect_reason(
        {"serve", "--join", "127.0.0.1:1", "--key", "/dev/null/keys/me.pem"},
        "keys: Not a directory"
    );
    expect_reason(
        {"sim", "freeze", "--replay", "1", "--json", "/dev/null/out.json"},
        "out.json: Not a directory"
    );
}

TEST_F(VerbsTest, OnlyAVerbThatNeedsATemporaryFolderMissesIt) {
    struct Unset {
        ~Unset() { ::unsetenv("TMPDIR"); }
    } const unset;

    ASSERT_EQ(::setenv("TMPDIR", "/dev/null/none", 1), 0);
    Program local({"local", "--model", "oracle", "--stages", "1", "--peers", "1"}, folder.path());
    EXPECT_EQ(local.wait(seconds(30)), 1);
    EXPECT_NE(
        local.err().find("swarm: cannot write /dev/null/none/swarm-XXXXXX: Not a directory; "),
        std::string::npos
    ) << local.err();
    EXPECT_NE(local.err().find("in TMPDIR"), std::string::npos) << local.err();
    const std::string nobody = "127.0.0.1:" + std::to_string(free_port());
    for (const std::string verb : {"generate", "serve"}) {
        std::vector<std::string> words{verb, "--join", nobody, "--wait", "300ms"};
        if (verb == "generate") {
            words.emplace_back("Hi");
        }
        Program program(words, folder.path());
        EXPECT_EQ(program.wait(seconds(30)), 4) << verb << ": " << program.err();
    }
    Program directory({"directory", "--listen", "127.0.0.1:0"}, folder.path());
    EXPECT_TRUE(directory.wait_for_text("directory at ", seconds(30))) << directory.err();
}

/// Loading it would cost each start half a second.
TEST_F(VerbsTest, TheProgramItselfLoadsNoLibTorch) {
    const std::string libraries =
        "LD_TRACE_LOADED_OBJECTS=1 " + program_dir() + "/swarm | grep -q ";
    EXPECT_EQ(shell(libraries + "libc.so"), 0);
    EXPECT_NE(shell(libraries + "torch"), 0);
}

TEST_F(VerbsTest, HelpGoesToStdout) {
    Program program({"local", "--help"}, folder.path());
    EXPECT_EQ(program.wait(seconds(30)), 0);
    EXPECT_NE(program.out().find("swarm local --stages"), std::string::npos);
    EXPECT_EQ(program.err(), "");
}

TEST_F(VerbsTest, ABadRunFileIsRejected) {
    expect_refused({"train", directory("missing.toml")}, 3);
    expect_refused({"train", write("torn.toml", "[run\n")}, 3);
    expect_refused({"train", write("unknown.toml", "[run]\nstepz = 3\n")}, 3);
    expect_refused({"local", "--model", "oracle", "--stages", "7"}, 3);
    expect_refused({"local", "--model", "giant"}, 3);
    expect_refused({"local", "--model", "oracle", "--stages", "3", "--peers", "2"}, 3);
    expect_refused({"local", "--model", "demo", "--corpus", directory("missing.txt")}, 3);
    expect_refused({"train", "--resume", "--dir", directory("missing")}, 3);
}

TEST_F(VerbsTest, FlagsOfModeSparseAreRefusedWhereTheyMeanNothing) {
    const std::string file = write("sparse.toml", "model = 'oracle'\n[run]\nmode = 'sparse'\n");
    expect_refused({"train", "--single", "--replicas", "2"}, 3);
    expect_refused({"train", "--single", "--beside-exact", "--dir", directory("exact")}, 2);
    expect_refused({"train", "--single", "--lose-every", "5", "--dir", directory("exact")}, 2);
    expect_refused({"train", "--single", file, "--lose-every", "5", "--replicas", "1"}, 2);
}

TEST_F(VerbsTest, ARunOfModeSparseGoesOnAsIfUninterrupted) {
    const auto train = [&](const std::string& name, std::vector<std::string> more) {
        more.insert(more.begin(), {"train", "--single", "--dir", directory(name)});
        Program program(more, folder.path());
        EXPECT_EQ(program.wait(seconds(60)), 0) << program.err();
        const std::string out = program.out();
        return out.substr(std::min(out.size(), out.rfind("sha256 ")));
    };
    const std::string file =
        write("sparse.toml", "model = 'oracle'\n[run]\nmode = 'sparse'\nsync_every = 3\n");
    const std::string whole = train("whole", {file, "--steps", "12"});
    EXPECT_EQ(whole.rfind("sha256 ", 0), 0U);
    // The learning rate follows the number of steps, so both runs get the same number.
    const std::string cut = directory("cut");
    std::filesystem::create_directories(cut);
    EXPECT_EQ(train("twin", {file, "--steps", "12", "--checkpoint-every", "6"}), whole);
    std::filesystem::rename(directory("twin") + "/checkpoint-0-6", cut + "/checkpoint-0-6");
    std::filesystem::rename(directory("twin") + "/run.toml", cut + "/run.toml");
    EXPECT_EQ(train("cut", {"--resume"}), whole);
}

TEST_F(VerbsTest, ModeSparseShowsItsLossBesideThatOfExactAndItsLosses) {
    Program program(
        {"train",
         "--single",
         "--model",
         "oracle",
         "--mode",
         "sparse",
         "--steps",
         "16",
         "--beside-exact",
         "--lose-every",
         "5",
         "--dir",
         directory("run")},
        folder.path()
    );
    EXPECT_EQ(program.wait(seconds(60)), 0) << program.err();
    for (const char* text :
         {"2 replicas of each stage",
          "step 8: loss ",
          "step 16: loss ",
          "step 5: replica 0 of stage 0 is lost",
          "lost with 3 replicas"}) {
        EXPECT_NE(program.err().find(text), std::string::npos) << program.err();
    }
}

TEST_F(VerbsTest, ABadModelIsRejected) {
    expect_refused({"model", "show", directory("missing.gguf")}, 3);
    expect_refused({"model", "show", write("text.gguf", "once upon a time")}, 3);
    expect_refused({"model", "show", write("cut.gguf", std::string("GGUF\3\0\0\0", 8))}, 3);
    expect_refused({"model", "show", folder.path().string()}, 3);
    expect_refused({"model", "export", write("text.gguf", "GGUF"), directory("out")}, 3);
    expect_refused({"model", "fetch", "giant"}, 3);
    expect_refused({"model", "show", "a.gguf", "--stages", "0"}, 2);
}

TEST_F(VerbsTest, ARunIsNotBegunTwice) {
    const std::vector<std::string> arguments{
        "train", "--single", "--model", "oracle", "--steps", "2", "--dir", directory("run")};
    Program first(arguments, folder.path());
    EXPECT_EQ(first.wait(seconds(30)), 0) << first.err();
    expect_refused(arguments, 3);
    // The folder of `local` has the folder of the run in it, and a run file for --verify.
    const std::string file = write("run.toml", "kept");
    expect_refused({"local", "--model", "oracle", "--dir", folder.path().string()}, 3);
    EXPECT_EQ(read_text(file), "kept");
}

TEST_F(VerbsTest, AnUnreachableCoordinatorEndsTheWait) {
    const std::string nobody = "127.0.0.1:" + std::to_string(free_port());
    Program serve({"serve", "--join", nobody, "--wait", "2s"}, folder.path());
    EXPECT_EQ(serve.wait(seconds(30)), 4) << serve.err();
    EXPECT_NE(serve.err().find(nobody), std::string::npos);
    Program generate({"generate", "--join", nobody, "--wait", "2s", "abc"}, folder.path());
    EXPECT_EQ(generate.wait(seconds(30)), 4) << generate.err();
}

TEST_F(VerbsTest, ABusyPortIsOneLine) {
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    Program first(
        {"train", "--model", "oracle", "--listen", address, "--dir", directory("first")},
        folder.path()
    );
    ASSERT_TRUE(first.wait_for_text("@" + address, seconds(30))) << first.err();
    expect_refused(
        {"train", "--model", "oracle", "--listen", address, "--dir", directory("second")}, 1
    );
}

TEST_F(VerbsTest, CodecsOfAnotherRunThatCannotBeRepeatedAreOneLine) {
    const std::vector<std::string> single{
        "train", "--single", "--model", "oracle", "--steps", "1", "--dir", directory("run")};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), single.begin(), single.end());
        return more;
    };
    expect_refused(with({"--codecs-from", directory("other")}), 3);  // this run names one codec
    expect_refused(with({"--codec", "auto", "--codecs-from", directory("missing")}), 3);
    expect_refused({"train", "--model", "oracle", "--codecs-from", directory("other")}, 2);
    expect_refused(with({"--codec", "int8/zip"}), 3);
    EXPECT_FALSE(std::filesystem::exists(directory("run"))) << "nothing was begun";
}

TEST_F(VerbsTest, AnUnservableDeviceIsRejected) {
    expect_refused(
        {"train",
         "--single",
         "--model",
         "demo",
         "--steps",
         "1",
         "--device",
         "abacus",
         "--corpus",
         write("text.txt", std::string(1000, 'a')),
         "--dir",
         directory("run")},
        3
    );
}

TEST_F(VerbsTest, AStageThatDoesNotFitTheLentMemoryIsOneLine) {
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    Program train(
        {"train", "--model", "oracle", "--listen", address, "--dir", directory("run")},
        folder.path()
    );
    ASSERT_TRUE(train.wait_for_text("swarm serve --join", seconds(30))) << train.err();
    Program serve({"serve", "--join", address, "--memory", "900"}, folder.path());
    EXPECT_EQ(serve.wait(seconds(30)), 3) << serve.err();
    EXPECT_NE(serve.err().find("raise --memory"), std::string::npos) << serve.err();
    expect_refused({"serve", "--join", address, "--memory", "much"}, 2);
}

TEST_F(VerbsTest, AModelThatIsLargerThanTheMachineIsOneLineAndLeavesNoRun) {
    std::ofstream(folder.path() / "big.toml")
        << "[model]\nkind = \"oracle\"\nlayers = 448\nwidth = 268435456\n";
    for (const bool single : {false, true}) {
        std::vector<std::string> words{
            "train", "--dir", directory("big"), (folder.path() / "big.toml").string()};
        if (single) {
            words.insert(words.begin() + 1, "--single");
        }
        Program train(words, folder.path());
        EXPECT_EQ(train.wait(seconds(30)), 3) << train.err();
        EXPECT_NE(train.err().find("MiB for this process"), std::string::npos) << train.err();
        EXPECT_EQ(count_lines(train.err()), 1U) << train.err();
        EXPECT_FALSE(std::filesystem::exists(directory("big") + "/run.toml"));
    }
}

TEST_F(VerbsTest, SignalsEndTheVerbsWithTheirOwnCodes) {
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    Program train(
        {"train",
         "--model",
         "oracle",
         "--stages",
         "2",
         "--listen",
         address,
         "--dir",
         directory("run")},
        folder.path()
    );
    ASSERT_TRUE(train.wait_for_text("swarm serve --join", seconds(30))) << train.err();
    Program serve({"serve", "--join", address, "--listen", "127.0.0.1:0"}, folder.path());
    ASSERT_TRUE(serve.wait_for_text("serving stage", seconds(30))) << serve.err();
    serve.signal(SIGINT);
    EXPECT_EQ(serve.wait(seconds(30)), 130) << serve.err();
    train.signal(SIGTERM);
    EXPECT_EQ(train.wait(seconds(30)), 143) << train.err();
}

TEST_F(VerbsTest, APeerWithAWrongSwarmKeyIsRefused) {
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    Program train(
        {"train",
         "--model",
         "oracle",
         "--swarm-key",
         write_key("key", "a right key of many letters"),
         "--listen",
         address,
         "--dir",
         directory("run")},
        folder.path()
    );
    ASSERT_TRUE(train.wait_for_text("swarm serve --join", seconds(30))) << train.err();
    Program stranger(
        {"serve",
         "--join",
         address,
         "--wait",
         "2s",
         "--swarm-key",
         write_key("other", "a wrong key of many letters")},
        folder.path()
    );
    EXPECT_EQ(stranger.wait(seconds(30)), 4) << stranger.err();
    Program friendly({"serve", "--join", address, "--swarm-key", directory("key")}, folder.path());
    EXPECT_TRUE(friendly.wait_for_text("serving stage", seconds(30))) << friendly.err();
}

}  // namespace
}  // namespace swarm::test
