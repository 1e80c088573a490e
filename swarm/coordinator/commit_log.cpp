#include "swarm/coordinator/commit_log.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cinttypes>
#include <cstddef>
#include <cstdio>

namespace swarm::coordinator {
namespace {

constexpr std::string_view kCodecs = "codecs=";
constexpr std::string_view kLayers = "layers=";
constexpr std::string_view kSettings = "settings=";

Error malformed(std::string_view line) {
    const std::string start(line.substr(0, 60));
    return {
        ErrorCode::Malformed,
        Reaction::Fatal,
        "unreadable record in the commit log: \"" + start +
            "\"; restore the run directory from a copy, or start the run anew"};
}

std::string text_of(double value) {
    std::array<char, 32> buffer{};
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), end};
}

std::string text_of(ParameterVersion version) {
    return ' ' + std::to_string(version.gen) + ' ' + std::to_string(version.step);
}

/// Sixteen hexadecimal digits for each word of the id.
std::string text_of(PeerId peer) {
    std::array<char, 65> buffer{};
    std::snprintf(
        buffer.data(),
        buffer.size(),
        "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64,
        peer.words[0],
        peer.words[1],
        peer.words[2],
        peer.words[3]
    );
    return buffer.data();
}

std::string text_of(const std::vector<Digest>& hashes) {
    std::string text;
    for (const Digest& hash : hashes) {
        text += ' ' + to_hex(hash);
    }
    return text;
}

struct LineOf {
    std::string operator()(const CincRecord& record) const {
        std::string line = "cinc " + std::to_string(record.cinc);
        std::string before = ' ' + std::string(kLayers);
        for (const std::uint32_t layers : record.layers_per_stage) {
            line += std::exchange(before, ",") + std::to_string(layers);
        }
        if (record.settings) {
            line += ' ' + std::string(kSettings) + to_hex(*record.settings);
        }
        return line;
    }

    std::string operator()(const CommitRecord& record) const {
        if (record.skips()) {
            SWARM_ASSERT(record.codecs.empty());
            return "skip" + text_of(record.version) + ' ' + std::to_string(record.epoch.value);
        }
        std::string line = record.exchanges() ? "exchange" : "commit";
        line += text_of(record.version) + ' ' + std::to_string(record.epoch.value);
        if (record.exchanges()) {
            SWARM_ASSERT(record.codecs.empty());
            return line + text_of(record.result_hashes);
        }
        const auto& scalars = record.scalars;
        for (const double value :
             {scalars.clip_factor,
              scalars.learning_rate,
              scalars.bias_correction1,
              scalars.bias_correction2,
              record.loss,
              record.gradient_norm}) {
            line += ' ' + text_of(value);
        }
        line += text_of(record.result_hashes);
        if (!record.codecs.empty()) {
            line += ' ';
            line += kCodecs;
            line += run::to_text(record.codecs);
        }
        return line;
    }

    std::string operator()(const StateRecord& record) const {
        return "state" + text_of(record.version) + ' ' + std::to_string(record.stage.value) + ' ' +
               to_hex(record.hash);
    }

    std::string operator()(const CheckpointRecord& record) const {
        return "checkpoint" + text_of(record.version) + ' ' + record.name;
    }

    std::string operator()(const RollbackRecord& record) const {
        return "rollback" + text_of(record.version);
    }

    std::string operator()(const MembersRecord& record) const {
        std::string line = "members";
        for (const auto& [stage, peers] : record.members) {
            std::string before = " ";
            for (const PeerId peer : peers) {
                line += std::exchange(before, ",") + text_of(peer);
            }
        }
        return line;
    }
};

/// Takes the words of a line one by one. failed() is true once a word was missing or malformed.
class Words {
 public:
    explicit Words(std::string_view line) : rest_(line) {}

    std::string_view word() {
        const std::size_t end = std::min(rest_.find(' '), rest_.size());
        const std::string_view taken = rest_.substr(0, end);
        const bool space_at_end = end + 1 == rest_.size();
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        failed_ = failed_ || taken.empty() || space_at_end;
        return taken;
    }

    template <class Number>
    Number number() {
        const std::string_view text = word();
        Number value{};
        const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        failed_ = failed_ || error != std::errc() || stop != text.data() + text.size();
        return value;
    }

    ParameterVersion version() {
        const auto gen = number<std::uint32_t>();
        return {gen, number<std::uint64_t>()};
    }

    Digest digest() { return digest_of(word()); }

