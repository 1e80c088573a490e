#include "stacking/sessions/kept/open_texts.hpp"

namespace stacking::sessions {

OpenText* OpenTexts::find(std::uint64_t session) {
    const auto found = texts_.find(session);
    return found == texts_.end() ? nullptr : &found->second;
}

std::optional<OpenTexts::Match> OpenTexts::find(
    std::span<const std::uint64_t> names, const Fits& fits
) const {
    Match best;
    for (const auto& [session, open] : texts_) {
        const std::size_t pages = common_pages(names, open.text.names);
        if (pages > best.pages && fits(open, pages)) {
            best = {session, &open, pages};
        }
    }
    return best.open == nullptr ? std::nullopt : std::optional(best);
}

}  // namespace stacking::sessions
