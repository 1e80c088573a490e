#include "swarm/cli/terminal/repeat_filter.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace swarm::cli {
namespace {

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The line with each word that is a number as one mark. A word of an address or a name stays.
std::string kind_of(const std::string& line) {
    constexpr const char* kBetweenWords = " ,;:()/";
    std::string kind;
    for (std::size_t begin = 0; begin < line.size();) {
        const std::size_t end = std::min(line.find_first_of(" ", begin), line.size());
        const std::string word = line.substr(begin, end - begin);
        const std::size_t first = word.find_first_not_of(kBetweenWords);
        const std::size_t last = word.find_last_not_of(kBetweenWords);
        const bool is_number =
            first != std::string::npos && std::all_of(
                                              word.begin() + static_cast<std::ptrdiff_t>(first),
                                              word.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                                              [](char c) { return is_digit(c) || c == '/'; }
                                          );
        kind += (is_number ? "#" : word) + " ";
        begin = end + 1;
    }
    return kind;
}

std::string counted(std::uint64_t held_back, const std::string& last) {
    return last + " (and " + std::to_string(held_back) + " more like it)";
}

}  // namespace

std::optional<std::string> RepeatFilter::pass(const std::string& line, TimePoint now) {
    const std::string kind = kind_of(line);
    const auto known = kinds_.find(kind);
    if (known == kinds_.end()) {
        if (kinds_.size() >= kKindsMax) {
            kinds_.erase(std::ranges::min_element(kinds_, {}, [](const auto& entry) {
                return entry.second.at;
            }));
        }
        kinds_[kind] = {now};
        return line;
    }
    Shown& shown = known->second;
    if (now - shown.at < kPause) {
        ++shown.held_back;
        shown.last = line;
        return std::nullopt;
    }
    shown.at = now;
    const std::uint64_t held_back = std::exchange(shown.held_back, 0);
    return held_back == 0 ? line : counted(held_back, line);
}

std::vector<std::string> RepeatFilter::take_overdue(TimePoint now) {
    std::vector<std::string> lines;
    for (auto& [kind, shown] : kinds_) {
        if (shown.held_back > 0 && now - shown.at >= kPause) {
            lines.push_back(counted(std::exchange(shown.held_back, 0), shown.last));
            shown.at = now;
        }
    }
    return lines;
}

}  // namespace swarm::cli
