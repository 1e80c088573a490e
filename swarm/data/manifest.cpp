#include "swarm/data/manifest.hpp"

#include "swarm/base/try.hpp"
#include "swarm/data/limits.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <cmath>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

namespace swarm::data {
namespace {

namespace json = boost::json;

constexpr const char* kManifestFormat = "swarm data 1";

Error manifest_error(const std::string& what) {
    return {ErrorCode::Malformed, Reaction::Reject, "the manifest is damaged: " + what};
}

std::optional<Digest> digest_of_hex(std::string_view hex) {
    Digest digest;
    if (hex.size() != 2 * digest.bytes.size()) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < hex.size(); ++i) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        const std::size_t value = kDigits.find(hex[i]);
        if (value == std::string_view::npos) {
            return std::nullopt;
        }
        digest.bytes[i / 2] = (digest.bytes[i / 2] << 4) | static_cast<std::byte>(value);
    }
    return digest;
}

/// The members of one object; the first one that is missing or of another type is kept.
class MemberReader {
 public:
    MemberReader(const json::object& object, std::size_t members) : object_(object) {
        if (object.size() != members) {
            fault_ = "it has other members";
        }
    }

    const json::value* find(const char* key) {
        const json::value* const value = object_.if_contains(key);
        if (value == nullptr) {
            refuse(key);
        }
        return value;
    }

    std::string text(const char* key) {
        const json::value* const value = find(key);
        if (value == nullptr || !value->is_string()) {
            refuse(key);
            return {};
        }
        return {value->get_string().begin(), value->get_string().end()};
    }

    std::uint64_t number(const char* key, std::uint64_t most) {
        const json::value* const value = find(key);
        // A number in the range of int64 is parsed as one.
        if (value == nullptr || !value->is_int64() || value->get_int64() < 0 ||
            static_cast<std::uint64_t>(value->get_int64()) > most) {
            refuse(key);
            return 0;
        }
        return static_cast<std::uint64_t>(value->get_int64());
    }

    Digest digest(const char* key) {
        const auto digest = digest_of_hex(text(key));
        if (!digest) {
            refuse(key);
        }
        return digest.value_or(Digest{});
    }

    const json::array& array(const char* key) {
        static const json::array kNone;
        const json::value* const value = find(key);
        if (value == nullptr || !value->is_array()) {
            refuse(key);
            return kNone;
        }
        return value->get_array();
    }

    void refuse(const char* key) {
        if (fault_.empty()) {
            fault_ = key;
        }
    }

    [[nodiscard]] Result<> finish() const {
        return fault_.empty() ? Result<>() : manifest_error(fault_);
    }

 private:
    const json::object& object_;
    std::string fault_;
};

constexpr std::uint64_t kCountMax = 1ULL << 62;

Result<ManifestSource> source_of(const json::value& value) {
    if (!value.is_object()) {
        return manifest_error("sources");
    }
    // Only a source of chats has the last two, so that the manifest of texts stays as it is.
    const bool has_chats = value.get_object().contains("no_loss_tokens");
    MemberReader members(value.get_object(), has_chats ? 9 : 7);
    ManifestSource source;
    source.name = members.text("name");
    if (!is_source_name(source.name)) {
        members.refuse("name");  // it begins the names of files
    }
    if (const json::value* const weight = members.find("weight"); weight != nullptr) {
        if (weight->is_number()) {
            source.weight = weight->to_number<double>();
        }
        const bool sound = weight->is_null() || (weight->is_number() && *source.weight >= 0 &&
                                                 *source.weight <= kWeightMax);
        if (!sound) {
            members.refuse("weight");
        }
    }
    source.tokens = members.number("tokens", kCountMax);
    source.documents = members.number("documents", kCountMax);
    source.text_bytes = members.number("text_bytes", kCountMax);
    source.bad_lines = members.number("bad_lines", kCountMax);
    if (has_chats) {
        source.no_loss_tokens = members.number("no_loss_tokens", source.tokens);
        source.has_inner_ends = members.number("inner_ends", 1) != 0;
    }
    for (const json::value& shard : members.array("shards")) {
        const auto digest =
            shard.is_string() ? digest_of_hex(shard.get_string()) : std::optional<Digest>();
        if (!digest || source.shards.size() == kShardsMax) {
            return manifest_error("shards");
        }
        source.shards.push_back(*digest);
    }
    SWARM_TRY(members.finish());
    return source;
}

}  // namespace

