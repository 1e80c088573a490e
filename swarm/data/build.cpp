#include "swarm/data/build.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/base/try.hpp"
#include "swarm/data/build_folder.hpp"
#include "swarm/data/utf8.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace swarm::data {
namespace {

/// "1 file", "2 files".
std::string number_of(std::uint64_t number, const char* thing) {
    return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

Error build_error(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

/// Adds a shard to what the manifest says of its source.
void count_shard(const ShardHeader& header, ManifestSource& source) {
    source.tokens += header.tokens;
    source.documents += header.documents_begun();
    source.text_bytes += header.text_bytes;
    source.bad_lines += header.bad_lines;
    source.no_loss_tokens += header.no_loss_tokens;
    source.has_inner_ends = source.has_inner_ends || header.has_inner_ends;
    source.shards.push_back(digest_of(to_bytes(header)));
}

/// Makes the shards of one source that are not there yet.
class SourceBuild {
 public:
    struct Parts {
        const DataFile& data;
        const Source& source;
        const InputFiles& inputs;
        const Encoder& encoder;
        const BuildFolder& folder;
        const BuildEvents& events;
        BuildProgress& progress;
    };

    SourceBuild(const Parts& parts, std::uint32_t source)
        : parts_(parts),
          id_bytes_(id_bytes_of(parts)),
          draft_(source, id_bytes_) {}

    /// Returns whether the source is whole; false: the build was stopped.
    Result<bool> run() {
        counted_.name = parts_.source.name;
        counted_.weight = parts_.source.weight;
        parts_.progress.source = parts_.source.name;
        bytes_before_ = parts_.progress.bytes;
        SWARM_TRY(
            const auto there,
            parts_.folder.shards_of(parts_.source.name, draft_.header().source, id_bytes_)
        );
        for (const ShardHeader& header : there) {
            count_shard(header, counted_);
            parts_.progress.tokens += header.tokens;
            parts_.progress.documents += header.documents_begun();
        }
        bool is_whole = !there.empty() && there.back().is_last;
        if (!is_whole) {
            InputPlace from;
            if (!there.empty()) {
                draft_.follow(there.back());
                from = there.back().next;
            }
            SWARM_TRY(is_whole, read_from(from));
        }
        std::uint64_t bytes = 0;
        for (const InputFile& file : parts_.inputs.files) {
            bytes += file.bytes;
        }
        parts_.progress.bytes = bytes_before_ + bytes;
        return is_whole;
    }

    [[nodiscard]] const ManifestSource& counted() const { return counted_; }

    [[nodiscard]] std::uint64_t new_shards() const { return new_shards_; }

 private:
    /// Tokens of chats have flags, for which two bytes have no room.
    static std::uint32_t id_bytes_of(const Parts& parts) {
        const bool has_room = parts.encoder.vocabulary <= kSmallVocabulary;
        return has_room && parts.source.rows == RowKind::Text ? 2 : 4;
    }

    Result<bool> read_from(InputPlace from) {
        const Source& source = parts_.source;
        DocumentReader reader(parts_.inputs.files, source.field, from, source.rows);
        while (true) {
            if (parts_.events.is_to_stop && parts_.events.is_to_stop()) {
                return false;
            }
            SWARM_TRY(const auto item, reader.next());
            if (!item) {
                break;
            }
            if (const auto* const bad = std::get_if<BadLine>(&*item)) {
                SWARM_TRY(take_bad(*bad));
            } else if (source.rows == RowKind::Chat) {
                SWARM_TRY(take_chat(std::get<Piece>(*item)));
            } else {
                SWARM_TRY(take(std::get<Piece>(*item)));
            }
            parts_.progress.bytes = bytes_before_ + reader.consumed();
            if (parts_.events.progress) {
                parts_.events.progress(parts_.progress);
            }
        }
        SWARM_TRY(check_not_empty());
        SWARM_TRY(write_shard({parts_.inputs.files.size(), 0, 0, false}, true));
        return true;
    }

    Result<> take_bad(const BadLine& bad) {
        if (parts_.source.bad_lines == BadLines::Fatal) {
            return build_error(
                ErrorCode::Malformed,
                bad.text() + "; let source " + parts_.source.name +
                    " have bad_lines = \"skip\" and build again, or correct the file and build "
                    "in another folder"
            );
        }
        draft_.add_bad_line();
        if (parts_.events.skipped) {
            parts_.events.skipped(parts_.source.name, bad);
        }
        return {};
    }

    Result<> take(const Piece& piece) {
        SWARM_TRY(end_full_shard(piece.before));
        if (piece.begins || draft_.header().documents == 0) {
            draft_.begin_document(!piece.begins);
            parts_.progress.documents += piece.begins ? 1 : 0;
        }
        TextPlace place = piece.begins ? TextPlace::Begin : TextPlace::Within;
        std::string_view rest = piece.text;
        do {
            const std::size_t end = piece_end(rest, kPieceBytesMax);
            SWARM_TRY(add_tokens_of(rest.substr(0, end), place));
            rest.remove_prefix(end);
            place = TextPlace::Within;
        } while (!rest.empty());
        draft_.add_text_bytes(piece.text.size());
        if (piece.ends) {
            SWARM_TRY(add(std::span(&parts_.encoder.end_token, 1)));
        }
        return {};
    }

    /// A chat that the template refuses is a bad line, too.
    Result<> take_chat(const Piece& piece) {
        const auto tokens = parts_.encoder.encode_chat(piece.chat);
        if (tokens.has_error()) {
            const InputFile& file = parts_.inputs.files[piece.before.file];
            return take_bad({file.path, piece.before.lines + 1, tokens.error().detail});
        }
        SWARM_ASSERT(!tokens->empty());
        SWARM_TRY(check_ids(*tokens));
        SWARM_TRY(end_full_shard(piece.before));
        draft_.begin_document(false);
        ++parts_.progress.documents;
        SWARM_TRY(add(*tokens));
        draft_.add_text_bytes(piece.text.size());
        for (const std::uint32_t token : std::span(*tokens).first(tokens->size() - 1)) {
            if (token_id(token) == parts_.encoder.end_token) {
                draft_.note_inner_end();
            }
        }
        return {};
    }

    Result<> end_full_shard(const InputPlace& before) {
        const ShardHeader& header = draft_.header();
        const bool is_full =
            header.tokens >= parts_.data.shard_tokens || header.documents >= kShardDocumentsMax;
        return is_full ? write_shard(before, false) : Result<>();
    }

    [[nodiscard]] Result<> check_ids(std::span<const std::uint32_t> tokens) const {
        const bool fits = std::all_of(tokens.begin(), tokens.end(), [&](std::uint32_t token) {
            return token_id(token) < parts_.encoder.vocabulary;
        });
        if (fits) {
            return {};
        }
        return build_error(
            ErrorCode::Mismatch,
            "the tokenizer " + parts_.encoder.name + " gives ids above its " +
                std::to_string(parts_.encoder.vocabulary) + " tokens"
        );
    }

    Result<> add_tokens_of(std::string_view text, TextPlace place) {
        auto ids = parts_.encoder.encode(text, place);
        if (ids.has_error()) {
            const Error& error = ids.error();
            return Error{
                error.code, error.reaction, "source " + parts_.source.name + ": " + error.detail};
        }
        SWARM_TRY(check_ids(*ids));
        return add(*ids);
    }

    Result<> add(std::span<const std::uint32_t> ids) {
        if (ids.size() > kShardTokensMax - draft_.header().tokens) {
            return build_error(
                ErrorCode::TooLarge,
                "source " + parts_.source.name + ": a document has too many tokens"
            );
        }
        draft_.add(ids);
        parts_.progress.tokens += ids.size();
        return {};
    }

    Result<> check_not_empty() const {
        if (counted_.documents + draft_.header().documents_begun() > 0) {
            return {};
        }
        const std::uint64_t bad = counted_.bad_lines + draft_.header().bad_lines;
        return build_error(
            ErrorCode::Malformed,
            "source " + parts_.source.name + " has no documents: " +
                number_of(parts_.inputs.files.size(), "file") + ", " + number_of(bad, "bad line")
        );
    }

    Result<> write_shard(InputPlace next, bool is_last) {
        if (draft_.header().shard >= kShardsMax) {
            return build_error(
                ErrorCode::TooLarge,
                "source " + parts_.source.name + " has more than " + std::to_string(kShardsMax) +
                    " shards; give it more shard_tokens or fewer files"
            );
        }
        SWARM_TRY(
            const ShardHeader written,
            draft_.write(parts_.folder.path(), parts_.source.name, next, is_last)
        );
        count_shard(written, counted_);
        ++new_shards_;
        return {};
    }

    const Parts parts_;
    std::uint32_t id_bytes_;
    ShardDraft draft_;
    ManifestSource counted_;
    std::uint64_t bytes_before_ = 0;  // bytes of the sources before
    std::uint64_t new_shards_ = 0;
};

Result<std::vector<InputFiles>> find_all(
    const DataFile& data, const BuildPlace& place, const BuildEvents& events
) {
    std::vector<InputFiles> inputs;
    for (const Source& source : data.sources) {
        SWARM_TRY(auto found, find_input_files(source, place.inputs));
        if (found.ignored > 0 && events.note) {
            events.note(
                "source " + source.name + ": in its folders " + number_of(found.ignored, "file") +
                " with another ending left out"
            );
        }
        inputs.push_back(std::move(found));
    }
    return inputs;
}

/// Writes the file of the tokenizer, unless it is there.
Result<> keep_tokenizer(const std::string& file, const std::filesystem::path& folder) {
    const auto path = folder / kTokenizerName;
    std::error_code ignored;
    if (file.empty() || std::filesystem::file_size(path, ignored) == file.size()) {
        return {};  // a file that is there is whole, and of this build
    }
    return write_durably(path, std::as_bytes(std::span(file)), "name another folder");
}

/// Writes the manifest, unless it is there.
Result<Digest> end_build(const Manifest& manifest, const std::filesystem::path& folder) {
    const std::string text = to_json(manifest);
    const Digest digest = sha256(std::as_bytes(std::span(text)));
    const auto there = read_manifest(folder);
    if (!there || there->digest != digest) {
        SWARM_TRY(write_durably(
            folder / kManifestName, std::as_bytes(std::span(text)), "name another folder"
        ));
    }
    return digest;
}

}  // namespace

Result<Built> build_data(
    const DataFile& data, const Encoder& encoder, const BuildPlace& place, const BuildEvents& events
) {
    if (encoder.vocabulary == 0 || encoder.vocabulary > kVocabularyMax ||
        encoder.end_token >= encoder.vocabulary) {
        return build_error(
            ErrorCode::Mismatch,
            "end_token " + std::to_string(encoder.end_token) + " is no token of " + encoder.name +
                ", which has " + std::to_string(encoder.vocabulary)
        );
    }
    SWARM_ASSERT(!data.has_chats() || encoder.encode_chat);
    SWARM_TRY(const auto inputs, find_all(data, place, events));
    SWARM_TRY(
        const BuildFolder folder,
        BuildFolder::open(place.folder, parts_of_build(data, encoder, inputs))
    );
    BuildProgress progress;
    for (const InputFiles& input : inputs) {
        for (const InputFile& file : input.files) {
            progress.bytes_total += file.bytes;
        }
    }
    Built built;
    built.manifest = {encoder.name, encoder.digest, encoder.vocabulary, encoder.end_token, {}};
    for (std::uint32_t i = 0; i < data.sources.size(); ++i) {
        SourceBuild source(
            {data, data.sources[i], inputs[i], encoder, folder, events, progress}, i
        );
        SWARM_TRY(const bool is_whole, source.run());
        built.new_shards += source.new_shards();
        if (!is_whole) {
            return built;
        }
        built.manifest.sources.push_back(source.counted());
    }
    SWARM_TRY(keep_tokenizer(encoder.file, folder.path()));
    SWARM_TRY(built.digest, end_build(built.manifest, folder.path()));
    built.is_whole = true;
    return built;
}

}  // namespace swarm::data
