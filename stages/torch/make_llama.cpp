#include "stages/torch/make_llama.hpp"

#include "stages/torch/cuda_backend.hpp"
#include "stages/torch/device_coder.hpp"
#include "stages/torch/llama_compute.hpp"
#include "stages/torch/llama_model.hpp"
#include "swarm/base/try.hpp"

#include <ATen/Version.h>
#include <c10/util/Exception.h>
#include <cctype>
#include <charconv>
#include <string>
#include <utility>

namespace stages::torch_backend {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

namespace {

constexpr std::string_view kCudaPrefix = "cuda:";

/// The class names the vendor, because the matrix library chooses its kernels by vendor as well as
/// by instruction set.
std::string cpu_class() {
    std::string level = at::get_cpu_capability();
    for (char& letter : level) {
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    const char* vendor = "other";
    if (__builtin_cpu_is("intel") != 0) {
        vendor = "intel";
    } else if (__builtin_cpu_is("amd") != 0) {
        vendor = "amd";
    }
    return std::string("cpu ") + vendor + " " + level + " 1 thread";
}

/// Reads N of "cuda:N".
Result<int> cuda_index(std::string_view device) {
    int index = -1;
    const char* const end = device.data() + device.size();
    if (device.substr(0, kCudaPrefix.size()) == kCudaPrefix) {
        const auto parsed = std::from_chars(device.data() + kCudaPrefix.size(), end, index);
        if (parsed.ec == std::errc{} && parsed.ptr == end && index >= 0 && index < 64) {
            return index;
        }
    }
    return Error{
        ErrorCode::Usage,
        Reaction::Reject,
        "device \"" + std::string(device) + "\" is unknown; use cpu, auto or cuda:N"};
}

/// Null where codecs have no kernels. Tensors then cross the bus as fp32 and are coded by the CPU.
std::unique_ptr<TensorCoder> coder_on(at::Device device) {
    auto gpu = compression::cuda::Gpu::open(device.index());  // Gpu uses stream 0, as LibTorch does
    return gpu ? std::make_unique<DeviceCoder>(std::move(*gpu), device) : nullptr;
}

}  // namespace

Result<std::unique_ptr<StageCompute>> make_llama_compute(
    const swarm::run::RunConfig& config,
    const swarm::run::StageLayout& layout,
    std::string_view device
) {
    SWARM_TRY(check_layout(config.model, layout));
    try {
        const auto make =
            [&](at::Device where, std::string what, std::unique_ptr<TensorCoder> coder = nullptr) {
                return std::make_unique<LlamaCompute>(
                    config, layout, where, std::move(what), std::move(coder)
                );
            };
        if (device == "cpu") {
            return make(at::kCPU, cpu_class());
        }
        SWARM_TRY(const auto index, device == "auto" ? Result<int>(0) : cuda_index(device));
        const auto name = open_cuda_device(index);
        if (name) {
            const at::Device gpu(at::kCUDA, static_cast<at::DeviceIndex>(index));
            return make(gpu, "cuda " + *name, coder_on(gpu));
        }
        if (device == "auto") {
            return make(at::kCPU, cpu_class());
        }
        return name.error();
    } catch (const c10::Error& error) {
        const std::string text = error.what_without_backtrace();
        return Error{
            ErrorCode::Unsupported,
            Reaction::Fatal,
            "LibTorch cannot use the device: " + text.substr(0, text.find('\n'))};
    }
}

}  // namespace stages::torch_backend
