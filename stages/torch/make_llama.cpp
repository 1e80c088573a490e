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
#include <cstdlib>
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
std::string cpu_class(std::uint32_t threads) {
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
    return std::string("cpu ") + vendor + " " + level + " " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
}

/// OpenMP takes fewer threads than it is told where its environment says so; then the bits would
/// not be those of the compute class.
Result<> check_environment(std::uint32_t threads) {
    if (threads == 1) {
        return {};
    }
    const char* const dynamic = std::getenv("OMP_DYNAMIC");
    const char* const limit = std::getenv("OMP_THREAD_LIMIT");
    const bool varies = dynamic != nullptr && std::string_view(dynamic) != "false" &&
                        std::string_view(dynamic) != "FALSE";
    if (!varies && (limit == nullptr || std::strtoul(limit, nullptr, 10) >= threads)) {
        return {};
    }
    const std::string name = varies ? "OMP_DYNAMIC" : "OMP_THREAD_LIMIT";
    return Error{
        ErrorCode::Usage,
        Reaction::Reject,
        name + " bounds the threads of LibTorch below --threads " + std::to_string(threads) +
            ": unset it, or ask for fewer"};
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
    std::string_view device,
    std::uint32_t threads
) {
    SWARM_TRY(check_layout(config, layout));
    SWARM_TRY(check_environment(threads));
    if (config.train.separate_documents && config.train.document_end.size() != 1) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "train.separate_documents needs the token that ends a document: name it as "
            "train.document_end"};
    }
    try {
        const auto make =
            [&](at::Device where, std::string what, std::unique_ptr<TensorCoder> coder = nullptr) {
                return std::make_unique<LlamaCompute>(
                    config, layout, where, threads, std::move(what), std::move(coder)
                );
            };
        if (device == "cpu") {
            return make(at::kCPU, cpu_class(threads));
        }
        SWARM_TRY(const auto index, device == "auto" ? Result<int>(0) : cuda_index(device));
        const auto name = open_cuda_device(index);
        if (name) {
            const at::Device gpu(at::kCUDA, static_cast<at::DeviceIndex>(index));
            return make(gpu, "cuda " + *name, coder_on(gpu));
        }
        if (device == "auto") {
            return make(at::kCPU, cpu_class(threads));
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
