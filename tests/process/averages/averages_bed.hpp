// Runs of small models in a folder, and what a person does with them below `swarm stack`: the base
// of the tests in this folder. AveragesBed has three runs that began with one model.
#pragma once

#include "tests/places.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace swarm::test {

inline constexpr int kMisunderstood = 2;
inline constexpr int kRefused = 3;
inline constexpr const char* kTwoLayers = "layers = 2\nwidth = 32\n";

class StackBed : public testing::Test {
 protected:
    /// Trains a base and two runs that go on from it.
    void train_three(const std::string& shape) {
        write(
            "words.txt", repeated("it is a truth universally acknowledged that a man must want ")
        );
        write("held.txt", repeated("a man must want a truth acknowledged ").substr(0, 900));
        train("base", "", 30, "words.txt", shape);
        write("a.txt", repeated("a man must acknowledge that it is a universal want "));
        write("b.txt", repeated("universally a truth must want a man "));
        train("a", "base", 20, "a.txt");
        train("b", "base", 20, "b.txt");
    }

    static std::string repeated(const std::string& words) {
        std::string text;
        while (text.size() < 20'000) {
            text += words;
        }
        return text;
    }

    /// Enough different words for a tokenizer. `vowels`: those that they are made with.
    static std::string syllables(const std::string& vowels) {
        const std::string consonants = "bdfgklmnprst";
        std::string text;
        for (std::size_t i = 0; i < 4000; ++i) {
            for (const std::size_t k : {i, i / 7, i / 5}) {
                text += consonants[k % consonants.size()];
                text += vowels[(k / 3) % vowels.size()];
            }
            text += i % 9 == 0 ? ".\n" : " ";
        }
        return text;
    }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(file(name)) << text;
    }

    /// `shape`: lines of the table [model]; empty with an `init`.
    void train(
        const std::string& name,
        const std::string& init,
        int steps,
        const std::string& corpus = "words.txt",
        const std::string& shape = kTwoLayers,
        const std::string& tokenizer = "bytes"
    ) {
        const std::string begins =
            init.empty() ? "tokenizer = \"" + tokenizer + "\"\n" : "init = \"" + init + "\"\n";
        write(
            name + ".toml",
            "[run]\nname = \"" + name + "\"\nstages = 1\nsteps = " + std::to_string(steps) +
                "\nmicrobatches = 4\nbatch = 4\ncorpus = \"" + file(corpus) + "\"\n" + begins +
                "[model]\ncontext = 64\n" +
                (init.empty() ? shape + "heads = 2\nkv_heads = 2\nffn_width = 64\n" : "") +
                "[optimizer]\nlearning_rate = 0.01\nwarmup_steps = 0\n"
        );
        ASSERT_EQ(run({"train", "--single", file(name + ".toml"), "--dir", file(name)}), 0) << err;
    }

    int run(
        const std::vector<std::string>& arguments,
        std::chrono::seconds patience = std::chrono::seconds(60)
    ) {
        Program program(arguments, folder.path());
        const int exit_code = program.wait(patience);
        out = program.out();
        err = program.err();
        return exit_code;
    }

    int average(std::vector<std::string> more) {
        more.insert(more.begin(), {"stack", "average"});
        return run(more);
    }

    /// Expects one line with both texts, and nothing at the place of the folder.
    void expect_refused(
        const std::vector<std::string>& arguments, const std::string& one, const std::string& other
    ) {
        EXPECT_EQ(run(arguments), kRefused) << err;
        EXPECT_EQ(count_lines(err), 1U) << err;
        EXPECT_NE(err.find(one), std::string::npos) << err;
        EXPECT_NE(err.find(other), std::string::npos) << err;
        expect_nothing_at("out");
    }

    void expect_nothing_at(const std::string& name) const {
        EXPECT_FALSE(std::filesystem::exists(file(name)));
        EXPECT_FALSE(std::filesystem::exists(file("." + name + ".draft")));
    }

    /// All files of two folders are equal.
    void expect_same_folder(const std::string& one, const std::string& other) const {
        std::size_t files = 0;
        for (const auto& entry : std::filesystem::directory_iterator(file(one))) {
            const std::string name = entry.path().filename().string();
            EXPECT_EQ(read_text(entry.path()), read_text(std::filesystem::path(file(other)) / name))
                << name;
            ++files;
        }
        EXPECT_GE(files, 4U);
        EXPECT_EQ(
            std::distance(std::filesystem::directory_iterator(file(other)), {}),
            std::ptrdiff_t(files)
        );
    }

    double loss_of(const std::string& model) {
        const std::vector<std::string> asked{
            "eval", model, "--text", file("held.txt"), "--json", file("eval.json")};
        EXPECT_EQ(run(asked), 0) << err;
        const boost::json::object report =
            boost::json::parse(read_text(file("eval.json"))).as_object();
        return report.at("all").at("loss").to_number<double>();
    }

    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder.path() / name).string();
    }

    TemporaryFolder folder;
    std::string out;
    std::string err;
};

class AveragesBed : public StackBed {
 protected:
    void SetUp() override { train_three(kTwoLayers); }
};

}  // namespace swarm::test
