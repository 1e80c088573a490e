#include "stacking/sessions/kept/kept_texts.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace stacking::sessions {
namespace {

using swarm::Sha256;

/// Adds the bytes of numbers, which are the same on all machines that run the program: all are
/// little-endian.
template <class Number>
void add_numbers(Sha256& hash, std::span<const Number> numbers) {
    hash.add(std::as_bytes(numbers));
}

void add_number(Sha256& hash, std::uint64_t number) {
    add_numbers(hash, std::span<const std::uint64_t>(&number, 1));
}

void add_digest(Sha256& hash, const swarm::Digest& digest) {
    hash.add(std::as_bytes(std::span(digest.bytes)));
}

std::uint64_t first_word(const swarm::Digest& digest) {
    std::uint64_t word = 0;
    std::memcpy(&word, digest.bytes.data(), sizeof word);
    return word;
}

}  // namespace

PageNames::PageNames(std::uint64_t salt, std::uint64_t scope) {
    Sha256 hash;
    add_number(hash, salt);
    add_number(hash, scope);
    last_ = hash.finish();
}

const std::vector<std::uint64_t>& PageNames::names(std::span<const TokenId> text) {
    while (names_.size() < swarm::protocol::kPrefixPagesMax &&
           (names_.size() + 1) * kSharedPositions <= text.size()) {
        Sha256 hash;
        add_digest(hash, last_);
        add_numbers(hash, text.subspan(names_.size() * kSharedPositions, kSharedPositions));
        last_ = hash.finish();
        names_.push_back(first_word(last_));
    }
    return names_;
}

void KeptTexts::add(KeptText text, swarm::TimePoint now) {
    expire(now);
    std::erase_if(texts_, [&](const KeptText& other) {
        return common_pages(other.names, text.names) == other.names.size();
    });
    if (texts_.size() >= kTextsMax) {
        texts_.pop_front();
    }
    text.until = now + kTtl;
    texts_.push_back(std::move(text));
}

std::optional<KeptTexts::Match> KeptTexts::find(
    std::span<const std::uint64_t> names, swarm::TimePoint now, const Fits& fits
) {
    expire(now);
    Match best;
    for (const KeptText& text : texts_) {
        const std::size_t pages = common_pages(names, text.names);
        if (pages > 0 && pages >= best.pages && (!fits || fits(text))) {
            best = {&text, pages};
        }
    }
    return best.text == nullptr ? std::nullopt : std::optional(best);
}

void KeptTexts::doubt(swarm::PeerId peer) {
    for (KeptText& text : texts_) {
        const bool has =
            std::ranges::find(text.hops, peer, &KeptText::Hop::peer) != text.hops.end();
        text.is_doubtful = text.is_doubtful || has;
    }
}

void KeptTexts::expire(swarm::TimePoint now) {
    while (!texts_.empty() && texts_.front().until <= now) {
        texts_.pop_front();
    }
}

std::vector<std::uint64_t> names_on_path(
    std::span<const std::uint64_t> names, std::span<const KeptText::Hop> hops
) {
    Sha256 hash;
    for (const KeptText::Hop& hop : hops) {
        add_digest(hash, hop.model);
        add_digest(hash, hop.weights);
        add_number(hash, hop.layers.first);
        add_number(hash, hop.layers.end);
        add_number(hash, static_cast<std::uint64_t>(hop.codec));
    }
    const swarm::Digest path = hash.finish();
    std::vector<std::uint64_t> own;
    for (const std::uint64_t name : names) {
        Sha256 page;
        add_digest(page, path);
        add_number(page, name);
        own.push_back(first_word(page.finish()));
    }
    return own;
}

}  // namespace stacking::sessions
