// Turns an exception of LibTorch into an Error: Unsupported, Fatal, with the first line of its
// message (the rest is a backtrace), cut to 200 bytes.
#pragma once

#include "swarm/base/result.hpp"

#include <algorithm>
#include <string>

namespace stages::torch_backend {

inline swarm::Error library_error(const char* what, std::string message) {
    constexpr std::size_t kDetailBytesMax = 200;
    message.resize(std::min({message.find('\n'), message.size(), kDetailBytesMax}));
    return {
        swarm::ErrorCode::Unsupported,
        swarm::Reaction::Fatal,
        std::string("LibTorch failed in ") + what + ": " + message};
}

}  // namespace stages::torch_backend
