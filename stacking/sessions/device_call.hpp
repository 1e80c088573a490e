// One call of a server's device: frames of rows of one or several hops, and what comes of them.
// run() is the work on the device; the hop table makes the call and takes its results.
// Invariant: the rows of a piece come out as they would alone (session_compute.hpp).
// Threading: run() on the device's thread, while nobody else touches the call.
// Shapes: (rows, C) fp32. Errors: `failed`, after which the other results mean nothing; a piece
// whose numbers are not finite is `spoiled` alone.
#pragma once

#include "stacking/composition/bridged_input.hpp"
#include "stacking/expert_compute.hpp"
#include "stacking/logit_changes.hpp"
#include "stacking/session_compute.hpp"
#include "swarm/base/units.hpp"
#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace compression {
class Codec;
}

namespace stacking::sessions {

/// Rows that came as one message.
struct RowFrame {
    std::uint32_t position = 0;
    std::uint32_t rows = 0;
    bool wanted = false;
    std::uint32_t guessed = 0;
    std::vector<TokenId> tokens{};  // one per row at hops that read tokens, else empty
    std::vector<float> values{};    // rows; empty at the first hop
    swarm::TimePoint came{};
    std::vector<std::uint32_t> hop_us{};  // times of the hops before this one
    std::uint32_t guess_us = 0;           // their prices of a guess

    /// Tells rows of a text that is read from a token with its guesses.
    [[nodiscard]] bool is_reading() const { return rows > 1 && guessed == 0; }

    /// Number of the last rows after which a token is drawn.
    [[nodiscard]] std::uint32_t draws() const { return wanted ? guessed + 1 : 0; }
};

/// A token of the text that the client wants judged, and the row before it.
struct Judged {
    std::uint32_t row = 0;  // index in the frame
    TokenId token = 0;
    double log_probability = 0;  // result
};

/// One frame of a call, and its results.
struct CallPiece {
    std::pair<std::uint64_t, std::uint32_t> key;  // session, hop
    CacheId cache;
    std::uint64_t begins = 0;
    RowFrame frame;
    bool is_last = false;
    const compression::Codec* codec = nullptr;  // codec of the rows that leave
    double exit_threshold = 2;
    std::uint32_t top = 0;                // number of candidates to find
    std::vector<Judged> judged{};         // last hop only
    std::vector<LogitChanges> changes{};  // one for each draw
    bool spoiled = false;                 // result: rows or logits are no numbers
    std::vector<std::byte> coded{};       // result: the rows that leave
    /// Result: candidates of each draw; empty: none was asked for, or they are not finite.
    std::vector<std::vector<swarm::protocol::TokenScore>> found{};
};

struct DeviceCall {
    std::vector<CallPiece> pieces;
    std::vector<LackingExperts> lacking{};  // by piece; empty without a trunk
    std::optional<ExpertStop> stop{};       // result: the call waits for these experts
    bool failed = false;
    std::uint32_t rows = 0;  // rows of all pieces
    swarm::TimePoint begun{};

    /// `bridge`: the one in front of the layers, or null.
    void run(SessionCompute& compute, const composition::BridgedInput* bridge);

    /// Parts of run(), where the compute is a trunk: up to the next stop, and on from it.
    void begin(
        SessionCompute& compute, ExpertTrunk& trunk, const composition::BridgedInput* bridge
    );
    void go_on(
        SessionCompute& compute, ExpertTrunk& trunk, std::span<const std::vector<float>> outputs
    );

 private:
    /// The rows of all pieces.
    struct Input {
        std::vector<SessionRow> rows;
        std::vector<TokenId> tokens;
        std::vector<float> values;
        bool of_tokens = false;

        [[nodiscard]] StageInput view() const;
    };

    [[nodiscard]] Input read(SessionCompute& compute, const composition::BridgedInput* bridge);
    void take(TrunkStep step, SessionCompute& compute);
    void split(std::span<const float> outputs, SessionCompute& compute);
};

}  // namespace stacking::sessions