    Digest digest_of(std::string_view text) {
        Digest digest;
        failed_ = failed_ || text.size() != 2 * digest.bytes.size();
        for (std::size_t i = 0; !failed_ && i < digest.bytes.size(); ++i) {
            unsigned value = 0;
            const char* const begin = text.data() + 2 * i;
            const auto [stop, error] = std::from_chars(begin, begin + 2, value, 16);
            failed_ = error != std::errc() || stop != begin + 2;
            digest.bytes[i] = static_cast<std::byte>(value);
        }
        return digest;
    }

    /// A word of peer ids with commas between them; at least one.
    std::vector<PeerId> peers() {
        constexpr std::size_t kDigits = 64;
        std::string_view text = word();
        std::vector<PeerId> peers(text.size() / kDigits);
        for (PeerId& peer : peers) {
            for (std::size_t i = 0; i < peer.words.size(); ++i) {
                const char* const begin = text.data() + 16 * i;
                const auto [stop, error] = std::from_chars(begin, begin + 16, peer.words[i], 16);
                failed_ = failed_ || error != std::errc() || stop != begin + 16;
            }
            text.remove_prefix(kDigits);
            const bool is_last = &peer == &peers.back();
            failed_ = failed_ || (is_last ? !text.empty() : !text.starts_with(','));
            if (failed_) {
                return {};
            }
            text.remove_prefix(is_last ? 0 : 1);
        }
        failed_ = failed_ || peers.empty();
        return peers;
    }

    /// When the next word begins with `start`: takes the word and returns its rest.
    std::optional<std::string_view> word_after(std::string_view start) {
        if (!rest_.starts_with(start)) {
            return std::nullopt;
        }
        return word().substr(start.size());
    }

    /// The numbers of the word that begins with `start`: at least one, with commas between them.
    template <class Number>
    std::vector<Number> numbers_after(std::string_view start) {
        std::vector<Number> numbers;
        for (auto rest = word_after(start); rest && !failed_;) {
            const std::size_t end = std::min(rest->find(','), rest->size());
            Number value{};
            const char* const begin = rest->data();
            const auto [stop, error] = std::from_chars(begin, begin + end, value);
            failed_ = error != std::errc() || stop != begin + end;
            numbers.push_back(value);
            rest = end < rest->size() ? std::optional(rest->substr(end + 1)) : std::nullopt;
        }
        return numbers;
    }

    void fail() { failed_ = true; }

    [[nodiscard]] bool at_end() const { return rest_.empty(); }

    [[nodiscard]] bool failed() const { return failed_; }

 private:
    std::string_view rest_;
    bool failed_ = false;
};

CommitRecord read_commit(Words& words) {
    CommitRecord record;
    record.version = words.version();
    record.epoch.value = words.number<std::uint64_t>();
    for (double* const value :
         {&record.scalars.clip_factor,
          &record.scalars.learning_rate,
          &record.scalars.bias_correction1,
          &record.scalars.bias_correction2,
          &record.loss,
          &record.gradient_norm}) {
        *value = words.number<double>();
    }
    std::optional<std::string_view> codecs;
    do {  // there is one hash per stage, and every run has a stage
        record.result_hashes.push_back(words.digest());
        codecs = words.word_after(kCodecs);
    } while (!words.failed() && !words.at_end() && !codecs);
    if (codecs) {
        const auto stages = static_cast<std::uint32_t>(record.result_hashes.size());
        const std::optional<run::LegCodecs> parsed = run::parse_leg_codecs(*codecs, stages);
        if (!parsed) {
            words.fail();
            return record;
        }
        record.codecs = *parsed;
    }
    return record;
}

CommitRecord read_exchange(Words& words) {
    const ParameterVersion version = words.version();
    CommitRecord record = exchange_of(version, {words.number<std::uint64_t>()}, {});
    do {
        record.result_hashes.push_back(words.digest());
    } while (!words.failed() && !words.at_end());
    return record;
}

CincRecord read_cinc(Words& words) {
    CincRecord record{words.number<std::uint32_t>()};
    record.layers_per_stage = words.numbers_after<std::uint32_t>(kLayers);
    if (const auto settings = words.word_after(kSettings)) {
        record.settings = words.digest_of(*settings);
    }
    return record;
}

MembersRecord read_members(Words& words) {
    MembersRecord record;
    do {  // every run has a stage, and no commit is without members of each
        const auto stage = static_cast<std::uint32_t>(record.members.size());
        record.members[{stage}] = words.peers();
    } while (!words.failed() && !words.at_end());
    return record;
}

