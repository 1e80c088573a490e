#include "swarm/cli/answer/answer_text.hpp"

#include "swarm/cli/answer/answer.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/standard_output.hpp"

#include <cstdio>
#include <iostream>
#include <utility>

namespace swarm::cli {

bool TextStream::add(std::uint32_t token) {
    write(generated_.add(token));
    return output_is_taken() && !is_stopped();
}

std::string TextStream::finish() {
    write(generated_.finish());
    if (!text_.empty()) {
        std::cout << std::endl;
    }
    return std::move(text_);
}

void TextStream::write(const std::string& text) {
    if (text.empty()) {
        return;
    }
    const std::string answer = std::exchange(before_, "") + text;
    std::cout << (output_is_terminal() ? printable(answer) : answer) << std::flush;
    text_ += text;
}

std::string timing_line(const char* what, std::size_t tokens, double seconds) {
    char line[96];
    std::snprintf(
        line,
        sizeof line,
        "%-8s%6zu tokens %8.2f s %8.1f tokens/s\n",
        what,
        tokens,
        seconds,
        rate_of(tokens, seconds).value_or(0)
    );
    return line;
}

boost::json::value rate_as_json(std::size_t tokens, double seconds) {
    const std::optional<double> rate = rate_of(tokens, seconds);
    return rate ? boost::json::value(*rate) : boost::json::value(nullptr);
}

}  // namespace swarm::cli
