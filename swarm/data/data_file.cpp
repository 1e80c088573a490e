#include "swarm/data/data_file.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <toml++/toml.h>
#include <utility>

namespace swarm::data {
namespace {

Error data_file_error(std::string_view file, const toml::source_region* at, std::string_view what) {
    std::string line(file);
    if (at != nullptr && at->begin.line != 0) {
        line += ":" + std::to_string(at->begin.line);
    }
    line += ": ";
    line += what;
    // Keys and values may hold line ends; an error is one line.
    std::replace_if(
        line.begin(),
        line.end(),
        [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; },
        '?'
    );
    return {ErrorCode::Usage, Reaction::Reject, std::move(line)};
}

/// One table of the file, whose keys are asked for one by one.
class KeyReader {
 public:
    /// `name`: the table's name for errors; empty at the top.
    KeyReader(const toml::table& table, std::string name, std::string_view file)
        : table_(table), name_(std::move(name)), file_(file) {}

    const toml::node* find(const char* key) {
        known_.emplace_back(key);
        return table_.get(key);
    }

    [[nodiscard]] Error refuse(const char* key, const std::string& what) const {
        const toml::node* const node = table_.get(key);
        const toml::source_region& at = node == nullptr ? table_.source() : node->source();
        return data_file_error(file_, &at, dotted(key) + " " + what);
    }

    Result<> read(const char* key, std::string& field, const char* wanted) {
        const toml::node* const node = find(key);
        if (node == nullptr) {
            return {};
        }
        const auto value = node->value_exact<std::string>();
        if (!value || value->empty()) {
            return refuse(key, std::string("must be ") + wanted);
        }
        field = *value;
        return {};
    }

    /// Refuses keys that nobody has asked for.
    [[nodiscard]] Result<> finish() const {
        std::string list;
        for (const std::string& key : known_) {
            list += (list.empty() ? "" : ", ") + key;
        }
        for (const auto& [key, node] : table_) {
            if (std::find(known_.begin(), known_.end(), key.str()) == known_.end()) {
                const std::string place = name_.empty() ? "the file" : "[[" + name_ + "]]";
                return data_file_error(
                    file_,
                    &node.source(),
                    dotted(std::string(key.str())) + " is unknown; " + place + " has " + list
                );
            }
        }
        return {};
    }

 private:
    [[nodiscard]] std::string dotted(const std::string& key) const {
        return name_.empty() ? key : name_ + "." + key;
    }

