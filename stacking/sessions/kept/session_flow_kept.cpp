// Third part of SessionFlow: what peers have read before. A text goes to the peers that keep its
// beginning, and they read the rest; at its end it is kept in turn.
#include "stacking/row_coding.hpp"
#include "stacking/sessions/session_flow.hpp"

#include <algorithm>

namespace stacking::sessions {

/// Rows alone do not say what was drawn from, or where a path ended: such texts are read anew.
bool SessionFlow::can_keep() const {
    return request_.keeps_for && !member_ && tokens_upto_ == 0 && request_.exit_threshold > 1;
}

/// Looks for a kept beginning of the prompt. At least one of its rows is read: the next token comes
/// from it.
void SessionFlow::recall(TimePoint now) {
    if (!can_keep()) {
        return;
    }
    names_.emplace(context_.salt, *request_.keeps_for);
    const auto& names = names_->names(std::span(tokens_).first(known() - 1));
    const auto found = context_.kept.find(names, now);
    if (!found || !goes_the_way_of(*found->text)) {
        return;
    }
    for (std::size_t i = 0; i < hops_.size(); ++i) {
        hops_[i].codec = found->text->hops[i].codec;
        kept_at_.push_back(found->text->hops[i].peer);
    }
    kept_names_ = names_on_path(std::span(names).first(found->pages), found->text->hops);
}

/// Whether a session over these hops computes the rows of the text. The peers that are listed for
/// layers have the same weights, so those of any of them count.
bool SessionFlow::goes_the_way_of(const KeptText& text) const {
    if (text.hops.size() != hops_.size()) {
        return false;
    }
    for (std::uint32_t i = 0; i < hops_.size(); ++i) {
        const KeptText::Hop& kept = text.hops[i];
        const protocol::RowCodec wanted = codec_of_link(request_.codecs, i);
        const std::vector<PeerId> hosts = hops_[i].context->hosts_of(hops_[i].layers);
        if (hosts.empty() || hops_[i].context->weights_of(hosts.front()) != kept.weights ||
            kept.model != hops_[i].context->model || kept.layers != hops_[i].layers ||
            (wanted && *wanted != kept.codec)) {
            return false;
        }
    }
    return true;
}

/// Returns the peer that has read the beginning for this hop, if it may be had.
std::optional<PeerId> SessionFlow::keeper(std::size_t hop, TimePoint now) const {
    if (kept_at_.empty()) {
        return std::nullopt;
    }
    const PeerId peer = kept_at_[hop];
    const std::vector<PeerId> hosts = hops_[hop].context->hosts_of(hops_[hop].layers);
    const bool may = hops_[hop].context->router.may_return(peer, hosts, left_, now);
    return may ? std::optional(peer) : std::nullopt;
}

/// Lets the last call of the prompt begin behind all that a hop has read: no hop cuts pages that it
/// shares.
void SessionFlow::begin_behind_reused() {
    if (kept_names_.empty() || known() > request_.prompt.size()) {
        return;
    }
    std::uint32_t most = 0;
    std::uint32_t least = known() - 1;
    for (const Hop& hop : hops_) {
        most = std::max(most, std::min(hop.filled_upto, known() - 1));
        least = std::min(least, hop.filled_upto);
    }
    reused_ = reused_.value_or(least);
    if (most > calls_.back()) {
        calls_.push_back(most);
    }
}

/// Remembers where the text is kept, and returns its names for the hops; none when it is not kept.
std::vector<std::uint64_t> SessionFlow::keep_text(TimePoint now) {
    if (!names_ || phase_ != Phase::Running) {
        return {};
    }
    KeptText text{.names = names_->names(tokens_)};
    for (const Hop& hop : hops_) {
        const auto weights = hop.peer ? hop.context->weights_of(*hop.peer) : std::nullopt;
        if (!weights || !hop.codec) {
            return {};
        }
        text.hops.push_back({hop.context->model, *weights, hop.layers, *hop.peer, *hop.codec});
    }
    if (text.names.empty()) {
        return {};
    }
    std::vector<std::uint64_t> names = names_on_path(text.names, text.hops);
    context_.kept.add(std::move(text), now);
    return names;
}

}  // namespace stacking::sessions
