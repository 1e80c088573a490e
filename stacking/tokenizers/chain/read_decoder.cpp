#include "stacking/tokenizers/chain/json_fields.hpp"
#include "stacking/tokenizers/chain/part_readers.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"

#include <utility>

namespace stacking::tokenizers {

namespace json = boost::json;
using swarm::Result;

namespace {

constexpr PartNames kDecoderNames{"decoder", "decoders"};

/// Maximum spaces that decoding takes away before a text.
constexpr std::size_t kDroppedSpacesMax = 16;

/// Reads the steps of a decoder. Tokens become text one by one here, so the steps come in the one
/// order in which that gives the same text.
class DecoderReader {
 public:
    explicit DecoderReader(Chain& chain) : chain_(chain) {}

    Result<> read(const json::object& step) {
        struct Known {
            std::string_view type;
            Step step;
            Result<> (DecoderReader::*read)(const json::object& step);
        };

        static constexpr Known kKnown[] = {
            {"Replace", Step::Replace, &DecoderReader::read_replace},
            {"ByteFallback", Step::ByteFallback, &DecoderReader::read_byte_fallback},
            {"Fuse", Step::Fuse, &DecoderReader::read_nothing},
            {"Strip", Step::Strip, &DecoderReader::read_strip},
            {"ByteLevel", Step::Whole, &DecoderReader::read_nothing},
            {"Metaspace", Step::Whole, &DecoderReader::read_metaspace},
        };
        for (const Known& known : kKnown) {
            if (text_field(step, "type") != known.type) {
                continue;
            }
            const bool first = last_ == Step::None;
            const bool again = last_ == known.step && last_ == Step::Replace;
            const bool in_order = known.step == Step::Whole   ? first
                                  : known.step == Step::Strip ? last_ == Step::Fuse
                                                              : last_ < known.step || again;
            if (!in_order) {
                return unsupported_part("decoder has its steps in an order that is not known here");
            }
            last_ = known.step;
            SWARM_TRY(
                check_alphabet(known.type == "ByteLevel" ? Alphabet::Bytes : Alphabet::Characters)
            );
            return (this->*known.read)(step);
        }
        return unknown_step(kDecoderNames, step);
    }

 private:
    enum class Step { None, Replace, ByteFallback, Fuse, Strip, Whole };

    [[nodiscard]] Result<> check_alphabet(Alphabet wanted) const {
        return chain_.alphabet == wanted
                   ? Result<>()
                   : unsupported_part("decoder is for another kind of pre_tokenizer");
    }

    Result<> read_replace(const json::object& step) {
        const json::object* const pattern = find_object(step, "pattern");
        const std::string_view from =
            pattern == nullptr ? std::string_view() : text_field(*pattern, "String");
        if (from.empty()) {
            return unsupported_part("decoder Replace has no text to replace");
        }
        SWARM_TRY(auto to, read_step_text(step, "content"));
        chain_.decoded.emplace_back(from, std::move(to));
        return {};
    }

    Result<> read_byte_fallback(const json::object& /*step*/) {
        chain_.decodes_bytes = true;
        return {};
    }

    Result<> read_nothing(const json::object& /*step*/) { return {}; }

    Result<> read_strip(const json::object& step) {
        const auto start = to_id(find_field(step, "start"), kDroppedSpacesMax);
        const auto stop = to_id(find_field(step, "stop"), 1);
        if (text_field(step, "content") != " " || !start || !stop) {
            return unsupported_part(
                "decoder Strip takes away other things than spaces before a text"
            );
        }
        chain_.dropped_spaces = *start;
        return {};
    }

    Result<> read_metaspace(const json::object& step) {
        SWARM_TRY(auto space, read_step_text(step, "replacement"));
        const auto prefix = switch_field(step, "add_prefix_space", true);
        const bool never = find_field(step, "prepend_scheme") != nullptr
                               ? text_field(step, "prepend_scheme") == "never"
                               : !prefix.value_or(true);
        if (!is_one_character(space)) {
            return malformed_part("decoder Metaspace's replacement is no character");
        }
        chain_.decoded.emplace_back(std::move(space), " ");
        chain_.dropped_spaces = never ? 0 : 1;
        return {};
    }

    Chain& chain_;
    Step last_ = Step::None;
};

}  // namespace

Result<> read_decoder(const json::value& part, Chain& chain) {
    if (part.is_null()) {
        return unsupported_part("decoder is missing");
    }
    DecoderReader reader(chain);
    return for_each_step(part, kDecoderNames, [&](const json::object& step) {
        return reader.read(step);
    });
}

}  // namespace stacking::tokenizers
