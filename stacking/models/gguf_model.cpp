#include "stacking/models/gguf_model.hpp"

#include "stacking/models/families/family.hpp"
#include "stacking/models/families/gguf_keys.hpp"
#include "stacking/models/gguf_architecture.hpp"
#include "stacking/models/tensor_names.hpp"
#include "swarm/base/try.hpp"

#include <map>
#include <set>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::TensorSpec;

namespace {

Error unfit_gguf(ErrorCode code, const std::string& what) {
    return {code, Reaction::Reject, "GGUF: " + what};
}

/// Refuses a part whose other parts were not opened.
Result<> check_whole(const GgufHeader& header, std::size_t files) {
    GgufKeys keys(header, "");
    const std::uint32_t parts = keys.count_or("split.count", 1);
    if (parts > 1 && parts != files) {
        return unfit_gguf(
            ErrorCode::Unsupported,
            "this is part " + std::to_string(keys.count_or("split.no", 0) + 1) + " of " +
                std::to_string(parts) + " of a split model, without the others"
        );
    }
    return {};
}

std::uint32_t interleaved_heads(const Architecture& architecture, std::string_view name) {
    if (!family_of(architecture).gguf_interleaves) {
        return 0;
    }
    if (name.ends_with(".attn.wq")) {
        return architecture.model.heads;
    }
    return name.ends_with(".attn.wk") ? architecture.model.kv_heads : 0;
}

}  // namespace

Result<ModelSource> open_gguf(ModelSource::Files files, const GgufHeader& header) {
    SWARM_TRY(check_whole(header, files.size()));
    SWARM_TRY(auto architecture, read_gguf_architecture(header, files));
    SWARM_TRY(check(architecture));
    std::map<std::string_view, const GgufTensor*> all;
    for (const GgufTensor& tensor : header.tensors) {
        all.emplace(tensor.name, &tensor);
    }
    std::set<std::string_view> used;
    ModelSource::Tensors tensors;
    for (const TensorSpec& wanted : tensors_of(architecture)) {
        const bool tied = architecture.tied_embeddings && wanted.name == "head.weight";
        TensorSpec spec = wanted;
        spec.name = tied ? "embed.weight" : wanted.name;
        const TensorPlace place = place_of(spec, architecture, Naming::Gguf);
        const auto found = all.find(place.name);
        if (found == all.end()) {
            return unfit_gguf(ErrorCode::Malformed, "there is no tensor " + place.name);
        }
        const GgufTensor& from = *found->second;
        const StoredTensor whole{
            .shape = from.shape,
            .type = from.type,
            .file = from.file,
            .offset = from.offset,
            .bytes = from.bytes};
        SWARM_TRY(auto stored, cut(whole, place, wanted));
        stored.interleaved_heads = interleaved_heads(architecture, wanted.name);
        tensors.emplace(wanted.name, std::move(stored));
        used.insert(found->first);
    }
    for (const auto& [name, tensor] : all) {
        if (!used.contains(name) && !is_rope_table(name)) {
            return unfit_gguf(
                ErrorCode::Unsupported,
                "the tensor " + printable(name) + " is no part of a " +
                    std::string(architecture.traits.family) + " that can be computed"
            );
        }
    }
    return ModelSource::make(std::move(architecture), std::move(tensors), std::move(files));
}

Result<ModelSource> open_gguf(std::unique_ptr<ByteSource> file, const GgufHeader& header) {
    ModelSource::Files files;
    files.push_back(std::move(file));
    return open_gguf(std::move(files), header);
}

Result<ModelSource> open_gguf(std::unique_ptr<ByteSource> file) {
    SWARM_TRY(const auto header, read_gguf_header(*file));
    return open_gguf(std::move(file), header);
}

}  // namespace stacking::models
