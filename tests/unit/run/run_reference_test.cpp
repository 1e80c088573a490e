#include "swarm/run/run_file/run_reference.hpp"

#include "tests/places.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace swarm::run {
namespace {

struct Row {
    std::string key;  // "run.steps"
    std::string type;
    std::string standard;  // the default value
    std::string allowed;
};

/// The rows of the table without its head.
std::vector<Row> rows() {
    std::istringstream table(run_reference_table());
    std::vector<Row> rows;
    const std::regex row(
        R"(\| `([^`]+)` \| ([^|]+) \| `([^`]*)` \| ([^|]+) \| (?:taken|asks|never) \| [^|]+ \|)"
    );
    for (std::string line; std::getline(table, line);) {
        if (std::smatch found; std::regex_match(line, found, row)) {
            rows.push_back({found[1], found[2], found[3], found[4]});
        }
    }
    return rows;
}

/// The documented file of `config` in which `key` has another value.
std::string with_value(const RunConfig& config, const std::string& key, const std::string& value) {
    const std::size_t dot = key.find('.');
    const std::string header = "[" + key.substr(0, dot) + "]";
    const std::string beginning = key.substr(dot + 1) + " = ";
    std::istringstream file(documented_toml(config));
    std::string text;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
        inside = line.starts_with('[') ? line == header : inside;
        text += inside && line.starts_with(beginning) ? beginning + value : line;
        text += '\n';
    }
    return text;
}

/// A run in which no rule between two keys stands in the way of any allowed value of `key`.
RunConfig surroundings(const std::string& key, const std::string& value) {
    RunConfig run;
    if (key == "run.stages") {
        run.model.layers = 448;
    } else if (key == "run.expert_stages" && value != "1") {
        run.stages = 64;
        run.model.kind = ModelKind::Mixtral;
        run.model.experts = 64;
        run.model.layers = 1;
    } else if (key == "model.layers" || key == "loop.every") {
        run.stages = 1;
    } else if (key == "run.batch" || key == "model.context" || key == "model.width") {
        run.batch = 1;
        run.model.context = 1;
        run.model.heads = 1;
        run.model.kv_heads = 1;
    } else if (key == "model.heads") {
        run.model.kv_heads = 1;
    } else if (key == "run.sync_every" || key == "run.replicas") {
        run.mode = SyncMode::Sparse;
        run.microbatches = 64;
    } else if (key == "run.first_microbatches") {
        run.microbatches = 2048;
        run.grow_steps = 1;
    } else if (value == "\"mixtral\"" || value == "\"qwen3_moe\"") {
        run.model.experts = 2;
    } else if ((key == "model.experts" && value != "0") || key == "model.experts_per_token") {
        run.model.kind = ModelKind::Mixtral;
        run.model.experts = 1024;
        run.stages = 1;
        run.model.layers = 1;
    } else if (key == "optimizer.decay_steps") {
        run.optimizer.schedule = Schedule::Wsd;
    } else if (key == "paths.skip_every" || key == "paths.twice_every") {
        run.paths.layers = {0};
    } else if (key == "optimizer.warmup_tokens") {
        run.optimizer.warmup_steps = 0;
    }
    return run;
}

void expect_taken(const std::string& key, const std::string& value) {
    const auto run = parse_run(with_value(surroundings(key, value), key, value), "run.toml");
    EXPECT_TRUE(run.has_value()) << key << " = " << value << ": " << run.error().detail;
}

void expect_refused(const std::string& key, const std::string& value) {
    const auto run = parse_run(with_value(surroundings(key, value), key, value), "run.toml");
    ASSERT_TRUE(run.has_error()) << key << " = " << value;
    // TOML itself has no integer above 2^63 - 1.
    const bool is_no_integer = value == "9223372036854775808";
    EXPECT_TRUE(is_no_integer || run.error().detail.find(key + " ") != std::string::npos)
        << key << " = " << value << ": " << run.error().detail;
}

void try_whole_numbers(const Row& row, std::uint64_t low, std::uint64_t high) {
    expect_taken(row.key, std::to_string(low));
    expect_taken(row.key, std::to_string(high));
    expect_refused(row.key, low == 0 ? "-1" : std::to_string(low - 1));
    expect_refused(row.key, std::to_string(high + 1));
}

std::string toml_number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

void try_numbers(const Row& row, double low, double high) {
    expect_taken(row.key, toml_number(low));
    expect_taken(row.key, toml_number(high));
    expect_refused(row.key, toml_number(low > 0 ? std::nextafter(low, 0.0) : -1e-300));
    expect_refused(row.key, toml_number(std::nextafter(high, 2 * high)));
    expect_refused(row.key, "nan");
}

