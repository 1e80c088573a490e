#include "compression/half.hpp"
#include "compression/int4.hpp"
#include "compression/int8.hpp"
#include "compression/none.hpp"
#include "compression/sparse.hpp"

#include <array>
#include <vector>

namespace compression {
namespace {

using Codecs = std::vector<std::unique_ptr<const Codec>>;

/// All codecs, in the order of their numbers.
constexpr std::unique_ptr<const Codec> (*kFactories[])(const simd::Kernels&) = {
    make_none, make_int8, make_bf16, make_fp16, make_int4, make_hadamard_int4, make_sparse};

Codecs make_all(const simd::Kernels* kernels) {
    Codecs codecs;
    if (kernels != nullptr) {
        for (const auto make : kFactories) {
            codecs.push_back(make(*kernels));
        }
    }
    return codecs;
}

const Codecs& codecs() {
    static const Codecs all = make_all(&simd::best_kernels());
    return all;
}

}  // namespace

const Codec* find_codec(std::string_view name) {
    for (const auto& codec : codecs()) {
        if (codec->name() == name) {
            return codec.get();
        }
    }
    return nullptr;
}

const Codec* find_codec(CodecId id) {
    for (const auto& codec : codecs()) {
        if (codec->id() == id) {
            return codec.get();
        }
    }
    return nullptr;
}

std::span<const std::unique_ptr<const Codec>> codecs_on(simd::Path path) {
    static const std::array all{
        make_all(simd::kernels_of(simd::Path::Scalar)),
        make_all(simd::kernels_of(simd::Path::Avx2)),
        make_all(simd::kernels_of(simd::Path::Avx512))};
    return all[static_cast<std::size_t>(path)];
}

std::string codec_names() {
    std::string names;
    for (const auto& codec : codecs()) {
        if (codec->check_role(TensorRole::Activation)) {
            names += names.empty() ? "" : ", ";
            names += codec->name();
        }
    }
    return names;
}

}  // namespace compression
