#include "compression/cuda/gpu.hpp"

#include "swarm/base/try.hpp"

#include <array>
#include <dlfcn.h>

namespace compression::cuda {
namespace {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

constexpr std::uintptr_t kAlignment = sizeof(Four);
/// Most values of a job: a grid has 2^31 - 1 blocks of sixteen groups. That is far above the bound
/// of a message.
constexpr std::uint64_t kValuesMax = 1ULL << 40;

Error unsupported(std::string why) {
    return {ErrorCode::Unsupported, Reaction::Reject, std::move(why)};
}

Error cuda_error(const Library& library, int error, const std::string& what = "the GPU") {
    return unsupported(
        what + ": " + std::string(library.error_name(error)) + ", " + library.error_text(error)
    );
}

Result<const Library*> load() {
    void* const file = dlopen(kLibraryFile, RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) {
        return unsupported(std::string(dlerror()) + "; it is built where CMake finds nvcc");
    }
    // POSIX lets dlsym()'s result be a function; C++ wants the cast spelt out.
    using Entry = const Library* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(file, "swarm_codecs_cuda"));
    if (entry == nullptr || entry()->version != kLibraryVersion) {
        return unsupported(std::string(kLibraryFile) + " is of another version; rebuild it");
    }
    return entry();
}

Result<Format> format_of(const Codec& codec) {
    switch (codec.id()) {
        case CodecId::Int8:
            return Format::Int8;
        case CodecId::Bf16:
            return Format::Bf16;
        case CodecId::Fp16:
            return Format::Fp16;
        case CodecId::Int4:
            return Format::Int4;
        case CodecId::HadamardInt4:
            return Format::HadamardInt4;
        default:
            return unsupported("no GPU codes " + std::string(codec.name()));
    }
}

Result<> check_values(std::span<const float> values) {
    if (reinterpret_cast<std::uintptr_t>(values.data()) % kAlignment != 0) {
        return unsupported("a GPU codes tensors that begin at a multiple of 16 bytes");
    }
    if (values.size() > kValuesMax) {
        return unsupported("a GPU codes at most 2^40 values at once");
    }
    return {};
}

}  // namespace

Result<int> count_gpus() {
    SWARM_TRY(const Library* const library, load());
    int count = 0;
    if (const int error = library->count_devices(&count); error != 0) {
        return cuda_error(*library, error, "CUDA finds no GPU");
    }
    return count > 0 ? Result<int>(count) : unsupported("CUDA finds no GPU");
}

Result<Job> job_of(const Codec& codec, Direction direction, TensorRole role, std::uint64_t seed) {
    SWARM_TRY(const Format format, format_of(codec));
    if (direction == Direction::Encode) {
        SWARM_TRY(codec.check_role(role));
    }
    return Job{
        .format = format,
        .direction = direction,
        .drawn = is_gradient(role),
        .seed = seed,
        .count = 0,
        .values = nullptr,
        .bytes = nullptr};
}

Result<Gpu> Gpu::open(int device, void* stream) {
    const auto library = load();
    return library.has_error() ? Result<Gpu>(library.error()) : open(**library, device, stream);
}

Result<Gpu> Gpu::open(const Library& library, int device, void* stream) {
    Session* session = nullptr;
    std::array<char, 256> name{};
    const int error = library.open(device, stream, &session, name.data(), name.size());
    if (error != 0) {
        return cuda_error(library, error);
    }
    return Gpu(library, session, name.data());
}

Result<std::span<const std::byte>> Gpu::encode(
    const Codec& codec, std::span<const float> values, TensorRole role, std::uint64_t seed
) {
    SWARM_TRY(auto job, job_of(codec, Direction::Encode, role, seed));
    SWARM_TRY(check_values(values));
    job.values = const_cast<float*>(values.data());  // Encode only reads them
    job.count = values.size();
    const std::size_t bytes = codec.encoded_bytes(values.size());
    CodedBytes coded{};
    if (const int error = library_.encode(session_.get(), job, bytes, &coded); error != 0) {
        return cuda_error(library_, error);
    }
    if (coded.refused) {
        return Error{
            ErrorCode::NotFinite,
            Reaction::Reject,
            std::string(codec.name()) + " cannot carry NaN, infinity or so large a value"};
    }
    return std::span<const std::byte>(coded.pinned, bytes);
}

Result<> Gpu::decode(const Codec& codec, std::span<const std::byte> bytes, std::span<float> out) {
    return read(codec, Direction::Decode, bytes, out);
}

Result<> Gpu::decode_add(
    const Codec& codec, std::span<const std::byte> bytes, std::span<float> sum
) {
    return read(codec, Direction::DecodeAdd, bytes, sum);
}

Result<> Gpu::read(
    const Codec& codec,
    Direction direction,
    std::span<const std::byte> bytes,
    std::span<float> values
) {
    SWARM_TRY(auto job, job_of(codec, direction, TensorRole::Activation, 0));
    SWARM_TRY(check_values(values));
    if (bytes.size() != codec.encoded_bytes(values.size())) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            std::string(codec.name()) + ": " + std::to_string(bytes.size()) + " bytes for " +
                std::to_string(values.size()) + " values"};
    }
    job.values = values.data();
    job.count = values.size();
    bool refused = false;
    const int error = library_.decode(session_.get(), job, bytes.data(), bytes.size(), &refused);
    if (error != 0) {
        return cuda_error(library_, error);
    }
    if (refused) {
        const bool half = job.format == Format::Bf16 || job.format == Format::Fp16;
        return Error{
            half ? ErrorCode::NotFinite : ErrorCode::Malformed,
            Reaction::Reject,
            std::string(codec.name()) + ": bytes that no encoder writes"};
    }
    return {};
}

Result<std::span<std::byte>> Gpu::reserve(std::size_t bytes) {
    std::byte* pinned = nullptr;
    if (const int error = library_.reserve(session_.get(), bytes, &pinned); error != 0) {
        return cuda_error(library_, error);
    }
    return std::span(pinned, bytes);
}

Result<Timings> Gpu::measure(
    const Codec& codec, TensorRole role, std::uint64_t elements, int rounds
) {
    SWARM_TRY(auto job, job_of(codec, Direction::Encode, role, 1));
    job.count = elements;
    Timings timings{};
    const std::size_t bytes = codec.encoded_bytes(elements);
    const int error = library_.measure(session_.get(), job, bytes, rounds, &timings);
    if (error != 0) {
        return cuda_error(library_, error);
    }
    return timings;
}

}  // namespace compression::cuda