    const toml::table& table_;
    std::string name_;
    std::string_view file_;
    std::vector<std::string> known_;
};

Result<> read_paths(KeyReader& keys, std::vector<std::string>& paths) {
    constexpr const char* kWanted = "must be a path, or a list of paths: files, globs or folders";
    const toml::node* const node = keys.find("paths");
    if (node == nullptr) {
        return keys.refuse("paths", "is missing; it names files, globs or folders");
    }
    if (const auto one = node->value_exact<std::string>()) {
        paths = {*one};
    } else if (const toml::array* const array = node->as_array()) {
        for (const toml::node& element : *array) {
            const auto path = element.value_exact<std::string>();
            if (!path) {
                return keys.refuse("paths", kWanted);
            }
            paths.push_back(*path);
        }
    }
    const bool has_empty = std::find(paths.begin(), paths.end(), "") != paths.end();
    if (paths.empty() || has_empty || paths.size() > kPathsMax) {
        return keys.refuse("paths", kWanted);
    }
    return {};
}

/// Reads what the lines are, and the key of it.
Result<> read_rows(KeyReader& keys, Source& source) {
    std::string rows = "text";
    constexpr const char* kRows = "\"text\" or \"chat\"";
    SWARM_TRY(keys.read("rows", rows, kRows));
    if (rows != "text" && rows != "chat") {
        return keys.refuse("rows", std::string("must be ") + kRows);
    }
    if (rows == "chat") {
        source.rows = RowKind::Chat;
        source.field = "messages";
    }
    return keys.read("field", source.field, "the key of the text in each JSON line, or its column");
}

Result<> read_chat_template(KeyReader& keys, ChatTemplateName& chat_template) {
    std::string name = "model";
    constexpr const char* kNames = "\"model\" or \"lines\"";
    SWARM_TRY(keys.read("chat_template", name, kNames));
    if (name != "model" && name != "lines") {
        return keys.refuse("chat_template", std::string("must be ") + kNames);
    }
    chat_template = name == "lines" ? ChatTemplateName::Lines : ChatTemplateName::Model;
    return {};
}

Result<Source> read_source(const toml::table& table, std::string_view file) {
    KeyReader keys(table, "source", file);
    Source source;
    constexpr const char* kName = "up to 40 of a-z, 0-9, - and _, and not begin with -";
    SWARM_TRY(keys.read("name", source.name, kName));
    if (!is_source_name(source.name)) {
        const bool is_missing = source.name.empty();
        return keys.refuse(
            "name", std::string(is_missing ? "is missing; it has " : "has ") + kName
        );
    }
    SWARM_TRY(read_paths(keys, source.paths));
    SWARM_TRY(read_rows(keys, source));
    if (const toml::node* const node = keys.find("weight")) {
        const bool is_number = node->is_integer() || node->is_floating_point();
        const double weight = is_number ? *node->value<double>() : -1;
        if (!(weight >= 0 && weight <= kWeightMax)) {
            return keys.refuse("weight", "must be a number from 0 to 1e9");
        }
        source.weight = weight;
    }
    std::string bad_lines = "fatal";
    constexpr const char* kBadLines = "\"skip\" or \"fatal\"";
    SWARM_TRY(keys.read("bad_lines", bad_lines, kBadLines));
    if (bad_lines != "skip" && bad_lines != "fatal") {
        return keys.refuse("bad_lines", std::string("must be ") + kBadLines);
    }
    source.bad_lines = bad_lines == "skip" ? BadLines::Skip : BadLines::Fatal;
    SWARM_TRY(keys.finish());
    return source;
}

Result<> read_end_token(KeyReader& keys, EndToken& end_token) {
    const toml::node* const node = keys.find("end_token");
    if (node == nullptr) {
        return {};
    }
    if (const auto text = node->value_exact<std::string>(); text && !text->empty()) {
        end_token = *text;
        return {};
    }
    const auto id = node->value_exact<std::int64_t>();
    if (!id || *id < 0 || *id >= std::int64_t{kVocabularyMax}) {
        return keys.refuse("end_token", "must be the text of a token, or its id");
    }
    end_token = static_cast<std::uint32_t>(*id);
    return {};
}

Result<> read_shard_tokens(KeyReader& keys, std::uint64_t& shard_tokens) {
    const toml::node* const node = keys.find("shard_tokens");
    if (node == nullptr) {
        return {};
    }
    const auto tokens = node->value_exact<std::int64_t>();
    if (!tokens || *tokens < static_cast<std::int64_t>(kShardTokensLeast) ||
        *tokens > static_cast<std::int64_t>(kShardTokens)) {
        return keys.refuse("shard_tokens", "must be a whole number from 1024 to 16777216");
    }
    shard_tokens = static_cast<std::uint64_t>(*tokens);
    return {};
}

/// Checks what concerns several sources.
Result<> check_sources(const DataFile& data, std::string_view file) {
    const auto refuse = [&](const std::string& what) {
        return data_file_error(file, nullptr, what);
    };
    if (data.sources.empty()) {
        return refuse("source is missing; begin one with [[source]]");
    }
    if (data.sources.size() > kSourcesMax) {
        return refuse("there are more than " + std::to_string(kSourcesMax) + " sources");
    }
    std::set<std::string> names;
    double sum = 0;
    std::size_t weighted = 0;
    for (const Source& source : data.sources) {
        if (!names.insert(source.name).second) {
            return refuse("two sources have the name " + source.name);
        }
        weighted += source.weight ? 1 : 0;
        sum += source.weight.value_or(0);
    }
    if (weighted != 0 && weighted != data.sources.size()) {
        return refuse("source.weight is missing in some sources; give it to all of them or none");
    }
    if (weighted != 0 && !(sum > 0)) {
        return refuse("source.weight is 0 in all sources; give one of them more");
    }
    return {};
}

Result<DataFile> read_data_document(const toml::table& document, std::string_view file) {
    KeyReader keys(document, "", file);
    DataFile data;
    constexpr const char* kTokenizers = "\"bytes\", \"spm:N\", \"bpe:N\", \"spm:FILE\" or a model";
    SWARM_TRY(keys.read("tokenizer", data.tokenizer, kTokenizers));
    if (data.tokenizer.empty()) {
        return keys.refuse("tokenizer", std::string("is missing; it is ") + kTokenizers);
    }
    SWARM_TRY(read_end_token(keys, data.end_token));
    SWARM_TRY(read_chat_template(keys, data.chat_template));
    SWARM_TRY(read_shard_tokens(keys, data.shard_tokens));
    if (const toml::node* const node = keys.find("source")) {
        const toml::array* const sources = node->as_array();
        if (sources == nullptr || !sources->is_homogeneous(toml::node_type::table)) {
            return keys.refuse("source", "must be a list of tables: [[source]]");
        }
        for (const toml::node& source : *sources) {
            SWARM_TRY(auto read, read_source(*source.as_table(), file));
            data.sources.push_back(std::move(read));
        }
    }
    SWARM_TRY(keys.finish());
    SWARM_TRY(check_sources(data, file));
    return data;
}

}  // namespace

bool DataFile::has_chats() const {
    return std::any_of(sources.begin(), sources.end(), [](const Source& source) {
        return source.rows == RowKind::Chat;
    });
}

bool is_source_name(std::string_view name) {
    const auto is_allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    return !name.empty() && name.size() <= kNameBytesMax &&
           std::all_of(name.begin(), name.end(), is_allowed) && name.front() != '-';
}

Result<DataFile> parse_data_file(std::string_view toml, std::string_view name) {
    if (toml.size() > kDataFileBytesMax) {
        return data_file_error(
            name, nullptr, "has more than " + std::to_string(kDataFileBytesMax) + " bytes"
        );
    }
    try {
        return read_data_document(toml::parse(toml, name), name);
    } catch (const toml::parse_error& error) {
        return data_file_error(name, &error.source(), error.description());
    }
}

}  // namespace swarm::data
