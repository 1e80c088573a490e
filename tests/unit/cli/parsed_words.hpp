// The options that a command line leads to, for tests: no verb runs.
#pragma once

#include "swarm/cli/command_line.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace swarm::cli::test {

using Words = std::vector<std::string>;

inline std::string joined(const Words& words) {
    std::string text = "swarm";
    for (const std::string& word : words) {
        text += " " + word;
    }
    return text;
}

/// Fails the test unless the words lead to a verb with these options.
template <class Options>
Options options_of(const Words& words) {
    const auto read = read_command_line(words);
    const auto* const verb = std::get_if<ChosenVerb>(&read);
    const Options* const options = verb == nullptr ? nullptr : verb->options<Options>();
    EXPECT_NE(options, nullptr) << joined(words);
    return options == nullptr ? Options() : *options;
}

/// Fails the test unless the words end the program without a verb.
inline Exit exit_of(const Words& words) {
    const auto read = read_command_line(words);
    const auto* const exit = std::get_if<Exit>(&read);
    EXPECT_NE(exit, nullptr) << joined(words);
    return exit == nullptr ? Exit{-1, ""} : *exit;
}

}  // namespace swarm::cli::test
