#include "codec.hpp"

#include "compression/byte_planes.hpp"
#include "compression/codec.hpp"
#include "compression/simd/kernels.hpp"
#include "stages/worker/accumulator.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "tests/bench/cpu_time.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <span>

namespace swarm::bench {
namespace {

using compression::Codec;
using compression::TensorRole;

/// Bell-shaped, as activations are.
std::vector<float> bell(std::size_t count, double width) {
    Rng rng(1, count);
    std::vector<float> values(count);
    for (float& value : values) {
        value = static_cast<float>(width * (rng.unit() + rng.unit() + rng.unit() + rng.unit() - 2));
    }
    return values;
}

/// Median seconds of each piece of work; they take turns.
std::vector<double> medians_of(const std::vector<std::function<void()>>& work, std::size_t rounds) {
    std::vector<std::vector<double>> took(work.size());
    for (std::size_t round = 0; round <= rounds; ++round) {
        for (std::size_t i = 0; i < work.size(); ++i) {
            const double began = cpu_seconds();
            work[i]();
            if (round > 0) {  // the first one pays for pages and caches
                took[i].push_back(cpu_seconds() - began);
            }
        }
    }
    std::vector<double> medians;
    for (std::vector<double>& times : took) {
        std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(rounds / 2));
        medians.push_back(times[rounds / 2]);
    }
    return medians;
}

/// The two timed functions for one tensor: into its coded form and back.
struct Directions {
    std::function<void()> encode;
    std::function<void()> decode;
    std::function<void()> decode_add;
};

/// The row's figures; its names are given.
CodecRow measure(
    CodecRow row, const std::vector<float>& values, const Directions& directions, std::size_t rounds
) {
    std::vector<float> copy(values.size());
    const auto copies = [&] { std::memcpy(copy.data(), values.data(), row.tensor_bytes); };
    const std::vector<double> took = medians_of(
        {copies, directions.encode, copies, directions.decode, directions.decode_add}, rounds
    );
    const double memcpy_s = std::min(took[0], took[2]);
    row.encode_over_memcpy = memcpy_s / took[1];
    row.decode_over_memcpy = memcpy_s / took[3];
    row.decode_add_over_memcpy = memcpy_s / took[4];
    row.gb_per_s = static_cast<double>(row.tensor_bytes) / took[1] / 1e9;
    return row;
}

CodecRow measure(
    const Codec& codec,
    std::string_view path,
    TensorRole role,
    std::size_t bytes,
    std::size_t rounds
) {
    const std::vector<float> values = bell(bytes / sizeof(float), 1);
    std::vector<float> decoded(values.size());
    std::vector<float> sum(values.size());
    std::vector<std::byte> coded(codec.encoded_bytes(values.size()));
    const bool drawn =
        codec.name().find("int4") != std::string_view::npos && compression::is_gradient(role);
    return measure(
        {.codec = std::string(codec.name()) + (drawn ? " stochastic" : ""),
         .path = std::string(path),
         .tensor_bytes = bytes},
        values,
        {[&] { SWARM_ASSERT(codec.encode(values, role, 1, coded).has_value()); },
         [&] { SWARM_ASSERT(codec.decode(coded, decoded).has_value()); },
         [&] { SWARM_ASSERT(codec.decode_add(coded, sum).has_value()); }},
        rounds
    );
}

/// int8 in groups of 256, which no codec sends.
CodecRow measure_wide(
    const compression::simd::Kernels& kernels, std::size_t bytes, std::size_t rounds
) {
    namespace simd = compression::simd;
    const std::vector<float> values = bell(bytes / sizeof(float), 1);
    const std::size_t groups = values.size() / simd::kWideGroup;
    std::vector<float> decoded(values.size());
    std::vector<float> sum(values.size());
    std::vector<std::byte> coded(groups * simd::kWideInt8GroupBytes);
    return measure(
        {.codec = "int8 g=256", .path = std::string(to_text(kernels.path)), .tensor_bytes = bytes},
        values,
        {[&] { SWARM_ASSERT(kernels.encode_wide_int8(values.data(), groups, coded.data())); },
         [&] { SWARM_ASSERT(kernels.decode_wide_int8(coded.data(), groups, decoded.data())); },
         [&] { SWARM_ASSERT(kernels.add_wide_int8(coded.data(), groups, sum.data())); }},
        rounds
    );
}

/// Weights, then two moments of the optimizer, as a stage's state holds them.
std::vector<float> made_up_state() {
    constexpr std::size_t kEach = 4U << 20;
    std::vector<float> state = bell(kEach, 0.02);
    const std::vector<float> gradients = bell(kEach, 1e-4);
    state.insert(state.end(), gradients.begin(), gradients.end());
    for (const float gradient : gradients) {
        state.push_back(gradient * gradient);
    }
    return state;
}

Result<std::vector<std::byte>> read_state(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::vector<std::byte> bytes(kStateBytesMax);
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const auto count = static_cast<std::size_t>(in.gcount());
    if (count < sizeof(float)) {
        return Error{
            ErrorCode::NotFound,
            Reaction::Fatal,
            "cannot read " + file + "; name a file of fp32 state, such as a checkpoint's"};
    }
    bytes.resize(count / sizeof(float) * sizeof(float));
    return bytes;
}

/// Sums of four microbatches' gradients; each tensor has its own magnitude, 1e-6 to 1e-3.
std::vector<std::int64_t> made_up_sums() {
    constexpr std::size_t kEach = 64U << 10;
    constexpr std::size_t kMicrobatches = 4;
    std::vector<std::int64_t> sums;
    for (const double width : {1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3}) {
        const std::vector<float> gradients = bell(kMicrobatches * kEach, width);
        stages::Accumulator sum(kEach, kMicrobatches);
        for (std::uint32_t id = 0; id < kMicrobatches; ++id) {
            sum.add({id}, std::span(gradients).subspan(id * kEach, kEach));
        }
        sums.insert(sums.end(), sum.sums().begin(), sum.sums().end());
    }
    return sums;
}

}  // namespace

