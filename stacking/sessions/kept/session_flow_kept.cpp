// Third part of SessionFlow: what peers have read before, or read for another session of the
// client. A text goes to the peers that have its beginning, and they read the rest; at its end it
// is kept in turn. Of several that begin alike the first one reads, and the others follow.
#include "stacking/row_coding.hpp"
#include "stacking/sessions/session_flow.hpp"

#include <algorithm>

namespace stacking::sessions {

namespace {

/// Pages that another session must have more than those that can be shared at once, so that it is
/// worth waiting until it has read them.
constexpr std::size_t kPagesWorthWaiting = 2;

}  // namespace

/// Names the pages of the prompt. At least one of its rows is read: the next token comes from it.
/// Rows alone do not say what was drawn from, or where a path ended: such texts are read anew.
void SessionFlow::name_beginning() {
    if (request_.keeps_for && !member_ && tokens_upto_ == 0 && request_.exit_threshold > 1) {
        names_.emplace(context_.salt, *request_.keeps_for);
        beginning_ = names_->names(std::span(tokens_).first(request_.prompt.size() - 1));
    }
}

/// Whether a session over these hops computes the rows of the text. The peers that are listed for
/// layers have the same weights, so those of any of them count.
bool SessionFlow::goes_the_way_of(const KeptText& text, bool with_codecs) const {
    if (text.hops.size() != hops_.size()) {
        return false;
    }
    for (std::uint32_t i = 0; i < hops_.size(); ++i) {
        const KeptText::Hop& kept = text.hops[i];
        const protocol::RowCodec wanted =
            hops_[i].codec ? hops_[i].codec : codec_of_link(request_.codecs, i);
        const std::vector<PeerId> hosts = hops_[i].context->hosts_of(hops_[i].layers);
        if (hosts.empty() || hops_[i].context->weights_of(hosts.front()) != kept.weights ||
            kept.model != hops_[i].context->model || kept.layers != hops_[i].layers ||
            (with_codecs && wanted && *wanted != kept.codec)) {
            return false;
        }
    }
    return true;
}

bool SessionFlow::may_go_to(std::size_t hop, PeerId peer, TimePoint now) const {
    const std::vector<PeerId> hosts = hops_[hop].context->hosts_of(hops_[hop].layers);
    return hops_[hop].context->router.may_return(peer, hosts, left_, now);
}

/// Returns how many hops without a peer may have that of the text.
std::size_t SessionFlow::hops_at(const KeptText& text, TimePoint now) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < hops_.size(); ++i) {
        count += !hops_[i].peer && may_go_to(i, text.hops[i].peer, now) ? 1 : 0;
    }
    return count;
}

/// Returns the session that reads more of this beginning than the pages that are there. It is worth
/// waiting for when the beginning is most of what it reads, and while it comes on: the second half
/// of the patience is for going on alone.
std::optional<OpenTexts::Match> SessionFlow::worth_waiting(std::size_t pages, TimePoint now) const {
    const auto lacks = [](const Hop& hop) { return !hop.peer; };
    const auto lacking = static_cast<std::size_t>(std::ranges::count_if(hops_, lacks));
    return context_.open.find(beginning_, [&](const OpenText& open, std::size_t common) {
        return !open.is_read && common >= pages + kPagesWorthWaiting &&
               2 * common * kSharedPositions >= open.to_read &&
               now < open.moved_at + context_.patience / 2 && goes_the_way_of(open.text, false) &&
               hops_at(open.text, now) == lacking;
    });
}

/// Looks for peers that have read the beginning of the text, or are about to, for the hops that
/// have no peer.
void SessionFlow::seek_beginning(node::Turn turn) {
    const auto lacks = [](const Hop& hop) { return !hop.peer; };
    if (beginning_.empty() || std::ranges::none_of(hops_, lacks)) {
        return;
    }
    follow_no_longer();
    const auto fits = [&](const KeptText& text) {
        return goes_the_way_of(text, true) && hops_at(text, turn.now) > 0;
    };
    const auto kept = context_.kept.find(beginning_, turn.now, [&](const KeptText& text) {
        return !text.is_doubtful && fits(text);
    });
    const auto read = context_.open.find(beginning_, [&](const OpenText& open, std::size_t) {
        return open.is_read && fits(open.text);
    });
    const std::size_t here = kept ? kept->pages : 0;
    const std::size_t there = read ? read->pages : 0;
    if (const auto leader = worth_waiting(std::max(here, there), turn.now)) {
        follows_ = leader->session;
        for (const KeptText::Hop& hop : leader->open->text.hops) {
            kept_at_.push_back(hop.peer);
        }
    } else if (read && there >= here) {
        share(read->session, *read->open, turn);
    } else if (kept) {
        go_to(*kept->text);
    } else if (const auto doubtful = context_.kept.find(beginning_, turn.now, fits)) {
        go_to(*doubtful->text);
    }
}

/// Makes the peers of an open session keep its beginning, and goes to them.
void SessionFlow::share(std::uint64_t session, const OpenText& open, node::Turn turn) {
    const std::vector<std::uint64_t> names = names_on_path(open.text.names, open.text.hops);
    std::set<PeerId> peers;
    for (const KeptText::Hop& hop : open.text.hops) {
        if (peers.insert(hop.peer).second) {
            send(hop.peer, protocol::SessionShare{session, names}, turn);
        }
    }
    go_to(open.text);
    context_.kept.add(open.text, turn.now);
}