StateRecord read_state(Words& words) {
    StateRecord record;
    record.version = words.version();
    record.stage.value = words.number<std::uint32_t>();
    record.hash = words.digest();
    return record;
}

}  // namespace

CommitRecord skip_of(ParameterVersion version, Epoch epoch) {
    return {version, epoch, {.clip_factor = 0}, 0, 0, {}};
}

CommitRecord exchange_of(ParameterVersion version, Epoch epoch, std::vector<Digest> hashes) {
    return {version, epoch, {.clip_factor = 0}, 0, 0, std::move(hashes)};
}

std::string to_line(const LogRecord& record) {
    return std::visit(LineOf{}, record);
}

Result<LogRecord> parse_record(std::string_view line) {
    Words words(line);
    const std::string_view kind = words.word();
    std::optional<LogRecord> record;
    if (kind == "cinc") {
        record = read_cinc(words);
    } else if (kind == "commit") {
        record = read_commit(words);
    } else if (kind == "skip") {
        const ParameterVersion version = words.version();
        record = skip_of(version, {words.number<std::uint64_t>()});
    } else if (kind == "state") {
        record = read_state(words);
    } else if (kind == "exchange") {
        record = read_exchange(words);
    } else if (kind == "checkpoint") {
        const ParameterVersion version = words.version();
        record = CheckpointRecord{version, std::string(words.word())};
    } else if (kind == "rollback") {
        record = RollbackRecord{words.version()};
    } else if (kind == "members") {
        record = read_members(words);
    }
    if (!record || words.failed() || !words.at_end()) {
        return malformed(line);
    }
    return *record;
}

void RunHistory::pass_on_in(std::uint64_t step, const run::LegCodecs& chosen) {
    if (codecs.empty() || codecs.back().codecs != chosen) {
        codecs.push_back({step, chosen});
    }
}

void RunHistory::cut_as(std::uint64_t step, const std::vector<std::uint32_t>& layers_per_stage) {
    if (!layers_per_stage.empty() &&
        (splits.empty() || splits.back().layers_per_stage != layers_per_stage)) {
        splits.push_back({step, layers_per_stage});
    }
}

void RunHistory::roll_back(ParameterVersion to) {
    version = to;
    last_commit.reset();
    members.clear();  // they hold a version that counts no more
    skips_in_a_row = 0;
    std::erase_if(losses, [&](const auto& entry) { return entry.first >= to.step; });
    if (!codecs.empty()) {
        const run::LegCodecs latest = codecs.back().codecs;  // a rollback changes no codecs
        std::erase_if(codecs, [&](const run::CodecChange& change) {
            return change.step >= to.step;
        });
        pass_on_in(to.step, latest);
    }
    if (!splits.empty()) {
        const SplitChange latest = splits.back();
        std::erase_if(splits, [&](const SplitChange& change) { return change.step >= to.step; });
        cut_as(to.step, latest.layers_per_stage);
    }
}

void RunHistory::apply(const LogRecord& record) {
    if (const auto* start = std::get_if<CincRecord>(&record)) {
        cinc = start->cinc;
        settings = start->settings ? start->settings : settings;
        cut_as(version.step, start->layers_per_stage);
    } else if (const auto* commit = std::get_if<CommitRecord>(&record)) {
        version = {commit->version.gen, commit->version.step + 1};
        last_commit = *commit;
        if (!commit->codecs.empty()) {
            pass_on_in(version.step, commit->codecs);
        }
        if (commit->exchanges()) {
            return;  // it has no batch, so no loss, and does not end a row of skips
        }
        if (commit->skips()) {
            ++skips_in_a_row;
        } else {
            skips_in_a_row = 0;
            losses.emplace_back(commit->version.step, commit->loss);
        }
    } else if (const auto* state = std::get_if<StateRecord>(&record)) {
        states[{state->version, state->stage}] = state->hash;
    } else if (const auto* written = std::get_if<CheckpointRecord>(&record)) {
        checkpoint = *written;
    } else if (const auto* rollback = std::get_if<RollbackRecord>(&record)) {
        roll_back(rollback->version);
    } else if (const auto* held = std::get_if<MembersRecord>(&record)) {
        members = held->members;
    }
}

Result<RunHistory> replay_log(const std::vector<std::string>& lines) {
    RunHistory history;
    for (const std::string& line : lines) {
        SWARM_TRY(const auto record, parse_record(line));
        history.apply(record);
    }
    return history;
}

}  // namespace swarm::coordinator
