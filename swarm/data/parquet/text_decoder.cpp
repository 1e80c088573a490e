#include "swarm/data/parquet/text_decoder.hpp"

#include "swarm/base/try.hpp"
#include "swarm/data/limits.hpp"
#include "swarm/data/parquet/delta_decoder.hpp"
#include "swarm/data/parquet/file_bytes.hpp"
#include "swarm/data/parquet/little_endian.hpp"
#include "swarm/data/parquet/run_decoder.hpp"

#include <optional>
#include <string>
#include <utility>

namespace swarm::data::parquet {
namespace {

constexpr std::size_t kLengthBytes = 4;

Error leads_out() {
    return damaged("a text of a page is longer than the page");
}

/// Takes a text with its length before it at `at`, which goes on behind it.
std::optional<std::string_view> take_text(std::string_view bytes, std::size_t& at) {
    if (bytes.size() - at < kLengthBytes) {
        return std::nullopt;
    }
    const std::size_t length = u32_at(bytes, at);
    if (length > bytes.size() - at - kLengthBytes) {
        return std::nullopt;
    }
    const std::string_view text = bytes.substr(at + kLengthBytes, length);
    at += kLengthBytes + length;
    return text;
}

class PlainTexts : public TextDecoder {
 public:
    explicit PlainTexts(std::string_view bytes) : bytes_(bytes) {}

    Result<std::string_view> next() override {
        const auto text = take_text(bytes_, at_);
        if (!text) {
            return leads_out();
        }
        return *text;
    }

 private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

class DictionaryTexts : public TextDecoder {
 public:
    DictionaryTexts(RunDecoder indices, const Dictionary& dictionary)
        : indices_(indices), dictionary_(dictionary) {}

    Result<std::string_view> next() override {
        const auto index = indices_.next();
        if (!index) {
            return damaged("a page has fewer texts than its header says");
        }
        if (*index >= dictionary_.size()) {
            return damaged(
                "a page names text " + std::to_string(*index) + " of a dictionary of " +
                std::to_string(dictionary_.size())
            );
        }
        return dictionary_.at(*index);
    }

 private:
    RunDecoder indices_;
    const Dictionary& dictionary_;
};

/// DELTA_LENGTH_BYTE_ARRAY: all lengths, and then all texts.
class DeltaLengthTexts : public TextDecoder {
 public:
    DeltaLengthTexts(DeltaDecoder lengths, std::string_view texts)
        : lengths_(lengths), texts_(texts) {}

    Result<std::string_view> next() override {
        const auto length = lengths_.next();
        if (!length || *length > texts_.size()) {
            return leads_out();
        }
        const std::string_view text = texts_.substr(0, *length);
        texts_.remove_prefix(*length);
        return text;
    }

    static Result<std::unique_ptr<DeltaLengthTexts>> open(std::string_view bytes) {
        SWARM_TRY(const DeltaDecoder lengths, DeltaDecoder::open(bytes));
        SWARM_TRY(const std::size_t end, lengths.end());
        return std::make_unique<DeltaLengthTexts>(lengths, bytes.substr(end));
    }

 private:
    DeltaDecoder lengths_;
    std::string_view texts_;
};

/// DELTA_BYTE_ARRAY: how many bytes each text shares with the one before, and the rest of each.
class DeltaTexts : public TextDecoder {
 public:
    DeltaTexts(DeltaDecoder shared, std::unique_ptr<DeltaLengthTexts> rests)
        : shared_(shared), rests_(std::move(rests)) {}

    Result<std::string_view> next() override {
        const auto shared = shared_.next();
        if (!shared || *shared > text_.size()) {
            return damaged("a text of a page shares more than the one before has");
        }
        SWARM_TRY(const std::string_view rest, rests_->next());
        text_.resize(*shared);
        text_ += rest;
        return std::string_view(text_);
    }

    static Result<std::unique_ptr<DeltaTexts>> open(std::string_view bytes) {
        SWARM_TRY(const DeltaDecoder shared, DeltaDecoder::open(bytes));
        SWARM_TRY(const std::size_t end, shared.end());
        SWARM_TRY(auto rests, DeltaLengthTexts::open(bytes.substr(end)));
        return std::make_unique<DeltaTexts>(shared, std::move(rests));
    }

 private:
    DeltaDecoder shared_;
    std::unique_ptr<DeltaLengthTexts> rests_;
    std::string text_;  // at most the rests of the page together
};

Result<std::unique_ptr<TextDecoder>> make_dictionary_texts(
    std::string_view bytes, const Dictionary* dictionary
) {
    if (dictionary == nullptr) {
        return damaged("a page needs a dictionary, and there is none");
    }
    const unsigned width = bytes.empty() ? 0 : static_cast<std::uint8_t>(bytes[0]);
    if (bytes.empty() || width > RunDecoder::kWidthMax) {
        return damaged("a page has damaged indices");
    }
    return std::unique_ptr<TextDecoder>(
        std::make_unique<DictionaryTexts>(RunDecoder(bytes.substr(1), width), *dictionary)
    );
}

}  // namespace

Result<Dictionary> Dictionary::read(std::vector<char> bytes, std::uint32_t count) {
    if (count > kParquetDictionaryTextsMax) {
        return damaged(
            "a dictionary has more than " + std::to_string(kParquetDictionaryTextsMax) + " texts"
        );
    }
    Dictionary dictionary;
    dictionary.bytes_ = std::move(bytes);
    const std::string_view all(dictionary.bytes_.data(), dictionary.bytes_.size());
    if (count > all.size() / kLengthBytes) {
        return damaged("a dictionary has fewer texts than its header says");
    }
    dictionary.places_.reserve(count);
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        dictionary.places_.push_back(static_cast<std::uint32_t>(at));
        if (!take_text(all, at)) {
            return damaged("a text of a dictionary is longer than the dictionary");
        }
    }
    return dictionary;
}

std::string_view Dictionary::at(std::size_t index) const {
    const std::string_view all(bytes_.data(), bytes_.size());
    const std::size_t place = places_[index];
    return all.substr(place + kLengthBytes, u32_at(all, place));
}

Result<std::unique_ptr<TextDecoder>> make_text_decoder(
    Encoding encoding, std::string_view bytes, const Dictionary* dictionary
) {
    switch (encoding) {
        case Encoding::Plain:
            return std::unique_ptr<TextDecoder>(std::make_unique<PlainTexts>(bytes));
        case Encoding::PlainDictionary:
        case Encoding::RleDictionary:
            return make_dictionary_texts(bytes, dictionary);
        case Encoding::DeltaLengthByteArray: {
            SWARM_TRY(auto texts, DeltaLengthTexts::open(bytes));
            return std::unique_ptr<TextDecoder>(std::move(texts));
        }
        case Encoding::DeltaByteArray: {
            SWARM_TRY(auto texts, DeltaTexts::open(bytes));
            return std::unique_ptr<TextDecoder>(std::move(texts));
        }
        default:
            break;
    }
    return damaged(
        "its texts are written in encoding " + std::to_string(static_cast<std::int32_t>(encoding)) +
        ", which is not read; read are PLAIN, RLE_DICTIONARY, DELTA_LENGTH_BYTE_ARRAY and "
        "DELTA_BYTE_ARRAY"
    );
}

}  // namespace swarm::data::parquet
