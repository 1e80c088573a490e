#include "stages/torch/library/torch_library.hpp"

#include "stages/torch/library/entry.hpp"
#include "swarm/base/try.hpp"

#include <dlfcn.h>

namespace stages::torch_library {
namespace {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

Result<const Entry*> open_library() {
    void* const file = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            "LibTorch cannot be loaded (" + std::string(dlerror()) +
                "), so only the oracle model can be trained: build with LibTorch, or use "
                "--model oracle"};
    }
    // POSIX allows that dlsym() returns a function; C++ needs the cast for it.
    using Find = const Entry* (*)();
    const auto find = reinterpret_cast<Find>(dlsym(file, kEntryName));
    if (find == nullptr || find()->build != kBuild) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            std::string(kFile) + " is of another build of swarm; build both, or install both"};
    }
    return find();
}

Result<const Entry*> opened() {
    static const Result<const Entry*> library = open_library();
    return library;
}

}  // namespace

Result<> load() {
    SWARM_TRY(opened());
    return {};
}

Result<std::unique_ptr<StageCompute>> make_llama_compute(
    const swarm::run::RunConfig& config,
    const swarm::run::StageLayout& layout,
    std::string_view device,
    std::uint32_t threads
) {
    SWARM_TRY(const Entry* const entry, opened());
    return entry->make_llama_compute(config, layout, device, threads);
}

Result<std::string> library_info() {
    SWARM_TRY(const Entry* const entry, opened());
    return entry->library_info();
}

Result<std::string> first_gpu() {
    SWARM_TRY(const Entry* const entry, opened());
    return entry->first_gpu();
}

}  // namespace stages::torch_library
