#include "stages/torch/library_info.hpp"

#include "stages/torch/cuda_backend.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

namespace stages::torch_backend {

std::string library_info() {
    const std::string config = at::show_config();
    const std::string key = "BLAS_INFO=";
    std::string blas = "unknown";
    if (const std::size_t at = config.find(key); at != std::string::npos) {
        const std::size_t begin = at + key.size();
        blas = config.substr(begin, config.find_first_of(", \n", begin) - begin);
    }
    return "LibTorch " TORCH_VERSION ", BLAS " + blas + ", " + at::get_cpu_capability() + ", " +
           std::to_string(at::get_num_threads()) + " threads";
}

swarm::Result<std::string> first_gpu() {
    return open_cuda_device(0);
}

}  // namespace stages::torch_backend