void SessionFlow::go_to(const KeptText& text) {
    kept_at_.clear();
    for (std::size_t i = 0; i < hops_.size(); ++i) {
        hops_[i].codec = text.hops[i].codec;
        kept_at_.push_back(text.hops[i].peer);
    }
}

void SessionFlow::follow_no_longer() {
    follows_.reset();
    kept_at_.clear();
    for (Hop& hop : hops_) {
        hop.follows = false;
    }
}

/// Gives up a leader that has no route any more, or another one, or does not come on.
void SessionFlow::drop_lost_leader(TimePoint now) {
    if (!follows_) {
        return;
    }
    const OpenText* const open = context_.open.find(*follows_);
    bool leads = open != nullptr && goes_the_way_of(open->text, open->is_read) &&
                 (open->is_read || now < open->moved_at + context_.patience / 2);
    for (std::size_t i = 0; leads && i < hops_.size(); ++i) {
        leads = !hops_[i].follows || open->text.hops[i].peer == hops_[i].peer;
    }
    if (leads) {
        return;
    }
    for (Hop& hop : hops_) {
        if (hop.follows) {
            hop.context->router.left(*hop.peer, hop.placed);
            hop.peer.reset();
        }
    }
    follow_no_longer();
}

/// Whether the session has to wait for the leader. When that has read, its pages are shared.
bool SessionFlow::waits_for_leader(node::Turn turn) {
    if (!follows_) {
        return false;
    }
    const OpenText& open = *context_.open.find(*follows_);
    if (open.is_read) {
        share(*follows_, open, turn);
        follows_.reset();
        return false;
    }
    patient_since_ = std::max(patient_since_, open.moved_at);
    due_ = open.moved_at + context_.patience / 2;
    return true;
}

/// Returns the peer that has read the beginning for this hop, if it may be had.
std::optional<PeerId> SessionFlow::keeper(std::size_t hop, TimePoint now) const {
    const bool may = !kept_at_.empty() && may_go_to(hop, kept_at_[hop], now);
    return may ? std::optional(kept_at_[hop]) : std::nullopt;
}

/// Returns the hops as those of a kept text; none while the directory does not list a peer.
std::vector<KeptText::Hop> SessionFlow::way() const {
    std::vector<KeptText::Hop> way;
    for (const Hop& hop : hops_) {
        const auto weights = hop.peer ? hop.context->weights_of(*hop.peer) : std::nullopt;
        if (!weights) {
            return {};
        }
        const auto codec = hop.codec.value_or(protocol::CodecId::None);
        way.push_back({hop.context->model, *weights, hop.layers, *hop.peer, codec});
    }
    return way;
}

/// Lets others of the client's sessions know what this one reads, and names to its peers what they
/// may have: another of them may have left it there.
void SessionFlow::note_route() {
    kept_names_.clear();
    std::vector<KeptText::Hop> hops = beginning_.empty() ? std::vector<KeptText::Hop>() : way();
    if (hops.empty()) {
        return;
    }
    if (std::ranges::all_of(hops_, [](const Hop& hop) { return hop.codec.has_value(); })) {
        kept_names_ = names_on_path(beginning_, hops);
    }
    context_.open.set(session_, {{beginning_, std::move(hops)}, known(), false, patient_since_});
}

/// Notes that the token has come, so every hop has read the prompt.
void SessionFlow::note_read() {
    OpenText* const open = context_.open.find(session_);
    if (open == nullptr || open->is_read) {
        return;
    }
    for (std::size_t i = 0; i < hops_.size(); ++i) {
        open->text.hops[i].codec = *hops_[i].codec;
    }
    open->is_read = true;
}

/// Lets the last call of the prompt begin behind all that a hop has read: no hop cuts pages that it
/// shares.
void SessionFlow::begin_behind_reused() {
    if (known() > request_.prompt.size()) {
        return;
    }
    std::uint32_t most = 0;
    std::uint32_t least = known() - 1;
    for (const Hop& hop : hops_) {
        most = std::max(most, std::min(hop.filled_upto, known() - 1));
        least = std::min(least, hop.filled_upto);
    }
    reused_ = reused_.value_or(least);
    if (!kept_names_.empty() && most > calls_.back()) {
        calls_.push_back(most);
    }
}

/// Remembers where the text is kept, and returns its names for the hops; none when it is not kept.
std::vector<std::uint64_t> SessionFlow::keep_text(TimePoint now) {
    if (!names_ || phase_ != Phase::Running) {
        return {};
    }
    // Where a session is cut short, the row of the last token may still be one of a wrong guess.
    const std::uint32_t certain = left_ == 0 ? known() : known() - 1;
    KeptText text{.names = names_->names(std::span(tokens_).first(certain)), .hops = way()};
    if (text.names.empty() || text.hops.empty()) {
        return {};
    }
    std::vector<std::uint64_t> names = names_on_path(text.names, text.hops);
    // Each hop keeps what it has read of a prompt that was cut short; all of them have this much.
    const std::size_t read = read_by_all() / kSharedPositions;
    text.names.resize(std::min(text.names.size(), read));
    if (!text.names.empty()) {
        context_.kept.add(std::move(text), now);
    }
    return names;
}

}  // namespace stacking::sessions
