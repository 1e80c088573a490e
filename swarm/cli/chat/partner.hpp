// Whoever answers a conversation: a model or a stack in this process, or the peers that serve it.
// Invariant: the answer is a function of the conversation and the options; what was read for the
// turns before is only faster.
// Threading: the loop's thread. Errors: those of opening the model and of encoding; TooLarge: the
// conversation fills the context; Unreachable. After an error the next question may be asked.
#pragma once

#include "stacking/tokenizers/chat_template.hpp"
#include "swarm/cli/answer/generate_options.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/net/event_loop.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace swarm::cli {

class Partner {
 public:
    Partner() = default;
    Partner(const Partner&) = delete;
    Partner& operator=(const Partner&) = delete;
    virtual ~Partner() = default;

    /// Writes the answer to stdout as it comes, and returns it. It ends early when the person stops
    /// it.
    virtual Result<std::string> answer(
        const std::vector<stacking::tokenizers::ChatMessage>& messages
    ) = 0;
};

/// `stops`: whether the person has stopped the answer; signals are noticed while `loop` runs.
/// Arguments outlive the partner.
Result<std::unique_ptr<Partner>> find_partner(
    GenerateOptions options,
    net::EventLoop& loop,
    std::function<bool()> stops,
    Console& console
);

}  // namespace swarm::cli
