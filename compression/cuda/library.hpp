// The interface of libswarm_codecs_cuda.so: plain functions, so that the program links no CUDA.
// swarm_codecs_cuda() returns them.
// Threading: at any time one thread uses a session. Every function returns 0 or a cudaError_t.
#pragma once

#include "compression/cuda/lanes.hpp"

namespace compression::cuda {

/// One GPU with a stream, and two buffers that grow: one for coded bytes on the GPU, one pinned in
/// the host's memory.
struct Session;

struct CodedBytes {
    std::byte* pinned;  // valid until the session's next call
    bool refused;
};

/// Seconds on the GPU, each the mean of a row of launches.
struct Timings {
    double encode;
    double decode;
    double decode_add;
    double copy;    // copies the fp32 tensor within the GPU's memory
    double launch;  // launches an empty kernel
};

struct Library {
    int version;
    int (*count_devices)(int* count);
    /// `stream`: a cudaStream_t of that GPU; null is its default stream.
    int (*open)(int device, void* stream, Session** session, char* name, std::size_t name_size);
    void (*close)(Session* session);
    /// `job.values` is the GPU's memory; job.bytes is set by the library. Waits.
    int (*encode)(Session* session, Job job, std::size_t bytes, CodedBytes* coded);
    /// `from` is best pinned: encode's own bytes, or those of reserve().
    int (*decode
    )(Session* session, Job job, const std::byte* from, std::size_t bytes, bool* refused);
    /// Reserves pinned memory to receive `bytes` into.
    int (*reserve)(Session* session, std::size_t bytes, std::byte** pinned);
    /// Times the codec on `count` made-up values; job.values is not used.
    int (*measure)(Session* session, Job job, std::size_t bytes, int rounds, Timings* timings);
    const char* (*error_name)(int error);
    const char* (*error_text)(int error);
};

inline constexpr int kLibraryVersion = 1;
inline constexpr const char* kLibraryFile = "libswarm_codecs_cuda.so";

}  // namespace compression::cuda

extern "C" __attribute__((visibility("default"))) const compression::cuda::Library*
swarm_codecs_cuda();