std::vector<CodecRow> measure_codecs(std::size_t tensor_bytes, std::size_t rounds) {
    std::vector<CodecRow> rows;
    for (const auto path : swarm::kCpuPaths) {
        for (const auto& codec : compression::codecs_on(path)) {
            const auto name = to_text(path);
            const bool legs = codec->check_role(TensorRole::Activation).has_value();
            const auto role = legs ? TensorRole::Activation : TensorRole::PseudoGradient;
            rows.push_back(measure(*codec, name, role, tensor_bytes, rounds));
            if (codec->name().find("int4") != std::string_view::npos) {
                rows.push_back(
                    measure(*codec, name, TensorRole::ActivationGradient, tensor_bytes, rounds)
                );
            }
        }
        if (const auto* const kernels = compression::simd::kernels_of(path)) {
            rows.push_back(measure_wide(*kernels, tensor_bytes, rounds));
        }
    }
    return rows;
}

Result<PlanesRow> measure_planes(const std::string& state_file, std::size_t rounds) {
    std::vector<std::byte> raw;
    if (state_file.empty()) {
        const std::vector<float> state = made_up_state();
        const auto bytes = std::as_bytes(std::span(state));
        raw.assign(bytes.begin(), bytes.end());
    } else {
        auto read = read_state(state_file);
        if (read.has_error()) {
            return read.error();
        }
        raw = std::move(*read);
    }
    constexpr auto kWidth = compression::ElementBytes::Four;
    std::vector<std::byte> packed;
    std::vector<std::byte> back(raw.size());
    const std::vector<double> took = medians_of(
        {[&] { packed = *compression::pack_planes(raw, kWidth); },
         [&] { SWARM_ASSERT(compression::unpack_planes(packed, kWidth, back).has_value()); }},
        rounds
    );
    SWARM_ASSERT(back == raw);
    const auto bytes = static_cast<double>(raw.size());
    return PlanesRow{
        .data = state_file.empty() ? "made-up weights and moments" : state_file,
        .ratio = bytes / static_cast<double>(packed.size()),
        .pack_mb_per_s = bytes / took[0] / 1e6,
        .unpack_mb_per_s = bytes / took[1] / 1e6};
}

PartsRow measure_parts(std::size_t rounds) {
    const std::vector<std::int64_t> sums = made_up_sums();
    std::vector<std::byte> packed;
    std::vector<std::int64_t> back(sums.size());
    const std::vector<double> took = medians_of(
        {[&] { packed = *compression::pack_integers(sums); },
         [&] { SWARM_ASSERT(compression::unpack_integers(packed, back).has_value()); }},
        rounds
    );
    SWARM_ASSERT(back == sums);
    const auto elements = static_cast<double>(sums.size());
    return {
        .data = "made-up sums of four microbatches",
        .bytes_per_element = static_cast<double>(packed.size()) / elements,
        .pack_mb_per_s = 8 * elements / took[0] / 1e6,
        .unpack_mb_per_s = 8 * elements / took[1] / 1e6};
}

}  // namespace swarm::bench
