// A power cut after every system call of `swarm train` that changes its disk: --resume goes on with
// all that was promised, or says that there is nothing to resume because nothing was.
// A promise is a line on stderr: who has read that a step is committed or a checkpoint is written
// finds it. The folders that a cut may leave are read by the classes of `swarm train --resume` in
// this process, and some of them by the program itself.
// SWARM_POWER_CUT_DRAWS sets how many cuts are drawn after each call; ./swarm.sh test --long draws
// 200.
#include "stages/files/checkpoint.hpp"
#include "swarm/cli/train/run_directory.hpp"
#include "swarm/net/identity.hpp"
#include "tests/places.hpp"
#include "tests/process/power_cut/disk_model.hpp"
#include "tests/process/train_bed.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr const char* kRunBelowRoot = "new/runs/first";
constexpr std::uint64_t kCheckpointEvery = 2;
constexpr const char* kSteps = "5";
constexpr const char* kNothing = "nothing to resume";

/// The promises of the lines on stderr so far.
struct Promise {
    bool begun = false;              // the run can be gone on with
    std::uint64_t steps = 0;         // committed steps, with peers
    std::uint64_t checkpoint = 0;    // step of the newest one; 0: there is none
    std::optional<PeerId> identity;  // peers may have heard it

    auto operator<=>(const Promise&) const = default;
};

/// Returns the largest number that follows `mark`; 0 where there is none.
std::uint64_t largest_after(const std::string& text, const std::string& mark) {
    std::uint64_t largest = 0;
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
        std::uint64_t number = 0;
        const char* const begin = text.data() + at + mark.size();
        std::from_chars(begin, text.data() + text.size(), number);
        largest = std::max(largest, number);
    }
    return largest;
}

/// The promise of a run in one process follows from its lines alone: the line of a step comes
/// after the checkpoint of the step before.
Promise promise_of_single(const std::string& said) {
    const std::uint64_t step = largest_after(said, "step ");
    const std::uint64_t before = step > 0 ? step - 1 : 0;
    return {step > 0, 0, before - before % kCheckpointEvery, {}};
}

Promise promise_of_coordinator(const std::string& said, const PeerId& identity) {
    Promise promise;
    if (said.find("waiting for") != std::string::npos) {
        promise = {true, 0, 0, identity};
    }
    promise.steps = largest_after(said, "step ");
    promise.checkpoint = largest_after(said, "checkpoint-0-");
    return promise;
}

std::uint64_t draws_per_call() {
    const char* const text = std::getenv("SWARM_POWER_CUT_DRAWS");
    return text ? std::strtoull(text, nullptr, 10) : 4;
}

std::vector<Cut> cuts_after(std::size_t call) {
    std::vector<Cut> cuts{
        {Names::Lost, Contents::Lost, 0},
        {Names::Lost, Contents::Kept, 0},
        {Names::Kept, Contents::Lost, 0},
        {Names::Kept, Contents::Kept, 0},
        {Names::Kept, Contents::Halved, 0},
        {Names::Kept, Contents::Zeros, 0}};
    const std::uint64_t draws = draws_per_call();
    for (std::uint64_t draw = 0; draw < draws; ++draw) {
        cuts.push_back({Names::Drawn, Contents::Drawn, draws * call + draw});
    }
    return cuts;
}

/// Does what `swarm train --resume` does before it trains. Returns what is wrong; empty: nothing.
std::string trouble_in(const fs::path& root, const Promise& promise, bool single) {
    cli::TrainOptions options;
    options.directory = (root / kRunBelowRoot).string();
    options.resume = true;
    options.single = single;
    auto opened = cli::open_run_directory(options);
    if (!opened) {
        const std::string& text = opened.error().detail;
        const bool is_nothing = text.find(kNothing) != std::string::npos;
        return is_nothing && !promise.begun ? "" : text;
    }
    const auto text = cli::load_run_text(*opened, options);
    if (!text) {
        return text.error().detail;
    }
    if (const auto settled = cli::settle_changes(*opened, options); !settled) {
        return settled.error().detail;
    }
    if (const auto written = cli::write_run_files(*opened); !written) {
        return written.error().detail;
    }
    const std::uint64_t checkpoint = opened->progress.checkpoint.value_or(0);
    if (checkpoint < promise.checkpoint) {
        return "the checkpoint of step " + std::to_string(promise.checkpoint) + " is lost";
    }
    if (opened->progress.steps < promise.steps) {
        return "step " + std::to_string(promise.steps) + " is lost";
    }
    if (promise.identity) {
        const auto identity =
            net::Identity::load_or_create(fs::path(options.directory) / "key.pem");
        if (!identity) {
            return identity.error().detail;
        }
        return identity->peer() == *promise.identity ? "" : "the run has another identity";
    }
    return "";
}

