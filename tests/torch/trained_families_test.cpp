// Models of each family that is trained, beside transformers and torch.optim.AdamW: the loss, the
// gradients of all tensors, and 20 steps. tests/golden/families/trained.py wrote the numbers.
#include "stacking/models/any_model.hpp"
#include "stacking/models/tensor_names.hpp"
#include "stacking/models/training/trained_model.hpp"
#include "stages/single/single_run.hpp"
#include "stages/torch/make_llama.hpp"
#include "swarm/run/partition.hpp"
#include "tests/golden/families/written_model.hpp"
#include "tests/places.hpp"
#include "tests/torch/tiny_llama.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

namespace {

namespace json = boost::json;
using stacking::models::ModelSource;
using swarm::run::RunConfig;

json::array read_golden(const char* name) {
    std::ifstream file(swarm::test::source_dir() + "/tests/golden/families/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return json::parse(text.str()).as_array();
}

const json::object& entry_of(const json::array& all, std::string_view name) {
    for (const json::value& entry : all) {
        if (entry.as_object().at("name").as_string() == name) {
            return entry.as_object();
        }
    }
    throw std::runtime_error("no entry " + std::string(name));
}

/// A run that begins with the model and reads one sequence again and again.
RunConfig run_of(const ModelSource& model, std::size_t tokens, std::uint32_t stages) {
    RunConfig config;
    config.model = take(stacking::models::as_trained(model.architecture()));
    config.model.context = static_cast<std::uint32_t>(tokens - 1);
    config.stages = stages;
    config.microbatches = 1;
    config.batch = 1;
    config.optimizer.learning_rate = 1e-3;
    config.optimizer.final_learning_rate = 1e-3;
    config.optimizer.warmup_steps = 0;
    config.optimizer.clip_norm = 1e12;
    const auto checked = check_run(config);
    EXPECT_TRUE(checked.has_value()) << checked.error().detail;
    return config;
}

std::vector<float> weights_of(const ModelSource& model, const RunConfig& config) {
    std::vector<float> all;
    for (const auto& layout : swarm::run::partition(config)) {
        const std::vector<float> part = take(model.read_stage(layout));
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

/// The gradient by the names of Hugging Face; both uses of a tied matrix are one there.
std::map<std::string, std::vector<double>> by_their_names(
    const std::vector<float>& gradient, const RunConfig& config, const ModelSource& model
) {
    std::map<std::string, std::vector<double>> named;
    std::size_t begin = 0;
    for (const auto& layout : swarm::run::partition(config)) {
        for (swarm::run::TensorSpec tensor : layout.tensors) {
            const std::size_t count = tensor.elements();
            if (config.model.tied_embeddings && tensor.name == swarm::run::kHeadTensor) {
                tensor.name = swarm::run::kEmbeddingTensor;
            }
            auto& sum =
                named[place_of(tensor, model.architecture(), stacking::models::Naming::HuggingFace)
                          .name];
            sum.resize(count);
            for (std::size_t i = 0; i < count; ++i) {
                sum[i] += gradient[begin + i];
            }
            begin += count;
        }
    }
    return named;
}

std::vector<stages::StageState> states_of(const ModelSource& model, const RunConfig& config) {
    std::vector<stages::StageState> states;
    for (const auto& layout : swarm::run::partition(config)) {
        std::vector<float> weights = take(model.read_stage(layout));
        const std::size_t count = weights.size();
        states.push_back(stages::StageState::from_tensors(
            layout, {}, std::move(weights), std::vector<float>(count), std::vector<float>(count)
        ));
    }
    return states;
}

class TrainedFamilies : public testing::TestWithParam<const char*> {
 protected:
    void SetUp() override {
        const json::array families = read_golden("families.json");
        golden_ = entry_of(read_golden("trained.json"), GetParam());
        swarm::golden::write_folder(entry_of(families, GetParam()), scratch_.path() / "model");
        for (const json::value& token : golden_.at("tokens").as_array()) {
            tokens_.push_back(token.to_number<std::uint32_t>());
        }
    }

    ModelSource open() const {
        return take(stacking::models::open_model(scratch_.path() / "model"));
    }

    stages::test::ScratchFolder scratch_;
    json::object golden_;
    std::vector<std::uint32_t> tokens_;
};

TEST_P(TrainedFamilies, HaveTheGradientsOfTransformers) {
    const ModelSource model = open();
    const RunConfig config = run_of(model, tokens_.size(), 3);
    const std::vector<float> weights = weights_of(model, config);
    const Chain::Outcome outcome = Chain(config, weights).train(tokens_);
    EXPECT_NEAR(outcome.loss, golden_.at("losses").as_array()[0].to_number<double>(), 1e-4);
    const auto ours = by_their_names(outcome.gradient, config, model);
    const json::object& theirs = golden_.at("gradients").as_object();
    EXPECT_EQ(ours.size(), theirs.size());
    for (const auto& [name, numbers] : theirs) {
        const auto found = ours.find(std::string(name));
        ASSERT_NE(found, ours.end()) << name;
        double squares = 0;
        for (const double value : found->second) {
            squares += value * value;
        }
        const json::array& wanted = numbers.as_array();
        const double norm = wanted[0].to_number<double>();
        if (norm == 0) {  // an expert that no token chose
            EXPECT_EQ(squares, 0) << name;
            continue;
        }
        EXPECT_GT(norm, 1e-4) << name << ": the comparison would miss a gradient of 0";
        EXPECT_NEAR(std::sqrt(squares), norm, 1e-4 * norm) << name;
        EXPECT_NEAR(found->second.front(), wanted[1].to_number<double>(), 1e-4 * norm) << name;
        EXPECT_NEAR(found->second.back(), wanted[2].to_number<double>(), 1e-4 * norm) << name;
    }
}

TEST_P(TrainedFamilies, StepAsAdamWOfTorchDoes) {
    const ModelSource model = open();
    for (const std::uint32_t stages : {1U, 2U}) {
        const RunConfig config = run_of(model, tokens_.size(), stages);
        const auto make = [](const RunConfig& run, const swarm::run::StageLayout& layout) {
            return take(stages::torch_backend::make_llama_compute(run, layout));
        };
        stages::SingleRun run(config, make, tokens_);
        run.resume(states_of(model, config));
        for (const json::value& loss : golden_.at("losses").as_array()) {
            EXPECT_NEAR(take(run.step()).loss, loss.to_number<double>(), 1e-3);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    All,
    TrainedFamilies,
    testing::Values(
        "llama",
        "llama-tied-one-group",
        "llama3-rope",
        "linear-rope",
        "llama-wide-heads",
        "mistral",
        "qwen2",
        "qwen3",
        "mixtral",
        "qwen3-moe"
    ),
    [](const auto& chosen) {
        std::string name = chosen.param;
        for (char& letter : name) {
            letter = letter == '-' ? '_' : letter;
        }
        return name;
    }
);

}  // namespace
