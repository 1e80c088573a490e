#include "sim/scenario/trace.hpp"

#include "sim/scenario/distribution.hpp"
#include "sim/scenario/table_reader.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace sim {

namespace {

using Kind = Happening::Kind;

constexpr std::size_t kLineMax = 256;
constexpr std::string_view kHeading = "seconds,peer,event";

/// Takes the text up to the next comma off the line, and returns it.
std::string_view take_field(std::string_view& line) {
    const std::size_t comma = line.find(',');
    std::string_view field = line.substr(0, comma);
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
    while (field.starts_with(' ')) {
        field.remove_prefix(1);
    }
    while (field.ends_with(' ')) {
        field.remove_suffix(1);
    }
    return field;
}

template <class Number>
std::optional<Number> number_of(std::string_view field) {
    Number number{};
    const char* end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), end, number);
    return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

std::optional<Kind> kind_of(std::string_view field) {
    static constexpr std::array<std::pair<std::string_view, Kind>, 3> kKinds = {
        {{"join", Kind::Join}, {"leave", Kind::Leave}, {"crash", Kind::Crash}}};
    for (const auto& [name, kind] : kKinds) {
        if (field == name) {
            return kind;
        }
    }
    return std::nullopt;
}

/// Keeps the facts of the lines so far, for the checks of the next.
class TraceReader {
 public:
    explicit TraceReader(std::uint32_t peers) : presence_(peers) {}

    /// Takes one line and returns its mistake, or an empty string when it has none.
    std::string take(std::string_view line, std::size_t number) {
        Happening next;
        const auto seconds = number_of<double>(take_field(line));
        const auto peer = number_of<std::uint64_t>(take_field(line));
        const auto kind = kind_of(take_field(line));
        if (!seconds || !peer || !kind || !line.empty()) {
            return "must be seconds,peer,join|leave|crash";
        }
        const double most = std::chrono::duration<double>(kDurationMax).count();
        if (!(*seconds >= 0 && *seconds <= most)) {
            return "must have a time from 0 to 366 days";
        }
        if (*peer < 1 || *peer > presence_.size()) {
            return "names peer " + std::to_string(*peer) + ", but there are " +
                   std::to_string(presence_.size()) + " peers, from 1";
        }
        next.at = TimePoint(to_duration(*seconds));
        next.peer = static_cast<std::uint32_t>(*peer);
        next.kind = *kind;
        if (!happenings_.empty() && next.at < happenings_.back().at) {
            return "is out of order: the line before is at " +
                   seconds_text(happenings_.back().at.time_since_epoch());
        }
        if (happenings_.size() == kHappeningsMax) {
            return "is one line too many; a trace has at most " + std::to_string(kHappeningsMax);
        }
        return add(next, number);
    }

    std::vector<Happening> take_all() { return std::move(happenings_); }

 private:
    struct Presence {
        std::size_t since = 0;  // number of the line; 0: no line yet
        bool there = false;
    };

    std::string add(const Happening& next, std::size_t number) {
        Presence& presence = presence_[next.peer - 1];
        const bool joins = next.kind == Kind::Join;
        if (presence.since != 0 && presence.there == joins) {
            return "peer " + std::to_string(next.peer) + " is " + (joins ? "" : "not ") +
                   "there since line " + std::to_string(presence.since);
        }
        presence = {number, joins};
        happenings_.push_back(next);
        return "";
    }

    std::vector<Happening> happenings_;
    std::vector<Presence> presence_;
};

}  // namespace

swarm::Result<std::vector<Happening>> read_trace(
    std::istream& in, const std::string& file, std::uint32_t peers
) {
    TraceReader reader(peers);
    std::array<char, kLineMax> buffer{};
    for (std::size_t number = 1; in.getline(buffer.data(), kLineMax); ++number) {
        std::string_view line(buffer.data());
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        if (line.empty() || line.starts_with('#') || (number == 1 && line == kHeading)) {
            continue;
        }
        const std::string fault = reader.take(line, number);
        if (!fault.empty()) {
            return usage(file + ":" + std::to_string(number), fault);
        }
    }
    if (!in.eof()) {
        return usage(file, "cannot be read, or has a line of more than 255 characters");
    }
    return reader.take_all();
}

}  // namespace sim
