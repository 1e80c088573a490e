// `swarm api`: an endpoint in the form of OpenAI's API, answered by the peers that serve a model or
// a stack. Any client of that API talks to it.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/cli/common/join_address.hpp"
#include "swarm/cli/common/verb.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/protocol/session_messages.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

struct ApiOptions {
    std::string join;
    ExpectedOwner owner{};  // that must answer there
    std::string model;      // a path or a name; or a stack:
    std::string stack;
    std::string name;  // under which clients ask for it; empty: that of the model
    std::string listen = "127.0.0.1:8080";
    std::string keys_file;  // empty: anybody who can connect may ask
    bool tls = false;       // with these files, or a certificate that is made
    std::string certificate_file;
    std::string certificate_key_file;
    std::string allowed_origin;
    std::uint32_t answer_tokens = 1024;  // for a chat that names no bound
    Duration wait = std::chrono::seconds(60);
    std::string swarm_key_file;
    std::vector<std::string> digests;
    std::vector<protocol::RowCodec> codecs;
    std::uint32_t guesses_max = protocol::kGuessesMax;
};

void add_api(CLI::App& program, const OnChosen& on_chosen);

int api(const ApiOptions& options);

}  // namespace swarm::cli
