// Activations that are coded on the GPU that computes them. The bits of a run stay the same.
#include "stages/torch/device_coder.hpp"

#include "stages/single/single_run.hpp"
#include "stages/torch/host_tensor.hpp"
#include "stages/torch/llama_compute.hpp"
#include "tests/emulated_gpu.hpp"
#include "tests/places.hpp"
#include "tests/torch/tiny_llama.hpp"

#include <gtest/gtest.h>

#include <ATen/ops/ones.h>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

namespace stages::torch_backend {
namespace {

using compression::cuda::Gpu;
using compression::cuda::test::emulated_calls;
using compression::cuda::test::emulated_library;

std::unique_ptr<TensorCoder> emulated_coder() {
    return std::make_unique<DeviceCoder>(take(Gpu::open(emulated_library(), 0)), at::kCPU);
}

std::unique_ptr<StageCompute> on_host(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
) {
    return std::make_unique<LlamaCompute>(config, layout, at::kCPU, 1, "host");
}

std::unique_ptr<StageCompute> on_emulated_gpu(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
) {
    return std::make_unique<LlamaCompute>(config, layout, at::kCPU, 1, "gpu", emulated_coder());
}

struct Trained {
    std::vector<double> losses;
    swarm::Digest weights;
};

Trained train(const std::string& codec, MakeCompute make_compute) {
    swarm::run::RunConfig config = tiny_config(3);
    config.steps = 4;
    config.microbatches = 2;
    config.model.vocabulary = 256;
    config.codec = swarm::run::CodecSetting::find(codec).value();
    std::ifstream in(swarm::test::source_dir() + "/LICENSE", std::ios::binary);
    const swarm::run::Corpus text{std::istreambuf_iterator<char>(in), {}};
    SingleRun run(config, std::move(make_compute), text);
    Trained trained;
    while (trained.losses.size() < config.steps) {
        trained.losses.push_back(take(run.step()).loss);
    }
    trained.weights = run.weights_sha256();
    return trained;
}

class CodedRun : public testing::TestWithParam<const char*> {};

TEST_P(CodedRun, EqualsOneThatIsCodedOnTheHost) {
    const Trained expected = train(GetParam(), on_host);
    emulated_calls() = {};
    const Trained trained = train(GetParam(), on_emulated_gpu);
    EXPECT_EQ(trained.losses, expected.losses);
    EXPECT_EQ(trained.weights, expected.weights);
    // Each tensor of two boundaries, two legs, two microbatches and four steps is coded once.
    const int tensors = std::string(GetParam()) == "none" ? 0 : 2 * 2 * 2 * 4;
    EXPECT_EQ(emulated_calls().encoded, tensors);
    EXPECT_EQ(emulated_calls().decoded, tensors);
}

INSTANTIATE_TEST_SUITE_P(
    Codecs,
    CodedRun,
    testing::Values("none", "bf16", "fp16", "int8", "int4", "hadamard-int4"),
    [](const auto& codec) {
        std::string name(codec.param);
        std::erase(name, '-');
        return name;
    }
);

TEST(DeviceCoder, RefusesATensorThatIsNotFinite) {
    const auto coder = emulated_coder();
    at::Tensor bad = at::ones({1, 2, 64});
    bad[0][1][3] = std::numeric_limits<float>::infinity();
    const StageTensor tensor = keep_on_device(bad);
    const auto& int8 = *compression::find_codec("int8");
    std::vector<std::byte> bytes(int8.encoded_bytes(128));
    const auto coded = coder->encode(int8, tensor, compression::TensorRole::Activation, 0, bytes);
    ASSERT_TRUE(coded.has_error());
    EXPECT_EQ(coded.error().code, swarm::ErrorCode::NotFinite);
    const auto copied = coder->to_host(tensor);
    ASSERT_TRUE(copied.has_error());
    EXPECT_EQ(copied.error().code, swarm::ErrorCode::NotFinite);
}

TEST(DeviceCoder, RefusesBytesThatNoEncoderWrites) {
    const auto coder = emulated_coder();
    const auto& int8 = *compression::find_codec("int8");
    const std::vector<std::byte> bytes(int8.encoded_bytes(64), std::byte{0xff});
    EXPECT_TRUE(coder->decode(int8, bytes, {1, 1, 64}).has_error());
}

TEST(DeviceCoder, TakesATensorThatBeginsAnywhere) {
    const at::Tensor row = at::ones({130});
    const StageTensor tensor = keep_on_device(row.narrow(0, 1, 128).view({1, 2, 64}));
    EXPECT_TRUE(tensor.values.empty()) << "the host could read them";
    EXPECT_EQ(tensor.shape, (std::vector<std::uint32_t>{1, 2, 64}));
    const auto coder = emulated_coder();
    const auto& int8 = *compression::find_codec("int8");
    std::vector<std::byte> bytes(int8.encoded_bytes(128));
    EXPECT_TRUE(coder->encode(int8, tensor, compression::TensorRole::Activation, 0, bytes));
    const StageTensor here = take(coder->to_host(tensor));
    EXPECT_FALSE(here.on_device);
    EXPECT_EQ(here.values.size(), 128U);
}

}  // namespace
}  // namespace stages::torch_backend
