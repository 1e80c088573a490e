// The figures of an answer: the summary for people, and the content of --json, which README.md
// describes key by key.
// Threading: pure functions. Times are of one clock.
#pragma once

#include "swarm/cli/answer/answer.hpp"
#include "swarm/cli/answer/generate_options.hpp"
#include "swarm/node/report.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

/// Returns the text of --json for an answer in this process. `prompt`: its tokens.
std::string to_json(
    const GenerateOptions& options, std::size_t prompt, const Answer& answer, std::string text
);

/// The record of an answer by peers.
struct AnswerRecord {
    /// A model, a chain, or a member of an ensemble.
    struct Reader {
        std::string name;
        std::vector<std::vector<PeerId>> routes{};  // the peers of its hops; one route per change
        std::vector<protocol::CodecId> codecs{};    // codecs of the rows between its hops
        std::optional<node::MemberDropped> dropped{};
    };

    std::string name;    // name of the model or the stack
    std::string replay;  // exact or fast
    bool is_ensemble = false;
    bool codes_rows = false;  // the options name codecs for the rows between hops
    std::size_t prompt_tokens = 0;
    std::vector<std::uint32_t> ids{};
    std::string text{};
    std::vector<std::size_t> answered_by_hop{};  // tokens by the hop that ended their path
    std::vector<Reader> readers{};               // one, or the members of an ensemble
    std::vector<node::TokenStreamed> timed{};    // the tokens of plain decode steps
    std::vector<node::SessionMoved> moves{};     // one per lost peer
    TimePoint routed{};
    TimePoint first_token{};
    TimePoint last_token{};
};

/// Returns lines with speeds, hops and losses, for people; empty when no token came.
std::string summary_of(const AnswerRecord& record);

/// Returns the object of --json.
boost::json::object to_json(const AnswerRecord& record);

}  // namespace swarm::cli
