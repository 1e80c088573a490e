// Every GPU that is there against the scalar path. Without one there is no test: a line says so.
#include "compression/cuda/gpu.hpp"

#include "same_bits.hpp"

#include <gtest/gtest.h>

#include <cuda_runtime_api.h>
#include <iostream>

namespace compression::cuda::test {
namespace {

class OnGpu final : public Coder {
 public:
    explicit OnGpu(int device) : gpu_(*Gpu::open(device)) {
        EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    }

    ~OnGpu() override { cudaFree(there_); }

    std::optional<Bytes> encode(
        const Codec& codec, const Values& values, TensorRole role, std::uint64_t seed
    ) override {
        const auto coded = gpu_.encode(codec, upload(values), role, seed);
        if (coded.has_error()) {
            EXPECT_EQ(coded.error().code, swarm::ErrorCode::NotFinite) << coded.error().detail;
            return std::nullopt;
        }
        return Bytes(coded->begin(), coded->end());
    }

    std::optional<Values> decode(
        const Codec& codec, const Bytes& bytes, const Values& start, Direction direction
    ) override {
        const std::span<float> there = upload(start);
        const auto pinned = gpu_.reserve(bytes.size());
        EXPECT_TRUE(pinned.has_value());
        std::ranges::copy(bytes, pinned->begin());
        const auto done = direction == Direction::DecodeAdd ? gpu_.decode_add(codec, *pinned, there)
                                                            : gpu_.decode(codec, *pinned, there);
        if (done.has_error()) {
            EXPECT_NE(done.error().code, swarm::ErrorCode::Unsupported) << done.error().detail;
            return std::nullopt;
        }
        Values values(start.size());
        const std::size_t size = values.size() * sizeof(float);
        EXPECT_EQ(cudaMemcpy(values.data(), there_, size, cudaMemcpyDeviceToHost), cudaSuccess);
        return values;
    }

 private:
    std::span<float> upload(const Values& values) {
        const std::size_t size = values.size() * sizeof(float);
        if (values.size() > room_) {
            cudaFree(there_);
            void* there = nullptr;
            EXPECT_EQ(cudaMalloc(&there, size), cudaSuccess);
            there_ = static_cast<float*>(there);
            room_ = values.size();
        }
        EXPECT_EQ(cudaMemcpy(there_, values.data(), size, cudaMemcpyHostToDevice), cudaSuccess);
        return {there_, values.size()};
    }

    Gpu gpu_;
    float* there_ = nullptr;
    std::size_t room_ = 0;
};

class OneGpu : public testing::TestWithParam<int> {
 protected:
    OnGpu gpu{GetParam()};
};

TEST_P(OneGpu, EncodesAsTheScalarPath) {
    for (const Codec* codec : coded_on_gpus()) {
        expect_same_encoding(gpu, *codec);
        expect_same_of_random_bits(gpu, *codec);
    }
}

TEST_P(OneGpu, RefusesWhatTheScalarPathRefuses) {
    for (const Codec* codec : coded_on_gpus()) {
        expect_same_refusals(gpu, *codec);
    }
}

TEST_P(OneGpu, DecodesAndAddsAsTheScalarPath) {
    for (const Codec* codec : coded_on_gpus()) {
        expect_same_decoding(gpu, *codec);
    }
}

std::vector<int> find_gpus() {
    std::vector<int> found;
    const auto count = count_gpus();
    if (count.has_error()) {
        std::cerr << "no gpu tests: " << count.error().detail << '\n';
        return found;
    }
    for (int device = 0; device < *count; ++device) {
        found.push_back(device);
    }
    return found;
}

/// gtest asks once per test.
const std::vector<int>& gpus() {
    static const std::vector<int> found = find_gpus();
    return found;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OneGpu);
INSTANTIATE_TEST_SUITE_P(Found, OneGpu, testing::ValuesIn(gpus()));

}  // namespace
}  // namespace compression::cuda::test
