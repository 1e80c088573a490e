#include "gpu_codec.hpp"

#include "compression/cuda/gpu.hpp"

namespace swarm::bench {
namespace {

using compression::TensorRole;

Result<GpuCodecRow> measure(
    compression::cuda::Gpu& gpu,
    const compression::Codec& codec,
    TensorRole role,
    std::size_t bytes,
    std::size_t rounds
) {
    const auto took = gpu.measure(codec, role, bytes / sizeof(float), static_cast<int>(rounds));
    if (took.has_error()) {
        return took.error();
    }
    const bool drawn = codec.name().ends_with("int4") && compression::is_gradient(role);
    return GpuCodecRow{
        .row =
            {.codec = std::string(codec.name()) + (drawn ? " stochastic" : ""),
             .path = "cuda",
             .tensor_bytes = bytes,
             .encode_over_memcpy = took->copy / took->encode,
             .decode_over_memcpy = took->copy / took->decode,
             .decode_add_over_memcpy = took->copy / took->decode_add,
             .gb_per_s = static_cast<double>(bytes) / took->encode / 1e9},
        .encode_launches = took->encode / took->launch};
}

}  // namespace

Result<std::vector<GpuCodecRow>> measure_gpu_codecs(std::size_t rounds) {
    if (const auto count = compression::cuda::count_gpus(); count.has_error()) {
        return count.error();
    }
    auto gpu = compression::cuda::Gpu::open(0);
    if (gpu.has_error()) {
        return gpu.error();
    }
    std::vector<GpuCodecRow> rows;
    for (const std::size_t bytes : kGpuCodecBytes) {
        for (const auto* name : {"int8", "bf16", "fp16", "int4", "hadamard-int4"}) {
            for (const TensorRole role : {TensorRole::Activation, TensorRole::ActivationGradient}) {
                const compression::Codec& codec = *compression::find_codec(name);
                if (role == TensorRole::Activation || codec.name().ends_with("int4")) {
                    auto row = measure(*gpu, codec, role, bytes, rounds);
                    if (row.has_error()) {
                        return row.error();
                    }
                    rows.push_back(std::move(*row));
                }
            }
        }
    }
    return rows;
}

}  // namespace swarm::bench
