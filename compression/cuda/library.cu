// libswarm_codecs_cuda.so: the groups of a tensor over half warps, and the memory around them.
// Built without FMA, with exact division and denormals kept: its bits are compression/simd's.
#include "compression/cuda/groups.hpp"
#include "compression/cuda/library.hpp"

#include <cstdio>
#include <cuda_runtime_api.h>
#include <memory>

namespace compression::cuda {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kGroupsPerBlock = kThreads / kLanes;
/// The verdict lies in front of the coded bytes and travels with them.
constexpr std::size_t kVerdictBytes = 16;

/// A team of half a warp; each thread is one lane.
class HalfWarp {
 public:
    template <class T>
    struct Own {
        T own;

        SWARM_LANES T& operator[](std::uint32_t /*lane*/) { return own; }
    };

    /// A refusal writes `call` to `verdict`: a number per call saves clearing it before each.
    SWARM_LANES HalfWarp(std::uint32_t thread, std::uint32_t* verdict, std::uint32_t call)
        : lane_(thread % kLanes),
          members_((thread / kLanes) % 2 == 0 ? 0x0000ffffU : 0xffff0000U),
          verdict_(verdict),
          call_(call) {}

    template <class F>
    SWARM_LANES void each(F f) const {
        f(lane_);
    }

    SWARM_LANES void spread_largest(Own<std::uint32_t>& values) const {
        for (std::uint32_t mask = kLanes / 2; mask > 0; mask /= 2) {
            const std::uint32_t other = __shfl_xor_sync(members_, values.own, mask, kLanes);
            values.own = other > values.own ? other : values.own;
        }
    }

    SWARM_LANES Own<Four> of_partner(const Own<Four>& values, std::uint32_t mask) const {
        Own<Four> partner;
        for (std::uint32_t i = 0; i < kPerLane; ++i) {
            partner.own.at[i] = __shfl_xor_sync(members_, values.own.at[i], mask, kLanes);
        }
        return partner;
    }

    SWARM_LANES void refuse() const { *verdict_ = call_; }

 private:
    std::uint32_t lane_;
    std::uint32_t members_;
    std::uint32_t* verdict_;
    std::uint32_t call_;
};

/// The constants are the job's own: a kernel for each combination holds only the code that it
/// needs.
template <Format kFormat, Direction kDirection, bool kDrawn>
__global__ void code(Job job, std::uint32_t* verdict, std::uint32_t call) {
    job.format = kFormat;
    job.direction = kDirection;
    job.drawn = kDrawn;
    const std::uint64_t group = std::uint64_t{blockIdx.x} * kGroupsPerBlock + threadIdx.x / kLanes;
    if (group >= groups_of(job)) {
        return;  // the whole half warp returns
    }
    const HalfWarp team(threadIdx.x, verdict, call);
    if constexpr (kDirection == Direction::Encode) {
        encode_group(team, job, group);
    } else {
        decode_group(team, job, group);
    }
}

__global__ void nothing() {}

__global__ void make_up(float* values, std::uint64_t count) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) {
        const std::uint32_t drawn = simd::draw(simd::group_key(1, i / kGroup), i % kGroup);
        values[i] = static_cast<float>(static_cast<std::int32_t>(drawn)) * 0x1p-31F;
    }
}

using Kernel = void (*)(Job, std::uint32_t*, std::uint32_t);

template <Format kFormat, bool kDraws>
Kernel kernel_for(const Job& job) {
    switch (job.direction) {
        case Direction::Encode:
            return kDraws && job.drawn ? code<kFormat, Direction::Encode, kDraws>
                                       : code<kFormat, Direction::Encode, false>;
        case Direction::Decode:
            return code<kFormat, Direction::Decode, false>;
        case Direction::DecodeAdd:
            return code<kFormat, Direction::DecodeAdd, false>;
    }
    return nullptr;
}

