// Runs that train a part of a model: what is frozen stays, what is trained moves as it would in a
// whole run, and adapters compute what PyPI peft does (tests/golden/families/trained.py).
#include "stacking/models/any_model.hpp"
#include "stacking/models/run_checkpoint.hpp"
#include "stacking/models/training/trained_model.hpp"
#include "stages/files/checkpoint.hpp"
#include "stages/single/single_run.hpp"
#include "stages/torch/make_llama.hpp"
#include "swarm/run/training/trained_part.hpp"
#include "tests/golden/families/written_model.hpp"
#include "tests/places.hpp"
#include "tests/torch/tiny_llama.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <sstream>

namespace {

namespace json = boost::json;
using stages::SingleRun;
using stages::StageState;
using swarm::run::RunConfig;
using swarm::run::StageLayout;

/// The weights of tensors by name, trained and frozen.
using Named = std::map<std::string, std::vector<float>>;

std::unique_ptr<stages::StageCompute> make_llama(const RunConfig& run, const StageLayout& layout) {
    return take(stages::torch_backend::make_llama_compute(run, layout));
}

std::vector<StageState> states_of(const RunConfig& config, const Named& weights) {
    std::vector<StageState> states;
    for (const StageLayout& layout : partition(config)) {
        std::vector<float> trained;
        std::vector<float> frozen;
        for (const auto& tensor : all_tensors(layout)) {
            const std::vector<float>& values = weights.at(tensor.spec->name);
            auto& all = tensor.frozen ? frozen : trained;
            all.insert(all.end(), values.begin(), values.end());
        }
        const std::vector<float> zeros(trained.size());
        states.push_back(StageState::from_tensors(layout, {}, trained, zeros, zeros, frozen));
    }
    return states;
}

Named weights_of(const SingleRun& run) {
    Named all;
    for (std::uint32_t stage = 0; stage < run.stages(); ++stage) {
        const StageState& state = run.state(stage);
        for (const auto& tensor : all_tensors(state.layout())) {
            const auto values = (tensor.frozen ? state.frozen() : state.weights())
                                    .subspan(tensor.begin, tensor.spec->elements());
            all[tensor.spec->name].assign(values.begin(), values.end());
        }
    }
    return all;
}

RunConfig tiny_run(std::uint32_t stages) {
    RunConfig config = tiny_config(stages);
    config.microbatches = 2;
    config.optimizer.warmup_steps = 0;
    config.optimizer.clip_norm = 1e12;
    return config;
}

Named random_tensors(RunConfig config) {
    config.stages = 1;
    config.train.freeze.clear();
    config.lora.rank = 0;
    const std::vector<float> flat = random_weights(config, 3);
    Named weights;
    std::size_t begin = 0;
    const StageLayout layout = partition(config).front();
    for (const auto& tensor : layout.tensors) {
        const auto first = flat.begin() + static_cast<std::ptrdiff_t>(begin);
        weights[tensor.name].assign(first, first + static_cast<std::ptrdiff_t>(tensor.elements()));
        begin += tensor.elements();
    }
    return weights;
}

/// Trains some steps from the given weights.
Named train(const RunConfig& config, const Named& weights, int steps) {
    const swarm::run::Corpus corpus = random_tokens(config, 8, 200);
    SingleRun run(config, make_llama, corpus);
    run.resume(states_of(config, weights));
    for (int i = 0; i < steps; ++i) {
        const auto record = take(run.step());
        EXPECT_EQ(record.counted_once, config.microbatches);
        EXPECT_EQ(record.counted_wrong, 0U);
    }
    return weights_of(run);
}

std::vector<float> logits_of(SingleRun& run, const std::vector<std::uint32_t>& tokens) {
    const auto payload = take(run.infer(tokens));
    std::vector<float> values(payload.bytes().size() / sizeof(float));
    std::memcpy(values.data(), payload.bytes().data(), payload.bytes().size());
    return values;
}

TEST(PartlyTrained, MovesWhatIsTrainedAsAWholeRunDoes) {
    RunConfig whole = tiny_run(1);
    RunConfig part = whole;
    part.train.freeze = {"embed", "layers.0", "norms", "attn"};
    const Named begin = random_tensors(whole);
    const Named all = train(whole, begin, 1);
    const Named some = train(part, begin, 1);
    for (const auto& [name, values] : some) {
        const bool trained = is_trained(part, {name, {}});
        EXPECT_EQ(values == begin.at(name), !trained) << name;
        EXPECT_EQ(values == all.at(name), trained) << name;
    }
}

TEST(PartlyTrained, GivesTheSameBitsForAnySplit) {
    const std::vector<std::vector<std::string>> frozen{
        {"embed"}, {"embed", "layers.0"}, {"layers.1"}, {"head", "layers.2"}, {"attn", "norms"}};
    for (const auto& groups : frozen) {
        RunConfig config = tiny_run(1);
        config.train.freeze = groups;
        const Named begin = random_tensors(config);
        const Named once = train(config, begin, 3);
        for (const std::uint32_t stages : {2U, 3U}) {
            config.stages = stages;
            EXPECT_EQ(train(config, begin, 3), once) << groups.front() << ", " << stages;
        }
    }
}

TEST(PartlyTrained, KeepsATiedMatrixAtBothEnds) {
    RunConfig config = tiny_run(3);
    config.model.tied_embeddings = true;
    config.train.freeze = {"embed", "head"};
    Named begin = random_tensors(config);
    begin["head.weight"] = begin["embed.weight"];
    const Named end = train(config, begin, 2);
    EXPECT_EQ(end.at("embed.weight"), begin.at("embed.weight"));
    EXPECT_EQ(end.at("head.weight"), begin.at("head.weight"));
    EXPECT_NE(end.at("layers.1.mlp.w1"), begin.at("layers.1.mlp.w1"));
}

TEST(Adapters, BeginAsTheModelAndAreMergedWhenItIsOpened) {
    RunConfig config = tiny_run(2);
    config.model.vocabulary = 256;
    config.lora.rank = 3;
    config.lora.alpha = 5;
    config.lora.on = {"attn.wk", "attn.wo", "mlp.w1", "mlp.w3"};
    Named weights = random_tensors(config);
    for (const StageLayout& layout : partition(config)) {
        const StageState fresh = StageState::from_seed(config, layout);
        for (const auto& tensor : all_tensors(layout)) {
            if (!tensor.frozen) {
                const auto values = fresh.weights().subspan(tensor.begin, tensor.spec->elements());
                weights[tensor.spec->name].assign(values.begin(), values.end());
            }
        }
    }
    RunConfig plain = config;
    plain.lora.rank = 0;
    const swarm::run::Corpus corpus = random_tokens(config, 8, 200);
    SingleRun adapted(config, make_llama, corpus);
    adapted.resume(states_of(config, weights));
    SingleRun model(plain, make_llama, corpus);
    model.resume(states_of(plain, weights));
    EXPECT_EQ(take(adapted.step()).loss, take(model.step()).loss);
    for (int i = 0; i < 4; ++i) {
        take(adapted.step());
    }
    const stages::test::ScratchFolder scratch;
    const StageState* const states[] = {&adapted.state(0), &adapted.state(1)};
    const auto folder = take(stages::write_checkpoint(scratch.path(), config, states));
    const auto merged = take(stacking::models::open_run_checkpoint(folder));
    Named of_merged;
    for (const auto& tensor : tensors_of(merged.architecture())) {
        of_merged[tensor.name] = take(merged.read(tensor.name));
    }
    EXPECT_EQ(of_merged.at("layers.0.attn.wq"), weights.at("layers.0.attn.wq"));
    EXPECT_NE(of_merged.at("layers.0.attn.wk"), weights.at("layers.0.attn.wk"));
    const auto tokens = random_tokens(config, 21, config.model.context);
    SingleRun whole(plain, make_llama, corpus);
    whole.resume(states_of(plain, of_merged));
    const std::vector<float> values = logits_of(whole, tokens);
    const std::vector<float> wanted_values = logits_of(adapted, tokens);
    ASSERT_EQ(values.size(), wanted_values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(values[i], wanted_values[i], 1e-5);
    }
}

json::array read_golden(const std::string& name) {
    std::ifstream file(swarm::test::source_dir() + "/tests/golden/families/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return json::parse(text.str()).as_array();
}

json::object entry_of(const std::string& file, std::string_view name) {
    for (const json::value& entry : read_golden(file)) {
        if (entry.as_object().at("name").as_string() == name) {
            return entry.as_object();
        }
    }
    throw std::runtime_error("no entry " + std::string(name));
}

/// "layers.0.attn.wq.lora_a" for peft's name of it.
std::string our_name(const std::string& theirs) {
    const std::size_t at = theirs.find("layers.") + std::string("layers.").size();
    const std::string layer = theirs.substr(at, theirs.find('.', at) - at);
    const bool queries = theirs.find("q_proj") != std::string::npos;
    const bool first = theirs.find("lora_A") != std::string::npos;
    return "layers." + layer + (queries ? ".attn.wq" : ".mlp.w2") + (first ? ".lora_a" : ".lora_b");
}

TEST(Adapters, TrainAsThoseOfPeft) {
    const json::object golden = entry_of("trained.json", "llama-adapters");
    const stages::test::ScratchFolder scratch;
    swarm::golden::write_folder(entry_of("families.json", "llama"), scratch.path() / "model");
    const auto model = take(stacking::models::open_model(scratch.path() / "model"));
    std::vector<std::uint32_t> tokens;
    for (const json::value& token : golden.at("tokens").as_array()) {
        tokens.push_back(token.to_number<std::uint32_t>());
    }
    RunConfig config;
    config.model = take(stacking::models::as_trained(model.architecture()));
    config.model.context = static_cast<std::uint32_t>(tokens.size() - 1);
    config.microbatches = 1;
    config.batch = 1;
    config.optimizer.learning_rate = 1e-3;
    config.optimizer.final_learning_rate = 1e-3;
    config.optimizer.warmup_steps = 0;
    config.optimizer.clip_norm = 1e12;
    config.lora.rank = 4;
    config.lora.alpha = 6;
    config.lora.on = {"attn.wq", "mlp.w2"};
    config.stages = 1;
    Named weights;
    const StageLayout layout = partition(config).front();
    for (const auto& tensor : all_tensors(layout)) {
        std::vector<float>& values = weights[tensor.spec->name];
        if (tensor.frozen) {
            values = take(model.read(tensor.spec->name));
            continue;
        }
        values = swarm::golden::uniform(tensor.spec->name, tensor.spec->elements());
        for (float& value : values) {
            value = 0.5F * (value - 0.5F);
        }
    }
    const StageState state = states_of(config, weights).front();
    const auto compute = make_llama(config, layout);
    compute->use_frozen(state.frozen());
    compute->use_weights(state.weights());
    std::vector<float> gradient(layout.elements());
    const auto outcome = take(compute->forward_tail(nullptr, tokens, gradient));
    EXPECT_NEAR(outcome.loss, golden.at("losses").as_array()[0].to_number<double>(), 1e-4);
    std::map<std::string, std::span<const float>> ours;
    for (const auto& tensor : all_tensors(layout)) {
        if (!tensor.frozen) {
            ours[tensor.spec->name] =
                std::span<const float>(gradient).subspan(tensor.begin, tensor.spec->elements());
        }
    }
    EXPECT_EQ(ours.size(), golden.at("gradients").as_object().size());
    for (const auto& [theirs, numbers] : golden.at("gradients").as_object()) {
        const auto values = ours.at(our_name(std::string(theirs)));
        double squares = 0;
        for (const float value : values) {
            squares += static_cast<double>(value) * value;
        }
        const double norm = numbers.as_array()[0].to_number<double>();
        EXPECT_NEAR(std::sqrt(squares), norm, 1e-4 * norm) << theirs;
        EXPECT_NEAR(values.front(), numbers.as_array()[1].to_number<double>(), 1e-4 * norm);
        EXPECT_NEAR(values.back(), numbers.as_array()[2].to_number<double>(), 1e-4 * norm);
    }
    for (const std::uint32_t stages : {1U, 2U}) {
        config.stages = stages;
        SingleRun run(config, make_llama, tokens);
        run.resume(states_of(config, weights));
        for (const json::value& loss : golden.at("losses").as_array()) {
            EXPECT_NEAR(take(run.step()).loss, loss.to_number<double>(), 1e-3);
        }
    }
}

}  // namespace
