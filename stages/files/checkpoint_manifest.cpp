#include "stages/files/checkpoint_manifest.hpp"

#include "stages/files/strict_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace stages {

namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

constexpr std::uint64_t kFormat = 1;

Error malformed(const std::string& what) {
    return {ErrorCode::Malformed, Reaction::Reject, "manifest.json " + what};
}

std::string text_hash(std::string_view text) {
    return swarm::to_hex(swarm::sha256(std::as_bytes(std::span(text))));
}

std::optional<std::uint64_t> number_at(const json::object& object, const char* key) {
    const json::value* const value = object.if_contains(key);
    if (value != nullptr && value->is_int64() && value->get_int64() >= 0) {
        return static_cast<std::uint64_t>(value->get_int64());
    }
    if (value != nullptr && value->is_uint64()) {
        return value->get_uint64();
    }
    return {};
}

std::optional<std::string> text_at(const json::object& object, const char* key) {
    const json::value* const value = object.if_contains(key);
    if (value == nullptr || !value->is_string()) {
        return {};
    }
    return std::string(value->get_string().data(), value->get_string().size());
}

bool is_plain_name(const std::string& name) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    };
    return !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), plain);
}

std::optional<CheckpointManifest::File> read_file_entry(const json::value& value) {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
        return {};
    }
    const auto name = text_at(*object, "name");
    const auto bytes = number_at(*object, "bytes");
    const auto sha256 = text_at(*object, "sha256");
    if (!name || !bytes || !sha256 || !is_plain_name(*name)) {
        return {};
    }
    return CheckpointManifest::File{*name, *bytes, *sha256};
}

}  // namespace

const char* tokenizer_file_name(std::string_view bytes) {
    return bytes.starts_with('{') ? kTokenizerJsonFile : kTokenizerFile;
}

bool is_tokenizer_file(std::string_view name) {
    return name == kTokenizerFile || name == kTokenizerJsonFile;
}

std::string to_json(const CheckpointManifest& manifest) {
    json::array files;
    for (const CheckpointManifest::File& file : manifest.files) {
        files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
    }
    json::object body;
    body["format"] = kFormat;
    body["generation"] = manifest.version.gen;
    body["step"] = manifest.version.step;
    body["run_file"] = manifest.run_file;
    body["run_file_sha256"] = text_hash(manifest.run_file);
    body["files"] = std::move(files);
    json::object whole;
    whole["sha256"] = text_hash(json::serialize(body));
    whole["body"] = std::move(body);
    return json::serialize(whole) + "\n";
}

Result<CheckpointManifest> parse_manifest(std::string_view text) {
    const auto parsed = parse_strict_json(text);
    if (parsed.has_error()) {
        return malformed("is damaged: " + parsed.error().detail);
    }
    const json::object* const whole = parsed->if_object();
    const json::value* const held = whole != nullptr ? whole->if_contains("body") : nullptr;
    const json::object* const body = held != nullptr ? held->if_object() : nullptr;
    if (body == nullptr || text_at(*whole, "sha256") != text_hash(json::serialize(*body))) {
        return malformed("is damaged: its body does not fit its SHA-256");
    }
    if (number_at(*body, "format") != kFormat) {
        return malformed("has another format than " + std::to_string(kFormat));
    }
    const auto generation = number_at(*body, "generation");
    const auto step = number_at(*body, "step");
    const auto run_file = text_at(*body, "run_file");
    const json::value* const files = body->if_contains("files");
    if (!generation || *generation > std::numeric_limits<std::uint32_t>::max() || !step ||
        !run_file || files == nullptr || !files->is_array()) {
        return malformed("lacks generation, step, run_file or files");
    }
    CheckpointManifest manifest;
    manifest.version = {static_cast<std::uint32_t>(*generation), *step};
    manifest.run_file = *run_file;
    for (const json::value& entry : files->get_array()) {
        auto file = read_file_entry(entry);
        if (!file) {
            return malformed("has a file entry that is not {name, bytes, sha256}");
        }
        manifest.files.push_back(std::move(*file));
    }
    return manifest;
}

}  // namespace stages
