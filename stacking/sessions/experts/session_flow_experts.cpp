// The part of SessionFlow that tells people which experts a text goes without.
#include "stacking/sessions/session_flow.hpp"

#include <algorithm>
#include <string>

namespace stacking::sessions {

/// Each expert is told once, whichever hops lack it.
void SessionFlow::take(PeerId from, const protocol::SessionLacks& lacks, node::Turn turn) {
    if (std::ranges::find(hops_, from, &Hop::peer) == hops_.end()) {
        return;
    }
    std::string news;
    for (const std::uint32_t expert : lacks.experts) {
        if (lacking_.insert(expert).second) {
            news += (news.empty() ? "" : ", ") + std::to_string(expert);
        }
    }
    if (!news.empty()) {
        turn.out.log(
            node::LogLine::Level::Warning,
            "nobody lends expert " + news + " of " + context_.name +
                "; the text goes on without it, and differs from what the whole model says"
        );
    }
}

}  // namespace stacking::sessions
