// The memory that a client has of its texts that peers keep: their names page by page, and the
// route whose peers have them. So the next request with the same beginning goes there.
// PageNames names the pages of a text: a name stands for all tokens up to the end of its page, and
// for a scope. Names of another scope are other names, so users who share a client share nothing.
// Threading: single strand. Bounds: kTextsMax texts, kTtl each.
// Cost: names() hashes each token once; find() compares with each text.
#pragma once

#include "stacking/session_compute.hpp"
#include "stacking/sessions/kept/kept_caches.hpp"
#include "swarm/base/digest.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace stacking::sessions {

class PageNames {
 public:
    /// `salt`: a number that strangers do not know, so nobody finds tokens with another's names.
    PageNames(std::uint64_t salt, std::uint64_t scope);

    /// Returns the names of the whole pages of the text, which begins with the text before.
    const std::vector<std::uint64_t>& names(std::span<const TokenId> text);

 private:
    swarm::Digest last_;
    std::vector<std::uint64_t> names_;
};

struct KeptText {
    /// A hop of the route that read the text.
    struct Hop {
        swarm::Digest model;
        swarm::Digest weights;  // the peer's word for them
        swarm::protocol::LayerRange layers;
        swarm::PeerId peer;
        swarm::protocol::CodecId codec = swarm::protocol::CodecId::None;
    };

    std::vector<std::uint64_t> names;
    std::vector<Hop> hops{};
    swarm::TimePoint until{};
    bool is_doubtful = false;  // a link to one of the peers broke: perhaps it died, with the pages
};

class KeptTexts {
 public:
    static constexpr std::size_t kTextsMax = 1024;
    static constexpr swarm::Duration kTtl = KeptCaches::kTtl;

    struct Match {
        const KeptText* text = nullptr;
        std::size_t pages = 0;
    };

    /// Replaces texts that begin the new one.
    void add(KeptText text, swarm::TimePoint now);

    /// Notes that a link to the peer broke.
    void doubt(swarm::PeerId peer);

    using Fits = std::function<bool(const KeptText& text)>;

    /// Returns the text with the most pages in common, of those that fit; of equals the newest.
    [[nodiscard]] std::optional<Match> find(
        std::span<const std::uint64_t> names, swarm::TimePoint now, const Fits& fits = {}
    );

 private:
    void expire(swarm::TimePoint now);

    std::deque<KeptText> texts_;  // by age, oldest first
};

/// Returns the names as hops know them, which stand for the route's models, weights, layers and
/// codecs, too: rows depend on all of them.
std::vector<std::uint64_t> names_on_path(
    std::span<const std::uint64_t> names, std::span<const KeptText::Hop> hops
);

}  // namespace stacking::sessions