Kernel kernel_of(const Job& job) {
    switch (job.format) {
        case Format::Bf16:
            return kernel_for<Format::Bf16, false>(job);
        case Format::Fp16:
            return kernel_for<Format::Fp16, false>(job);
        case Format::Int8:
            return kernel_for<Format::Int8, false>(job);
        case Format::Int4:
            return kernel_for<Format::Int4, true>(job);
        case Format::HadamardInt4:
            return kernel_for<Format::HadamardInt4, true>(job);
    }
    return nullptr;
}

}  // namespace

/// Its buffers hold the verdict, then the coded bytes.
struct Session {
    int device = 0;
    cudaStream_t stream = nullptr;
    std::byte* there = nullptr;
    std::byte* pinned = nullptr;
    std::size_t size = 0;
    std::uint32_t calls = 0;

    ~Session() {
        cudaFree(there);
        cudaFreeHost(pinned);
    }

    [[nodiscard]] std::uint32_t* verdict_there() const {
        return reinterpret_cast<std::uint32_t*>(there);
    }

    [[nodiscard]] bool refused() const {
        std::uint32_t verdict = 0;
        std::memcpy(&verdict, pinned, sizeof verdict);
        return verdict == calls;
    }

    cudaError_t grow(std::size_t bytes) {
        cudaError_t error = cudaSetDevice(device);
        if (error != cudaSuccess || size >= kVerdictBytes + bytes) {
            return error;
        }
        cudaFree(there);
        cudaFreeHost(pinned);
        there = nullptr;
        pinned = nullptr;
        size = 0;
        const std::size_t wanted = kVerdictBytes + bytes;
        if (error = cudaMalloc(&there, wanted); error != cudaSuccess) {
            return error;
        }
        if (error = cudaMallocHost(&pinned, wanted); error != cudaSuccess) {
            return error;
        }
        if (error = cudaMemsetAsync(there, 0, kVerdictBytes, stream); error != cudaSuccess) {
            return error;
        }
        size = wanted;
        return cudaSuccess;
    }

    /// Enqueues the job under a new number.
    cudaError_t launch(const Job& job) {
        calls = calls == UINT32_MAX ? 1 : calls + 1;  // 0 is the verdict's initial value
        const std::uint64_t blocks = (groups_of(job) + kGroupsPerBlock - 1) / kGroupsPerBlock;
        if (blocks == 0) {
            return cudaSuccess;
        }
        kernel_of(job
        )<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(job, verdict_there(), calls);
        return cudaGetLastError();
    }
};

namespace {

int count_devices(int* count) {
    return cudaGetDeviceCount(count);
}

int open(int device, void* stream, Session** session, char* name, std::size_t name_size) {
    cudaDeviceProp properties{};
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, device);
        error != cudaSuccess) {
        return error;
    }
    std::snprintf(name, name_size, "%s", properties.name);
    auto opened = std::make_unique<Session>();
    opened->device = device;
    opened->stream = static_cast<cudaStream_t>(stream);
    *session = opened.release();
    return cudaSuccess;
}

void close(Session* session) {
    delete session;
}

int encode(Session* session, Job job, std::size_t bytes, CodedBytes* coded) {
    cudaError_t error = session->grow(bytes);
    if (error != cudaSuccess) {
        return error;
    }
    job.bytes = session->there + kVerdictBytes;
    if (error = session->launch(job); error != cudaSuccess) {
        return error;
    }
    error = cudaMemcpyAsync(
        session->pinned,
        session->there,
        kVerdictBytes + bytes,
        cudaMemcpyDeviceToHost,
        session->stream
    );
    if (error != cudaSuccess) {
        return error;
    }
    if (error = cudaStreamSynchronize(session->stream); error != cudaSuccess) {
        return error;
    }
    *coded = {session->pinned + kVerdictBytes, session->refused()};
    return cudaSuccess;
}

int decode(Session* session, Job job, const std::byte* from, std::size_t bytes, bool* refused) {
    cudaError_t error = session->grow(bytes);
    if (error != cudaSuccess) {
        return error;
    }
    job.bytes = session->there + kVerdictBytes;
    const cudaStream_t stream = session->stream;
    error = cudaMemcpyAsync(job.bytes, from, bytes, cudaMemcpyHostToDevice, stream);
    if (error != cudaSuccess) {
        return error;
    }
    if (error = session->launch(job); error != cudaSuccess) {
        return error;
    }
    error = cudaMemcpyAsync(
        session->pinned, session->there, kVerdictBytes, cudaMemcpyDeviceToHost, stream
    );
    if (error != cudaSuccess) {
        return error;
    }
    if (error = cudaStreamSynchronize(stream); error != cudaSuccess) {
        return error;
    }
    *refused = session->refused();
    return cudaSuccess;
}