/// The number, or the value that the named key has by default.
std::uint64_t whole_number(const std::string& text) {
    static const std::map<std::string, std::uint64_t> kKeys = {
        {"model.heads", ModelConfig{}.heads},
        {"model.width / 2", ModelConfig{}.width / 2},
        {"model.width - 1", ModelConfig{}.width - 1}};
    const auto found = kKeys.find(text);
    return found == kKeys.end() ? std::stoull(text) : found->second;
}

TEST(RunReference, TheTableOfTheReadmeIsUpToDate) {
    const std::string path = test::source_dir() + "/swarm/run/README.md";
    std::ifstream file(path);
    std::stringstream readme;
    readme << file.rdbuf();
    const std::string text = readme.str();
    const std::string begin = "<!-- run_reference_table() -->\n";
    const std::string end = "<!-- end -->\n";
    const std::size_t from = text.find(begin);
    const std::size_t to = text.find(end);
    ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to) << path;
    const std::size_t table = from + begin.size();
    EXPECT_EQ(text.substr(table, to - table), run_reference_table())
        << "Put this text between the markers of " << path << ":\n"
        << run_reference_table();
}

TEST(RunReference, TheNamedRangesAreThoseThatAreChecked) {
    const std::regex range(R"(([^ ]+) to (below )?(.+))");
    std::size_t tried = 0;
    for (const Row& row : rows()) {
        std::smatch found;
        if (row.type == "whole number") {
            ASSERT_TRUE(std::regex_match(row.allowed, found, range)) << row.key;
            try_whole_numbers(row, std::stoull(found[1]), whole_number(found[3]));
            ++tried;
        } else if (row.type == "number") {
            ASSERT_TRUE(std::regex_match(row.allowed, found, range)) << row.key;
            const double high = std::stod(found[3]);
            if (found[2].matched) {
                try_numbers(row, std::stod(found[1]), std::nextafter(high, 0.0));
            } else {
                try_numbers(row, std::stod(found[1]), high);
            }
            ++tried;
        }
    }
    EXPECT_EQ(tried, 58U);
}

TEST(RunReference, TheNamedValuesAreTaken) {
    const std::regex name(R"("[^"]+")");
    std::size_t tried = 0;
    for (const Row& row : rows()) {
        for (auto at = std::sregex_iterator(row.allowed.begin(), row.allowed.end(), name);
             at != std::sregex_iterator();
             ++at, ++tried) {
            // A documented file names the vocabulary, which belongs to the tokenizer.
            if (row.key == "run.tokenizer") {
                const std::string text = "[run]\ninit = \"base\"\ntokenizer = " + at->str() + "\n";
                EXPECT_TRUE(parse_run(text, "run.toml").has_value()) << text;
            } else {
                expect_taken(row.key, at->str());
            }
        }
        if (row.type == "name") {
            expect_refused(row.key, "\"nonsense\"");
            expect_refused(row.key, "3");
        }
    }
    EXPECT_GT(tried, 20U);
}

TEST(RunReference, TheDefaultsAreThoseOfAnEmptyFile) {
    const RunConfig nothing_said;
    for (const Row& row : rows()) {
        EXPECT_EQ(
            to_toml(*parse_run(with_value(RunConfig{}, row.key, row.standard), "run.toml")),
            to_toml(nothing_said)
        ) << row.key;
    }
}

TEST(DocumentedToml, ParsesBackToAnEqualRun) {
    RunConfig oracle;
    oracle.model = *named_model("oracle");
    oracle.name = "counted";
    RunConfig sparse;
    sparse.mode = SyncMode::Sparse;
    sparse.sync_every = 4;
    sparse.replicas = 3;
    sparse.optimizer.learning_rate = 1.0 / 3.0;
    sparse.layers_per_stage = {1, 2, 3};
    RunConfig text;
    text.tokenizer = "spm:2000";
    text.tokenizer_sha256 = std::string(64, 'a');
    text.corpus = "a \"quoted\" \\ path\n\t\xC3\xA9.txt";
    follow_tokenizer(text);
    RunConfig resting;
    resting.optimizer.schedule = Schedule::Wsd;
    resting.optimizer.decay_steps = 5;
    resting.optimizer.warmup_steps = 0;
    resting.optimizer.warmup_tokens = 30'000;
    for (const RunConfig& config : {RunConfig{}, oracle, sparse, text, resting}) {
        const auto back = parse_run(documented_toml(config), "run.toml");
        ASSERT_TRUE(back.has_value()) << back.error().detail;
        EXPECT_EQ(to_toml(*back), to_toml(config));
    }
}

TEST(DocumentedToml, SaysOfEachKeyItsDefaultAndItsRange) {
    RunConfig config;
    config.steps = 7;
    const std::string text = documented_toml(config);
    EXPECT_NE(
        text.find("\n# Default: 60. Allowed: 1 to 1000000000.\nsteps = 7\n"), std::string::npos
    ) << text;
}

}  // namespace
}  // namespace swarm::run
