// The bodies that GPUs run, on the host: a loop over the sixteen lanes of each group.
#include "compression/cuda/gpu.hpp"
#include "same_bits.hpp"
#include "tests/emulated_gpu.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace compression::cuda::test {
namespace {

/// Memory as a GPU's: aligned, and watched behind its end.
template <class T>
class Watched {
 public:
    explicit Watched(std::size_t count) : count_(count), blocks_(count * sizeof(T) / 16 + 2) {
        std::memset(blocks_.data(), kUntouched, 16 * blocks_.size());
    }

    explicit Watched(const std::vector<T>& values) : Watched(values.size()) {
        std::ranges::copy(values, data());
    }

    T* data() { return reinterpret_cast<T*>(blocks_.data()); }

    [[nodiscard]] std::vector<T> take() {
        const auto* const bytes = reinterpret_cast<const unsigned char*>(blocks_.data());
        for (std::size_t i = count_ * sizeof(T); i < 16 * blocks_.size(); ++i) {
            EXPECT_EQ(bytes[i], kUntouched) << "written " << i << " of " << count_ * sizeof(T);
        }
        return {data(), data() + count_};
    }

 private:
    static constexpr unsigned char kUntouched = 0xa5;

    struct alignas(16) Block {
        std::byte bytes[16];
    };

    std::size_t count_;
    std::vector<Block> blocks_;
};

class LanesOnHost final : public Coder {
 public:
    std::optional<Bytes> encode(
        const Codec& codec, const Values& values, TensorRole role, std::uint64_t seed
    ) override {
        Watched<float> there(values);
        Watched<std::byte> bytes(codec.encoded_bytes(values.size()));
        Job job = *job_of(codec, Direction::Encode, role, seed);
        job.count = values.size();
        job.values = there.data();
        job.bytes = bytes.data();
        const bool taken = run_on_host(job);
        Bytes coded = bytes.take();
        return taken ? std::optional(std::move(coded)) : std::nullopt;
    }

    std::optional<Values> decode(
        const Codec& codec, const Bytes& bytes, const Values& start, Direction direction
    ) override {
        Watched<float> there(start);
        Watched<std::byte> coded(bytes);
        Job job = *job_of(codec, direction, TensorRole::Activation, 0);
        job.count = start.size();
        job.values = there.data();
        job.bytes = coded.data();
        const bool taken = run_on_host(job);
        Values values = there.take();
        return taken ? std::optional(std::move(values)) : std::nullopt;
    }
};

/// The same through Gpu, as a run uses it.
class OnEmulatedGpu final : public Coder {
 public:
    std::optional<Bytes> encode(
        const Codec& codec, const Values& values, TensorRole role, std::uint64_t seed
    ) override {
        Watched<float> there(values);
        const auto coded = gpu_.encode(codec, {there.data(), values.size()}, role, seed);
        return coded ? std::optional(Bytes(coded->begin(), coded->end())) : std::nullopt;
    }

    std::optional<Values> decode(
        const Codec& codec, const Bytes& bytes, const Values& start, Direction direction
    ) override {
        Watched<float> there(start);
        const std::span<std::byte> pinned = *gpu_.reserve(bytes.size());
        std::ranges::copy(bytes, pinned.begin());
        const std::span<float> values(there.data(), start.size());
        const bool taken = direction == Direction::Decode
                               ? gpu_.decode(codec, pinned, values).has_value()
                               : gpu_.decode_add(codec, pinned, values).has_value();
        Values made = there.take();
        return taken ? std::optional(std::move(made)) : std::nullopt;
    }

 private:
    Gpu gpu_ = *Gpu::open(emulated_library(), 0);
};

class Lanes : public testing::TestWithParam<const Codec*> {
 protected:
    LanesOnHost lanes;
};

TEST_P(Lanes, EncodeAsTheScalarPath) {
    expect_same_encoding(lanes, *GetParam());
}

TEST_P(Lanes, RefuseWhatTheScalarPathRefuses) {
    expect_same_refusals(lanes, *GetParam());
}

TEST_P(Lanes, EncodeRandomBitsAsTheScalarPath) {
    expect_same_of_random_bits(lanes, *GetParam());
}

TEST_P(Lanes, DecodeAndAddAsTheScalarPath) {
    expect_same_decoding(lanes, *GetParam());
}

TEST_P(Lanes, CodeThroughAGpuAsTheScalarPath) {
    OnEmulatedGpu gpu;
    expect_same_encoding(gpu, *GetParam());
    expect_same_refusals(gpu, *GetParam());
    expect_same_decoding(gpu, *GetParam());
}

std::string codec_name(const testing::TestParamInfo<const Codec*>& info) {
    std::string name(info.param->name());
    std::erase(name, '-');
    return name;
}

INSTANTIATE_TEST_SUITE_P(OnHost, Lanes, testing::ValuesIn(coded_on_gpus()), codec_name);

TEST(GpuCodecs, AreFive) {
    EXPECT_EQ(coded_on_gpus().size(), 5U);
}

TEST(GpuCodecs, RefuseOthersAndRolesWithTheReason) {
    const auto sparse =
        job_of(*find_codec("sparse"), Direction::Encode, TensorRole::PseudoGradient, 0);
    ASSERT_TRUE(sparse.has_error());
    EXPECT_EQ(sparse.error().detail, "no GPU codes sparse");
    const auto role = job_of(*find_codec("int4"), Direction::Encode, TensorRole::Parameter, 0);
    ASSERT_TRUE(role.has_error());
    EXPECT_NE(role.error().detail.find("15 levels"), std::string::npos) << role.error().detail;
}

TEST(GpuCodecs, RefuseSizesAndAddressesThatNoKernelTakes) {
    auto gpu = *Gpu::open(emulated_library(), 0);
    const Codec& int8 = *find_codec("int8");
    Watched<float> there(65);
    const Bytes bytes(int8.encoded_bytes(64));
    EXPECT_TRUE(gpu.decode(int8, bytes, {there.data(), 64}).has_value());
    const auto size = gpu.decode(int8, bytes, {there.data(), 65});
    ASSERT_TRUE(size.has_error());
    EXPECT_EQ(size.error().code, swarm::ErrorCode::Malformed);
    const auto address = gpu.encode(int8, {there.data() + 1, 64}, TensorRole::Activation, 0);
    ASSERT_TRUE(address.has_error());
    EXPECT_EQ(address.error().code, swarm::ErrorCode::Unsupported);
    EXPECT_TRUE(Gpu::open(emulated_library(), 1).has_error());
}

TEST(GpuCodecs, SayWhyThereIsNoGpu) {
    const auto gpus = count_gpus();
    if (gpus.has_error()) {
        EXPECT_EQ(gpus.error().code, swarm::ErrorCode::Unsupported);
#ifdef SWARM_CODECS_CUDA_BUILT  // then the library itself must load
        EXPECT_TRUE(gpus.error().detail.starts_with("CUDA finds no GPU")) << gpus.error().detail;
#else
        EXPECT_NE(gpus.error().detail.find(kLibraryFile), std::string::npos) << gpus.error().detail;
#endif
        EXPECT_TRUE(Gpu::open(0).has_error());
    } else {
        EXPECT_TRUE(Gpu::open(*gpus).has_error());
    }
}

}  // namespace
}  // namespace compression::cuda::test