int reserve(Session* session, std::size_t bytes, std::byte** pinned) {
    const cudaError_t error = session->grow(bytes);
    *pinned = session->pinned + kVerdictBytes;
    return error;
}

/// Returns the seconds of one of `rounds` launches in a row, after a launch that warms up.
template <class Launch>
cudaError_t time(cudaStream_t stream, int rounds, double* seconds, Launch launch) {
    cudaEvent_t began{};
    cudaEvent_t ended{};
    cudaEventCreate(&began);
    cudaEventCreate(&ended);
    launch();
    cudaEventRecord(began, stream);
    for (int i = 0; i < rounds; ++i) {
        launch();
    }
    cudaEventRecord(ended, stream);
    cudaError_t error = cudaEventSynchronize(ended);
    float milliseconds = 0;
    if (error == cudaSuccess) {
        error = cudaEventElapsedTime(&milliseconds, began, ended);
    }
    cudaEventDestroy(began);
    cudaEventDestroy(ended);
    *seconds = milliseconds * 1e-3 / rounds;
    return error == cudaSuccess ? cudaGetLastError() : error;
}

cudaError_t time_all(Session& session, Job job, float* other, int rounds, Timings* timings) {
    const cudaStream_t stream = session.stream;
    const auto coding = [&](Direction direction) {
        Job one = job;
        one.direction = direction;
        one.values = direction == Direction::Encode ? job.values : other;
        return [&session, one] { session.launch(one); };
    };
    const auto copy = [&] {
        const std::size_t size = job.count * sizeof(float);
        cudaMemcpyAsync(other, job.values, size, cudaMemcpyDeviceToDevice, stream);
    };
    cudaError_t error = time(stream, rounds, &timings->copy, copy);
    const auto next = [&](double* seconds, auto launch) {
        if (error == cudaSuccess) {
            error = time(stream, rounds, seconds, launch);
        }
    };
    next(&timings->launch, [&] { nothing<<<1, 1, 0, stream>>>(); });
    next(&timings->encode, coding(Direction::Encode));
    next(&timings->decode, coding(Direction::Decode));
    next(&timings->decode_add, coding(Direction::DecodeAdd));
    return error;
}

int measure(Session* session, Job job, std::size_t bytes, int rounds, Timings* timings) {
    cudaError_t error = session->grow(bytes);
    if (error != cudaSuccess) {
        return error;
    }
    const std::size_t size = job.count * sizeof(float);
    float* values = nullptr;
    if (error = cudaMalloc(&values, size); error != cudaSuccess) {
        return error;
    }
    float* other = nullptr;
    if (error = cudaMalloc(&other, size); error == cudaSuccess) {
        const auto blocks = static_cast<unsigned>((job.count + kThreads - 1) / kThreads);
        make_up<<<blocks, kThreads, 0, session->stream>>>(values, job.count);
        job.values = values;
        job.bytes = session->there + kVerdictBytes;
        error = time_all(*session, job, other, rounds, timings);
    }
    cudaFree(other);
    cudaFree(values);
    return error;
}

const char* error_name(int error) {
    return cudaGetErrorName(static_cast<cudaError_t>(error));
}

const char* error_text(int error) {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
}

}  // namespace
}  // namespace compression::cuda

const compression::cuda::Library* swarm_codecs_cuda() {
    using namespace compression::cuda;
    static constexpr Library library{
        .version = kLibraryVersion,
        .count_devices = count_devices,
        .open = open,
        .close = close,
        .encode = encode,
        .decode = decode,
        .reserve = reserve,
        .measure = measure,
        .error_name = error_name,
        .error_text = error_text};
    return &library;
}
