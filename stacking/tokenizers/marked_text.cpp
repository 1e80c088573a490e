#include "stacking/tokenizers/marked_text.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

using Ids = std::vector<std::uint32_t>;

/// A part of the text: a special token that the template wrote, or text between two of them.
struct TextPart {
    std::size_t begin = 0;
    std::size_t bytes = 0;
    bool is_special = false;
    std::uint32_t id = 0;      // id of the special token
    bool has_forgery = false;  // the text has a name of a special token
};

/// Cuts a text at the special tokens that the template wrote.
class Cutter {
 public:
    Cutter(const jinja::Text& text, const std::vector<SpecialToken>& specials) : text_(text) {
        for (const SpecialToken& special : specials) {
            if (!special.name.empty()) {
                by_first_byte_[static_cast<unsigned char>(special.name.front())].push_back(&special
                );
            }
        }
        for (auto& names : by_first_byte_) {
            std::stable_sort(names.begin(), names.end(), [](const auto* left, const auto* right) {
                return left->name.size() > right->name.size();
            });
        }
    }

    std::vector<TextPart> cut() {
        const std::string_view bytes = text_.bytes();
        for (std::size_t at = 0; at < bytes.size();) {
            const SpecialToken* const special = special_at(at);
            if (special == nullptr) {
                ++at;
                continue;
            }
            end_text(at);
            parts_.push_back({at, special->name.size(), true, special->id, false});
            at += special->name.size();
            begin_ = at;
        }
        end_text(bytes.size());
        return std::move(parts_);
    }

 private:
    /// Returns the longest special token that the template wrote there; null: none.
    const SpecialToken* special_at(std::size_t at) {
        const std::string_view rest = std::string_view(text_.bytes()).substr(at);
        for (const SpecialToken* const special :
             by_first_byte_[static_cast<unsigned char>(rest.front())]) {
            if (!rest.starts_with(special->name)) {
                continue;
            }
            if (!text_.has_data(at, special->name.size())) {
                return special;
            }
            has_forgery_ = true;
        }
        return nullptr;
    }

    void end_text(std::size_t end) {
        if (end > begin_) {
            parts_.push_back({begin_, end - begin_, false, 0, has_forgery_});
        }
        has_forgery_ = false;
    }

    const jinja::Text& text_;
    std::array<std::vector<const SpecialToken*>, 256> by_first_byte_;
    std::vector<TextPart> parts_;
    std::size_t begin_ = 0;
    bool has_forgery_ = false;
};

class Encoder {
 public:
    Encoder(const jinja::Text& text, const ModelTokenizer& tokenizer)
        : text_(text), tokenizer_(tokenizer) {
        const std::vector<SpecialToken> specials = tokenizer.special_tokens();
        for (const SpecialToken& special : specials) {
            special_.insert(special.id);
        }
        parts_ = Cutter(text, specials).cut();
        for (const TextPart& part : parts_) {
            if (part.is_special) {
                wanted_.push_back(part.id);
            }
        }
    }

    Result<Ids> encode() {
        const bool forged = std::any_of(parts_.begin(), parts_.end(), [](const TextPart& part) {
            return part.has_forgery;
        });
        if (!forged) {
            SWARM_TRY(Ids ids, tokenizer_.encode(text_.bytes(), SpecialTokens::Recognised));
            if (is_faithful(ids)) {
                return ids;
            }
        }
        // Parts without a forged name go together, then all parts that have data go alone.
        for (const bool strict : {false, true}) {
            SWARM_TRY(Ids ids, encode_parts(strict));
            if (is_faithful(ids)) {
                return ids;
            }
        }
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            "the tokenizer makes a special token of a message's text"};
    }

 private:
    /// Whether the special tokens are those that the template wrote.
    [[nodiscard]] bool is_faithful(const Ids& ids) const {
        Ids found;
        std::copy_if(ids.begin(), ids.end(), std::back_inserter(found), [&](std::uint32_t id) {
            return special_.contains(id);
        });
        return found == wanted_;
    }

    Result<Ids> encode_parts(bool strict) const {
        Ids ids;
        std::size_t group = 0;  // begin of the bytes that wait to be encoded together
        std::size_t group_end = 0;
        const auto flush = [&]() -> Result<> {
            const auto together = std::string_view(text_.bytes()).substr(group, group_end - group);
            SWARM_TRY(const Ids more, tokenizer_.encode(together, SpecialTokens::Recognised));
            ids.insert(ids.end(), more.begin(), more.end());
            return {};
        };
        for (const TextPart& part : parts_) {
            const std::size_t end = part.begin + part.bytes;
            const bool alone =
                !part.is_special &&
                (part.has_forgery || (strict && text_.has_data(part.begin, part.bytes)));
            if (!alone) {
                group_end = end;
                continue;
            }
            SWARM_TRY(flush());
            const auto bytes = std::string_view(text_.bytes()).substr(part.begin, part.bytes);
            SWARM_TRY(const Ids more, tokenizer_.encode(bytes, SpecialTokens::AsText));
            ids.insert(ids.end(), more.begin(), more.end());
            group = end;
            group_end = end;
        }
        SWARM_TRY(flush());
        return ids;
    }

    const jinja::Text& text_;
    const ModelTokenizer& tokenizer_;
    std::set<std::uint32_t> special_;
    std::vector<TextPart> parts_;
    Ids wanted_;  // special tokens that the template wrote
};

}  // namespace

Result<Ids> encode_marked(const jinja::Text& text, const ModelTokenizer& tokenizer) {
    return Encoder(text, tokenizer).encode();
}

}  // namespace stacking::tokenizers
