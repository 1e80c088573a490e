#include "stacking/models/families/family.hpp"

#include "swarm/base/check.hpp"

namespace stacking::models {

std::span<const Family* const> all_families() {
    static constexpr const Family* kAll[] = {
        &kLlama,
        &kMistral,
        &kMixtral,
        &kQwen2,
        &kQwen2Moe,
        &kQwen3,
        &kQwen3Moe,
        &kGemma,
        &kGemma2,
        &kGemma3,
        &kPhi3,
        &kOlmo2,
        &kOlmoe,
        &kSmolLm3,
        &kGranite};
    return kAll;
}

const Family* find_family(std::string_view model_type) {
    for (const Family* const family : all_families()) {
        if (family->name == model_type) {
            return family;
        }
    }
    return nullptr;
}

const Family* find_gguf_family(std::string_view architecture, bool with_experts) {
    if (architecture == kLlama.gguf) {
        return with_experts ? &kMixtral : &kLlama;
    }
    for (const Family* const family : all_families()) {
        if (family->gguf == architecture) {
            return family;
        }
    }
    return nullptr;
}

const Family& family_of(const Architecture& architecture) {
    const Family* const family = find_family(architecture.traits.family);
    SWARM_ASSERT(family != nullptr);
    return *family;
}

std::string family_names(bool gguf) {
    std::string names;
    for (const Family* const family : all_families()) {
        const std::string name(gguf ? family->gguf : family->name);
        if ((", " + names + ",").find(", " + name + ",") == std::string::npos) {
            names += (names.empty() ? "" : ", ") + name;
        }
    }
    return names;
}

}  // namespace stacking::models
