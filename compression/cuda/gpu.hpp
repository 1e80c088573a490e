// The codecs on a GPU: values in the GPU's memory become bytes in pinned memory of the host, and
// back.
// Invariant: the bytes and values equal those of Codec::encode and decode, bit for bit.
// A tensor takes one kernel and one copy; a flag in front of the bytes says whether it was refused.
// libswarm_codecs_cuda.so is loaded when the first Gpu is opened (as the system looks for any
// library); without it, or without a GPU, open() says why and everything else works.
// Threading: one thread at a time per Gpu. A call waits for the stream's earlier work, and returns
// when its own is done. Addresses on the GPU: multiples of 16 bytes.
// Errors, Reject: the same as Codec's; Unsupported (no library, no GPU, a codec or address that is
// not served, a CUDA error, with its name).
#pragma once

#include "compression/codec.hpp"
#include "compression/cuda/library.hpp"

namespace compression::cuda {

/// Returns how many GPUs there are, or why there is none to code on.
Result<int> count_gpus();

/// The job of a kernel: for Gpu, and for tests that run the lanes on the host.
Result<Job> job_of(const Codec& codec, Direction direction, TensorRole role, std::uint64_t seed);

class Gpu {
 public:
    /// `stream`: a cudaStream_t of that GPU, such as the stream that computes the values; null is
    /// the default stream.
    static Result<Gpu> open(int device, void* stream = nullptr);
    /// Opens a GPU with a library that is loaded already.
    static Result<Gpu> open(const Library& library, int device, void* stream = nullptr);

    [[nodiscard]] const std::string& name() const { return name_; }

    /// `values` lie on the GPU; the bytes are valid until the next call.
    Result<std::span<const std::byte>> encode(
        const Codec& codec, std::span<const float> values, TensorRole role, std::uint64_t seed
    );
    /// `out` and `sum` lie on the GPU; after an error they are unspecified.
    Result<> decode(const Codec& codec, std::span<const std::byte> bytes, std::span<float> out);
    Result<> decode_add(const Codec& codec, std::span<const std::byte> bytes, std::span<float> sum);
    /// Pinned memory to receive bytes for decode() into; valid until the next call other than
    /// decode().
    Result<std::span<std::byte>> reserve(std::size_t bytes);

    /// Times the kernels alone, on made-up values; `role` as in encode.
    Result<Timings> measure(
        const Codec& codec, TensorRole role, std::uint64_t elements, int rounds
    );

 private:
    struct Close {
        const Library* library;

        void operator()(Session* session) const { library->close(session); }
    };

    Gpu(const Library& library, Session* session, std::string name)
        : library_(library), session_(session, Close{&library}), name_(std::move(name)) {}

    Result<> read(
        const Codec& codec,
        Direction direction,
        std::span<const std::byte> bytes,
        std::span<float> values
    );

    const Library& library_;
    std::unique_ptr<Session, Close> session_;
    std::string name_;
};

}  // namespace compression::cuda
