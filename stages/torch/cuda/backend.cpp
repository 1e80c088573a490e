// libswarm_cuda.so is linked to torch_cuda, so it loads LibTorch's CUDA kernels. Its one function
// answers whether a GPU can be used, and makes the settings under which its sums are repeatable.
#include <ATen/Context.h>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>

/// Returns 0 and the GPU's name in `text`, else 1 and the reason. Is called before anything is
/// computed on the GPU.
extern "C" int swarm_cuda_open(int index, char* text, unsigned long size) {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice) {
        // CUDA says "insufficient driver" also where there is no driver.
        std::snprintf(text, size, "no NVIDIA driver for CUDA %d or no GPU", CUDART_VERSION / 1000);
        return 1;
    }
    if (status != cudaSuccess) {
        std::snprintf(text, size, "%s", cudaGetErrorString(status));
        return 1;
    }
    cudaDeviceProp properties{};
    if (index >= devices || cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
        std::snprintf(text, size, "this machine has %d GPU(s)", devices);
        return 1;
    }
    // Sums are repeatable with a workspace for cuBLAS, no TF32, and attention without atomics.
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
    at::Context& context = at::globalContext();
    context.setDeterministicAlgorithms(true, false);
    context.setSDPUseFlash(false);
    context.setSDPUseMemEfficient(false);
    std::snprintf(text, size, "%s", properties.name);
    return 0;
}