class PowerCut : public TrainBed {
 protected:
    PowerCut() {
        fs::create_directories(root);
        directory = root / kRunBelowRoot;
        std::ofstream(folder.path() / "two-layers.toml")
            << "[run]\nstages = 2\nsteps = " << kSteps
            << "\nmicrobatches = 2\nmin_peers = 2\ncheckpoint_every = " << kCheckpointEvery
            << "\ncheckpoint_keep = 1\n[model]\nkind = \"oracle\"\nlayers = 2\n";
    }

    /// Starts `train` so that its calls are recorded.
    std::unique_ptr<Program> start_recorded(const std::vector<std::string>& more) {
        std::vector<std::string> arguments = train(more);
        arguments.insert(arguments.begin() + 1, (folder.path() / "two-layers.toml").string());
        const std::string recorder = program_dir() + "/libpower_cut_recorder.so";
        EXPECT_TRUE(fs::exists(recorder)) << recorder;
        ::setenv("LD_PRELOAD", recorder.c_str(), 1);
        ::setenv(kRecordFileVariable, record.c_str(), 1);
        ::setenv(kRecordRootVariable, root.c_str(), 1);
        auto program = std::make_unique<Program>(arguments, folder.path());
        ::unsetenv("LD_PRELOAD");
        ::unsetenv(kRecordFileVariable);
        ::unsetenv(kRecordRootVariable);
        return program;
    }

    /// Takes the calls that were recorded. They give the folder that is there: none is missing.
    void take_record() {
        calls = read_record(record);
        DiskModel disk(root);
        for (const RecordedCall& call : calls) {
            disk.apply(call);
        }
        ASSERT_EQ(disk.now(), read_tree(root)) << "a call was not recorded";
    }

    /// Reads what each cut after each call may leave. `promise_of` reads the lines until then.
    template <class PromiseOf>
    void expect_resumes_after_every_call(bool single, const PromiseOf& promise_of) {
        DiskModel disk(root);
        std::string said;
        std::set<std::pair<Tree, Promise>> seen;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            disk.apply(calls[i]);
            said += calls[i].kind == CallKind::Say ? calls[i].data : "";
            const Promise promise = promise_of(said);
            for (const Cut& cut : cuts_after(i)) {
                const Tree tree = disk.after(cut);
                if (!seen.emplace(tree, promise).second) {
                    continue;
                }
                const TemporaryFolder found;
                make_tree(tree, found.path());
                ASSERT_EQ(trouble_in(found.path(), promise, single), "")
                    << "after call " << i << " of " << calls.size() << ", "
                    << static_cast<int>(calls[i].kind) << " " << calls[i].path << "; names "
                    << static_cast<int>(cut.names) << ", contents "
                    << static_cast<int>(cut.contents) << ", seed " << cut.seed;
            }
        }
        RecordProperty("cuts", static_cast<int>(seen.size()));
        EXPECT_GT(seen.size(), calls.size() / 4) << "the cuts hardly differ";
    }

    fs::path root = folder.path() / "disk";
    fs::path record = folder.path() / "calls";
    std::vector<RecordedCall> calls;
};

TEST_F(PowerCut, AfterEveryCallARunInOneProcessGoesOn) {
    const auto program = start_recorded({"--single"});
    ASSERT_EQ(program->wait(seconds(60)), 0) << program->err();
    take_record();
    expect_resumes_after_every_call(true, promise_of_single);
}

TEST_F(PowerCut, AfterEveryCallARunWithPeersGoesOn) {
    const auto program = start_recorded({});
    start_peers(2, "0");
    ASSERT_EQ(program->wait(seconds(60)), 0) << program->err();
    take_record();
    const auto identity = net::Identity::load_or_create(directory / "key.pem");
    ASSERT_TRUE(identity.has_value());
    expect_resumes_after_every_call(false, [&](const std::string& said) {
        return promise_of_coordinator(said, identity->peer());
    });
}

/// The program itself ends the run with the weights of a run without a cut.
TEST_F(PowerCut, TheProgramGoesOnToTheEnd) {
    const auto program = start_recorded({"--single"});
    ASSERT_EQ(program->wait(seconds(60)), 0) << program->err();
    take_record();
    DiskModel disk(root);
    std::size_t resumed = 0;
    constexpr std::size_t kPrograms = 8;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        disk.apply(calls[i]);
        if (i % (calls.size() / kPrograms) != 0) {
            continue;
        }
        const TemporaryFolder found;
        make_tree(disk.after({Names::Lost, Contents::Lost, 0}), found.path());
        Program again(
            {"train", "--single", "--resume", "--dir", (found.path() / kRunBelowRoot).string()},
            folder.path()
        );
        const int code = again.wait(seconds(60));
        if (again.err().find(kNothing) != std::string::npos) {
            EXPECT_EQ(code, 3) << again.err();
            continue;
        }
        ++resumed;
        EXPECT_EQ(code, 0) << "after call " << i << ": " << again.err();
        // Where no step is left to train, the hash is on stderr.
        EXPECT_NE((again.out() + again.err()).find(weights_of(*program)), std::string::npos)
            << again.err();
    }
    EXPECT_GE(resumed, kPrograms / 2);
}

}  // namespace
}  // namespace swarm::test
