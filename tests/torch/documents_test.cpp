// Documents that stand one behind the other in a row: with train.separate_documents a document is
// computed as if it were alone, whatever stands beside it and however the model is split.
#include "stages/torch/document_mask.hpp"
#include "stages/torch/llama_model.hpp"
#include "stages/torch/make_llama.hpp"
#include "tests/torch/tiny_llama.hpp"

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <cstdint>
#include <limits>
#include <string>
#include <torch/csrc/autograd/autograd.h>
#include <utility>
#include <vector>

using at::Tensor;
using stages::torch_backend::document_mask;
using stages::torch_backend::LlamaModel;
using swarm::run::RunConfig;

namespace {

constexpr std::uint32_t kEnd = 9;
constexpr double kTolerance = 1e-5;

Tensor ids_of(const std::vector<std::int64_t>& ids) {
    return at::tensor(ids, at::kLong).unsqueeze(0);
}

/// "1.. 11. ..1": row i has a 1 for each position that position i sees.
std::string seen_of(const std::vector<std::int64_t>& ids) {
    const Tensor mask = document_mask(ids_of(ids), kEnd);
    const auto length = static_cast<std::int64_t>(ids.size());
    EXPECT_EQ(mask.sizes(), at::IntArrayRef({1, 1, length, length}));
    const float* const values = mask.const_data_ptr<float>();
    std::string text;
    for (std::int64_t i = 0; i < length; ++i) {
        text += i == 0 ? "" : " ";
        for (std::int64_t j = 0; j < length; ++j) {
            const float value = values[i * length + j];
            EXPECT_TRUE(value == 0 || value == -std::numeric_limits<float>::infinity());
            text += value == 0 ? '1' : '.';
        }
    }
    return text;
}

RunConfig packed_config(std::uint32_t stages = 1) {
    RunConfig config = tiny_config(stages);
    config.train.separate_documents = true;
    config.train.document_end = {kEnd};
    return config;
}

/// A model whose weights ask for gradients.
LlamaModel model_of(const RunConfig& config) {
    const auto layout = whole_layout(config);
    LlamaModel model(config, layout, at::kCPU);
    const std::vector<float> flat = random_weights(config, 1);
    std::vector<Tensor> weights;
    std::size_t begin = 0;
    for (const auto& tensor : layout.tensors) {
        const auto first = flat.begin() + static_cast<std::ptrdiff_t>(begin);
        const std::vector<float> own(first, first + static_cast<std::ptrdiff_t>(tensor.elements()));
        const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
        weights.push_back(at::tensor(own, at::kFloat).view(shape).requires_grad_(true));
        begin += tensor.elements();
    }
    model.set_weights(std::move(weights));
    return model;
}

/// Logits of one row, (T, V).
Tensor logits_of(const LlamaModel& model, const Tensor& ids, const Tensor& mask = {}) {
    return model.logits(model.run_layers(model.embed(ids), ids, mask).rows.squeeze(0));
}

Tensor random_document(const RunConfig& config, std::uint64_t seed, std::size_t length) {
    std::vector<std::int64_t> ids;
    for (const std::uint32_t token : random_tokens(config, seed, length)) {
        ids.push_back(token == kEnd ? 0 : token);
    }
    ids.back() = kEnd;
    return ids_of(ids);
}

TEST(DocumentMask, IsCausalWithinADocument) {
    EXPECT_EQ(seen_of({1, 2, 3}), "1.. 11. 111");
    EXPECT_EQ(seen_of({1, kEnd, 3, 4}), "1... 11.. ..1. ..11");
}

TEST(DocumentMask, TakesEndsAtTheFirstAndLastPosition) {
    EXPECT_EQ(seen_of({kEnd, 2, 3}), "1.. .1. .11");
    EXPECT_EQ(seen_of({1, 2, kEnd}), "1.. 11. 111");
}

TEST(DocumentMask, TakesTwoEndsInARow) {
    EXPECT_EQ(seen_of({1, kEnd, kEnd, 4}), "1... 11.. ..1. ...1");
}

TEST(DocumentMask, CountsTheDocumentsOfEachRow) {
    const Tensor ids = at::cat({ids_of({1, kEnd, 3}), ids_of({kEnd, 2, 3})}, 0);
    const Tensor mask = document_mask(ids, kEnd);
    EXPECT_TRUE(mask.select(0, 0).equal(document_mask(ids.narrow(0, 0, 1), kEnd).select(0, 0)));
    EXPECT_TRUE(mask.select(0, 1).equal(document_mask(ids.narrow(0, 1, 1), kEnd).select(0, 0)));
}

/// The second row is longer than what attention reads at once on a CPU.
TEST(PackedDocuments, HaveTheLogitsOfEachDocumentAlone) {
    RunConfig config = packed_config();
    config.model.context = 700;
    const LlamaModel model = model_of(config);
    for (const std::vector<std::size_t>& lengths :
         {std::vector<std::size_t>{1, 4, 1, 1, 7}, std::vector<std::size_t>{600, 90}}) {
        std::vector<Tensor> documents;
        for (const std::size_t length : lengths) {
            documents.push_back(random_document(config, documents.size() + 1, length));
        }
        const Tensor ids = at::cat(documents, 1);
        const Tensor packed = logits_of(model, ids, document_mask(ids, kEnd));
        EXPECT_FALSE(at::allclose(packed, logits_of(model, ids), 0, 1e-3));
        std::int64_t begin = 0;
        for (const Tensor& document : documents) {
            const Tensor part = packed.narrow(0, begin, document.size(1));
            EXPECT_TRUE(at::allclose(part, logits_of(model, document), kTolerance, kTolerance));
            begin += document.size(1);
        }
    }
}

TEST(PackedDocuments, HaveGradientsThatTheOthersDoNotChange) {
    const RunConfig config = packed_config();
    const LlamaModel model = model_of(config);
    const Tensor first = random_document(config, 1, 3);
    const auto gradients_beside = [&](const Tensor& other, bool other_comes_first) {
        const Tensor ids =
            at::cat(other_comes_first ? std::vector{other, first} : std::vector{first, other}, 1);
        const Tensor logits = logits_of(model, ids, document_mask(ids, kEnd));
        const Tensor own = logits.narrow(0, other_comes_first ? other.size(1) : 0, 3);
        return torch::autograd::grad({own.log_softmax(1).sum()}, model.weights());
    };
    const auto wanted =
        torch::autograd::grad({logits_of(model, first).log_softmax(1).sum()}, model.weights());
    for (const bool comes_first : {false, true}) {
        const auto one = gradients_beside(random_document(config, 2, 3), comes_first);
        const auto two = gradients_beside(random_document(config, 3, 3), comes_first);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            EXPECT_TRUE(at::allclose(one[i], two[i], kTolerance, kTolerance)) << i;
            EXPECT_TRUE(at::allclose(one[i], wanted[i], kTolerance, 10 * kTolerance)) << i;
        }
    }
}

TEST(PackedDocuments, AreBitEqualHoweverTheModelIsSplit) {
    const auto weights = random_weights(packed_config(), 1);
    auto tokens = random_batch(packed_config(), 2);
    tokens[2] = kEnd;
    tokens[packed_config().model.context + 4] = kEnd;
    const auto whole = Chain(packed_config(1), weights).train(tokens);
    EXPECT_EQ(Chain(packed_config(2), weights).train(tokens), whole);
    EXPECT_EQ(Chain(packed_config(3), weights).train(tokens), whole);
    EXPECT_NE(Chain(tiny_config(1), weights).train(tokens), whole);
    RunConfig other = packed_config(3);
    other.train.document_end = {10};
    EXPECT_NE(Chain(other, weights).train(tokens), whole);
}

TEST(PackedDocuments, NeedTheTokenThatEndsThem) {
    RunConfig config = packed_config();
    config.train.document_end.clear();
    const auto made = stages::torch_backend::make_llama_compute(config, whole_layout(config));
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().detail.find("train.document_end"), std::string::npos);
}

}  // namespace
