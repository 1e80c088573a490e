#include "stacking/tokenizers/stop_texts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stacking::tokenizers {

StopTexts::StopTexts(std::vector<std::string> stops) : stops_(std::move(stops)) {
    std::erase(stops_, "");
}

std::string StopTexts::push(std::string_view bytes) {
    if (found_) {
        return "";
    }
    held_ += bytes;
    std::size_t first_end = std::string::npos;
    std::size_t begin = std::string::npos;
    for (const std::string& stop : stops_) {
        const std::size_t at = held_.find(stop);
        if (at == std::string::npos) {
            continue;
        }
        const std::size_t end = at + stop.size();
        if (end < first_end || (end == first_end && at < begin)) {
            first_end = end;
            begin = at;
        }
    }
    if (begin != std::string::npos) {
        found_ = true;
        held_.resize(begin);
        return std::exchange(held_, "");
    }
    std::size_t kept = 0;  // bytes at the end that may begin a stop text
    for (const std::string& stop : stops_) {
        std::size_t length = std::min(stop.size() - 1, held_.size());
        while (length > kept && !held_.ends_with(std::string_view(stop).substr(0, length))) {
            --length;
        }
        kept = std::max(kept, length);
    }
    std::string passed = held_.substr(0, held_.size() - kept);
    held_.erase(0, passed.size());
    return passed;
}

std::string StopTexts::finish() {
    return std::exchange(held_, "");
}

}  // namespace stacking::tokenizers
