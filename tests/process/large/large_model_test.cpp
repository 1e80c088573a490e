// A model with the shape of Llama-3.2-1B, as bf16 and as Q4_K, answers from three peers on this
// machine, each with as much memory as `swarm model show` says. random_model.py writes the files.
#include "tests/places.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr seconds kPatience{600};
constexpr seconds kIdle{30};
constexpr std::uint32_t kStages = 3;
constexpr std::uint64_t kTokens = 32;

/// Memory of a peer beside its weights: the program itself, its KV pages in use, and buffers.
constexpr double kProgramBytes = 40e6;

class LargeModelTest : public testing::Test {
 protected:
    std::string write_model(const std::string& kind, const std::string& name) {
        const std::string path = (folder.path() / name).string();
        const std::string command =
            "python3 " + source_dir() + "/tests/process/large/random_model.py " + kind + " " + path;
        EXPECT_EQ(std::system(command.c_str()), 0) << command;
        return path;
    }

    std::filesystem::path place(const std::string& name) {
        std::filesystem::create_directory(folder.path() / name);
        return folder.path() / name;
    }

    json::object run(std::vector<std::string> arguments) {
        const std::string file = (folder.path() / "out.json").string();
        arguments.insert(arguments.end(), {"--json", file});
        Program program(arguments, folder.path());
        EXPECT_EQ(program.wait(kPatience), 0) << program.err();
        return json::parse(read_text(file)).as_object();
    }

    /// Returns the memory of a peer, which gives free memory back when nobody has asked for a
    /// while: as soon as it is at most `bytes` beside the program, or after kIdle.
    static double settled_bytes(Program& peer, double bytes) {
        const auto end = std::chrono::steady_clock::now() + kIdle;
        double used = 0;
        do {
            used = static_cast<double>(peer.memory_bytes());
        } while (used - kProgramBytes > bytes && std::chrono::steady_clock::now() < end &&
                 !peer.wait_for_text("a line that no peer writes", std::chrono::milliseconds(500)));
        return used;
    }

    /// Starts a directory and a peer for each stage, and asks them.
    void serve(const std::string& model, const std::string& weights, const char* bytes_key) {
        const json::object shown =
            run({"model", "show", model, "--stages", std::to_string(kStages)});
        const std::string address = "127.0.0.1:" + std::to_string(free_port());
        Program directory({"directory", "--listen", address}, place("directory"));
        ASSERT_TRUE(directory.wait_for_text("directory at " + address, kPatience))
            << directory.err();
        std::vector<std::unique_ptr<Program>> peers;
        for (std::uint32_t stage = 0; stage < kStages; ++stage) {
            const json::object& wanted = shown.at("stages").as_array()[stage].as_object();
            const std::uint64_t first = wanted.at("first_layer").to_number<std::uint64_t>();
            const std::uint64_t last = first + wanted.at("layers").to_number<std::uint64_t>() - 1;
            peers.push_back(std::make_unique<Program>(
                std::vector<std::string>{
                    "serve",
                    "--model",
                    model,
                    "--weights",
                    weights,
                    "--layers",
                    std::to_string(first) + "-" + std::to_string(last),
                    "--join",
                    address,
                    "--listen",
                    "127.0.0.1:0"},
                place("peer" + std::to_string(stage))
            ));
        }
        const json::object answer = run(
            {"generate",
             "--model",
             model,
             "--join",
             address,
             "--wait",
             "300s",
             "--prompt",
             "Once",
             "--raw",
             "--ignore-eos",
             "--tokens",
             std::to_string(kTokens)}
        );
        EXPECT_EQ(answer.at("ids").as_array().size(), kTokens);
        const double speed = answer.at("decode_tokens_per_s").to_number<double>();
        std::printf("decode_tokens_per_s %.2f\n", speed);
        for (std::uint32_t stage = 0; stage < kStages; ++stage) {
            const json::object& of_stage = shown.at("stages").as_array()[stage].as_object();
            const double wanted = of_stage.at(bytes_key).to_number<double>();
            const double used = settled_bytes(*peers[stage], 1.1 * wanted) - kProgramBytes;
            std::printf("stage %u: %.1f MB shown, ", stage, wanted / 1e6);
            std::printf("%.1f MB used\n", used / 1e6);
            EXPECT_NEAR(used / wanted, 1, 0.1);
        }
    }

    TemporaryFolder folder;
};

TEST_F(LargeModelTest, AsBf16) {
    serve(write_model("bf16", "model"), "bf16", "file_bytes");
}

TEST_F(LargeModelTest, AsQ4K) {
    serve(write_model("q4_k", "model.gguf"), "as-is", "file_bytes");
}

}  // namespace
}  // namespace swarm::test