std::string to_json(const Manifest& manifest) {
    json::array sources;
    for (const ManifestSource& source : manifest.sources) {
        json::array shards;
        for (const Digest& digest : source.shards) {
            shards.emplace_back(to_hex(digest));
        }
        json::object one{
            {"name", source.name},
            {"weight", source.weight ? json::value(*source.weight) : json::value(nullptr)},
            {"tokens", source.tokens},
            {"documents", source.documents},
            {"text_bytes", source.text_bytes},
            {"bad_lines", source.bad_lines},
            {"shards", std::move(shards)}};
        if (source.no_loss_tokens > 0) {
            one["no_loss_tokens"] = source.no_loss_tokens;
            one["inner_ends"] = source.has_inner_ends ? 1 : 0;
        }
        sources.push_back(std::move(one));
    }
    const json::object object{
        {"format", kManifestFormat},
        {"tokenizer", manifest.tokenizer},
        {"tokenizer_sha256", to_hex(manifest.tokenizer_digest)},
        {"vocabulary", manifest.vocabulary},
        {"end_token", manifest.end_token},
        {"sources", std::move(sources)}};
    return json::serialize(object) + "\n";
}

Result<Manifest> parse_manifest(std::string_view text) {
    json::error_code code;
    const json::value document = json::parse(text, code);
    if (code || !document.is_object()) {
        return manifest_error("it is no JSON object");
    }
    MemberReader members(document.get_object(), 6);
    if (members.text("format") != kManifestFormat) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            std::string("the manifest has another format than \"") + kManifestFormat + "\""};
    }
    Manifest manifest;
    manifest.tokenizer = members.text("tokenizer");
    manifest.tokenizer_digest = members.digest("tokenizer_sha256");
    manifest.vocabulary = static_cast<std::uint32_t>(members.number("vocabulary", kVocabularyMax));
    manifest.end_token = static_cast<std::uint32_t>(members.number("end_token", kVocabularyMax));
    for (const json::value& value : members.array("sources")) {
        SWARM_TRY(auto source, source_of(value));
        manifest.sources.push_back(std::move(source));
    }
    SWARM_TRY(members.finish());
    if (manifest.sources.empty() || manifest.sources.size() > kSourcesMax ||
        manifest.end_token >= manifest.vocabulary) {
        return manifest_error("its numbers contradict each other");
    }
    return manifest;
}

Result<ReadManifest> read_manifest(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / kManifestName;
    std::error_code code;
    const std::uint64_t bytes = std::filesystem::file_size(path, code);
    if (code) {
        return Error{
            ErrorCode::NotFound,
            Reaction::Reject,
            folder.string() + " has no " + kManifestName +
                ": `swarm data build` has not ended there"};
    }
    if (bytes > kManifestBytesMax) {
        return manifest_error(path.string() + " is too large");
    }
    std::string text(static_cast<std::size_t>(bytes), '\0');
    std::ifstream in(path, std::ios::binary);
    if (!in.read(text.data(), static_cast<std::streamsize>(text.size()))) {
        return Error{ErrorCode::StorageFailed, Reaction::Reject, "cannot read " + path.string()};
    }
    auto manifest = parse_manifest(text);
    if (manifest.has_error()) {
        const Error& error = manifest.error();
        return Error{error.code, error.reaction, path.string() + ": " + error.detail};
    }
    return ReadManifest{*std::move(manifest), sha256(std::as_bytes(std::span(text)))};
}

}  // namespace swarm::data
