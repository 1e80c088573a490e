#include "stacking/model_path.hpp"

#include <algorithm>

namespace stacking {

std::string path_refusal(
    std::span<const std::uint32_t> path, std::uint32_t stages, Embeddings embeddings
) {
    if (path.empty()) {
        return "the path is empty";
    }
    const bool tied = embeddings == Embeddings::Tied;
    const std::uint32_t last = stages - 1;
    const auto is_end = [last](std::uint32_t stage) { return stage == 0 || stage == last; };
    const bool begins = tied ? is_end(path.front()) : path.front() == 0;
    const bool ends = tied ? is_end(path.back()) : path.back() == last;
    const bool known = std::ranges::all_of(path, [last](auto stage) { return stage <= last; });
    if (begins && ends && known) {
        return "";
    }
    const std::string tail = std::to_string(last);
    return tied ? "the path must begin and end with stage 0 or stage " + tail +
                      ", which have the embedding, and name stages up to that"
                : "the path must begin with stage 0, which has the embedding, end with stage " +
                      tail + ", which has the head, and name stages up to that";
}

}  // namespace stacking
