// The messages by which peers continue texts: one window at a time (Infer), or as sessions whose KV
// pages stay at the peers. This is a part of message.hpp, in the same style; PROTOCOL.md says who
// sends which message, when, and how a receiver reacts.
// The client's process draws session ids at random, so no two starts of a client share one. A hop
// is a place on a session's path, counted from 0; one peer may be several hops. A route is one
// assignment of peers to hops; a route with a higher number replaces one with a lower number.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/protocol/tensor_envelope.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::protocol {

/// Generator -> stage 0, and hop -> hop of the next stage: a forward without training. The payload
/// is that of a Forward. Inferred answers it and travels back hop by hop.
struct Infer {
    std::uint64_t request = 0;
    std::vector<std::uint32_t> tokens;  // B = 1
    std::uint32_t top = 1;              // how many candidates for the token after the last to tell

    friend bool operator==(const Infer&, const Infer&) = default;
};

/// The codec of the rows on a link. Without a value the hop that sends the rows chooses the codec
/// by its measurements of the link, and SessionOpened names the choice.
using RowCodec = std::optional<CodecId>;

/// A candidate for the next token.
struct TokenScore {
    std::uint32_t token = 0;
    double log_probability = 0;

    friend bool operator==(const TokenScore&, const TokenScore&) = default;
};

/// Hop -> the hop that its Infer came from, and finally the generator.
struct Inferred {
    std::uint64_t request = 0;
    bool refused = false;
    std::vector<TokenScore> top;  // best first

    friend bool operator==(const Inferred&, const Inferred&) = default;
};

/// Layers [first, end) of a model.
struct LayerRange {
    std::uint32_t first = 0;
    std::uint32_t end = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend auto operator<=>(const LayerRange&, const LayerRange&) = default;
};

/// Server -> directory, until the server knows its layers: "I would serve one part of this split;
/// which one?"
struct HostOffer {
    Digest model;                   // SHA-256 of the model's file or checkpoint
    std::uint32_t layers = 0;       // layers of the whole model
    std::vector<LayerRange> split;  // consecutive parts that make up the whole model

    friend bool operator==(const HostOffer&, const HostOffer&) = default;
};

/// Directory -> server: these layers need a peer most. They are a part of the server's own split,
/// or of the one that peers of its network serve when nobody serves its own.
struct HostPlace {
    Digest model;
    LayerRange hosted;

    friend bool operator==(const HostPlace&, const HostPlace&) = default;
};

/// A server's own statement of its speed: rows per second through all layers that it hosts, while
/// it computes. 0 means not known yet.
struct RowRates {
    double prefill_per_s = 0;
    double decode_per_s = 0;

    friend bool operator==(const RowRates&, const RowRates&) = default;
};

/// Server -> directory, on every link and then every 2 s: the sender serves the layers `hosted`.
struct Register {
    Digest model;              // SHA-256 of the model's file or checkpoint
    std::uint32_t layers = 0;  // layers of the whole model
    LayerRange hosted;
    Digest weights;  // SHA-256 of the hosted layers' weights
    std::string address;
    RowRates rates{};
    /// Experts of these layers that the server lends to others: bit e % 64 of word e / 64 stands
    /// for expert e.
    std::vector<std::uint64_t> experts{};
    /// The server has nothing of these layers but those experts: it hosts no hop. `weights` is then
    /// the digest that ExpertRows has.
    bool experts_only = false;

    friend bool operator==(const Register&, const Register&) = default;
};

/// Directory -> server: the answer to Register.
struct Registered {
    std::string refusal;  // why the server is not listed; empty when it is listed

    friend bool operator==(const Registered&, const Registered&) = default;
};

/// Client -> directory: "who serves this model?"
struct Locate {
    Digest model;
    std::uint32_t layers = 0;  // layers that the sender's copy of it has; 0: the sender has none

    friend bool operator==(const Locate&, const Locate&) = default;
};

/// A server as the directory lists it.
struct HostInfo {
    PeerId peer;
    LayerRange hosted;
    std::string address;
    RowRates rates{};
    Digest weights{};  // the server's word; servers that differ are groups, of which clients choose
    std::vector<std::uint64_t> experts{};  // like Register::experts
    bool experts_only = false;

    friend bool operator==(const HostInfo&, const HostInfo&) = default;
};

/// Directory -> client: every server of the model that says it has so many layers, in order of
/// (hosted layers, peer).
struct Located {
    Digest model;
    std::uint32_t layers = 0;  // layers of the whole model; 0 when nobody serves it
    std::vector<HostInfo> hosts;

    friend bool operator==(const Located&, const Located&) = default;
};

/// Names one hop of one route of one session.
struct HopId {
    std::uint64_t session = 0;
    std::uint32_t route = 0;
    std::uint32_t hop = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend auto operator<=>(const HopId&, const HopId&) = default;
};

/// A neighbour of a hop on the path; the client is the neighbour before the first hop.
struct PathPeer {
    PeerId peer;
    std::string address;

    friend bool operator==(const PathPeer&, const PathPeer&) = default;
};

/// A number that is added to the logit of a token.
struct TokenBias {
    std::uint32_t token = 0;
    double bias = 0;

    friend bool operator==(const TokenBias&, const TokenBias&) = default;
};

/// How the last hop of a session draws tokens.
struct Sampling {
    double temperature = 0;  // 0 takes the likeliest token
    std::uint64_t seed = 0;  // the seed and a token's position are the only source of randomness
    std::uint32_t top = 1;   // how many candidates are reported with each token
    /// The draw is among the fewest tokens that reach this probability together, and among so many
    /// tokens at most; 0 sets no bound. A peer of a program without these fields refuses a frame
    /// that has them, so no peer draws without the bounds.
    double top_p = 0;
    std::uint32_t top_k = 0;
    double min_p = 0;  // least probability, as a part of the likeliest token's; 0 sets no bound
    /// Above 1 it makes tokens of the text less likely; 0 changes nothing, as 1 does.
    double repetition_penalty = 0;
    /// Taken off the logit of a token at a position from `generated_from` on: once, and once for
    /// each time that it is there.
    double presence_penalty = 0;
    double frequency_penalty = 0;
    std::uint32_t generated_from = 0;
    std::vector<TokenBias> biases{};

    /// Tells whether a draw depends on the tokens before it. All hops read the tokens then.
    [[nodiscard]] bool reads_text() const {
        const bool repeats = repetition_penalty != 0 && repetition_penalty != 1;
        return repeats || presence_penalty != 0 || frequency_penalty != 0;
    }

    friend bool operator==(const Sampling&, const Sampling&) = default;
};

/// Client -> each hop: opens the session at the hop, or gives the session a new route; the cache at
/// the hop stays.
struct SessionOpen {
    HopId id;
    std::uint32_t hops = 1;  // hops of the path; the last hop samples
    Digest model;
    LayerRange layers;
    std::uint32_t positions = 0;  // positions of the prompt and of the text to generate
    PathPeer previous;
    PathPeer next;              // without meaning at the last hop
    bool exact = true;          // a replay repeats the calls as they were; else in large calls
    double exit_threshold = 2;  // probability above which a hop with a head ends the token's path
    Sampling sampling;
    /// Tokens at the positions [text_from, text_from + size). The last hop tells the probability of
    /// each of them after the tokens before it. An empty text asks for nothing.
    std::uint32_t text_from = 0;
    std::vector<std::uint32_t> text{};
    std::uint32_t tokens_upto = 0;   // the last hop that reads tokens: a bridge's hop, or hop 0
    RowCodec codec = CodecId::None;  // codec of the rows to the next hop; each row is coded alone
    /// Names of the text so far, one for each whole page of kPrefixPagePositions positions from the
    /// start: a name stands for all tokens up to the end of its page and for the path before. The
    /// hop begins with the pages that it kept under these names for the same client.
    std::vector<std::uint64_t> prefix{};

    friend bool operator==(const SessionOpen&, const SessionOpen&) = default;
};

/// Hop -> client, once the hop's link to the next hop is up, and again while the hop reads a prompt
/// or a refill.
struct SessionOpened {
    HopId id;
    std::uint32_t filled_upto = 0;  // positions in the hop's cache
    std::uint32_t kept_from = 0;    // the hop has kept the rows [kept_from, filled_upto) it sent
    CodecId codec = CodecId::None;  // codec of the rows that the hop sends

    friend bool operator==(const SessionOpened&, const SessionOpened&) = default;
};

/// Client -> each hop, once all hops have opened: the receiver's next rows begin at `from`, and the
/// next hop needs the receiver's rows from `next_from` on.
struct SessionResume {
    HopId id;
    std::uint32_t from = 0;
    std::uint32_t next_from = 0;

    friend bool operator==(const SessionResume&, const SessionResume&) = default;
};

/// Rows that fill the positions [position, position + rows) of the receiver's cache; a row's place
/// in the session's history is its position. The client sends tokens to the first hop. A hop sends
/// the next hop the payload (rows, C), where each row is coded on its own, and sends the tokens,
/// too, up to the hop SessionOpen::tokens_upto.
struct SessionRows {
    HopId id;  // the receiver
    std::uint32_t position = 0;
    std::uint32_t rows = 0;
    bool wanted = false;  // the last hop samples the token after the last row
    std::vector<std::uint32_t> tokens;
    std::vector<std::uint32_t> hop_us;  // wanted rows: microseconds that each hop so far kept them
    /// Last rows whose tokens the client only guesses. The last hop then samples the token after
    /// each of them, too, and after the row before them. REQUIRES: wanted, and fewer than `rows`.
    std::uint32_t guessed = 0;
    /// Price of one more guess at the hops so far: the microseconds of a row, times the tokens that
    /// all texts which wait there make of a call.
    std::uint32_t guess_us = 0;

    friend bool operator==(const SessionRows&, const SessionRows&) = default;
};

/// A token that was sampled after a guessed one.
struct DrawnToken {
    std::uint32_t token = 0;
    std::vector<TokenScore> top;  // best first

    friend bool operator==(const DrawnToken&, const DrawnToken&) = default;
};

/// Hop that sampled a token -> client.
struct SessionToken {
    HopId id;
    std::uint32_t position = 0;  // position of the new token
    std::uint32_t token = 0;
    std::vector<TokenScore> top;        // best first
    std::vector<std::uint32_t> hop_us;  // microseconds that each hop kept its rows; for people
    /// Natural logarithm of the probability of SessionOpen's text, as far as the text was read. The
    /// first token of a session has no probability.
    double text_log_probability = 0;
    /// Tokens after each guess of the frame. One counts if the guess before it was the token that
    /// was sampled there.
    std::vector<DrawnToken> further{};
    std::uint32_t guess_us = 0;  // that of all hops; the client guesses less where it is high

    friend bool operator==(const SessionToken&, const SessionToken&) = default;
};

enum class SessionReason : std::uint8_t {
    Full,          // no KV pages for so many positions: ask another peer, or ask later
    Unknown,       // the hop has no such session: it ended, or never began
    Mismatch,      // another model, other layers, or layers that cannot take the place on the path
    Gap,           // the rows do not continue the cache
    Invalid,       // rows of another shape, tokens out of range, or numbers that are not finite
    NextLost,      // the next hop cannot be reached
    PreviousLost,  // the hop before cannot be reached
    Failed,        // the device did not compute
};

/// Hop -> client, or hop -> the hop whose rows it refuses, which passes the message on.
struct SessionTrouble {
    HopId id;  // the hop that is in trouble
    SessionReason reason = SessionReason::Failed;
    std::uint32_t wait_ms = 0;  // with Full: milliseconds until there may be room

    friend bool operator==(const SessionTrouble&, const SessionTrouble&) = default;
};

/// Receiver of rows -> the hop before it: a frame of several rows has arrived. The sender measures
/// its line by this answer; a single row says nothing of a line and is not answered.
struct SessionTaken {
    HopId id;                    // the receiver of the rows
    std::uint32_t position = 0;  // position of the first row

    friend bool operator==(const SessionTaken&, const SessionTaken&) = default;
};

/// Client -> each hop: the session is over. Its pages are free at once, but those that the hop
/// keeps under these names, as SessionOpen::prefix has them.
struct SessionClose {
    std::uint64_t session = 0;
    std::vector<std::uint64_t> prefix{};

    friend bool operator==(const SessionClose&, const SessionClose&) = default;
};

/// Client -> each hop: the session goes on, and its first pages may begin others of the client's
/// sessions from now on. The hop keeps them under these names, as SessionClose has them.
struct SessionShare {
    std::uint64_t session = 0;
    std::vector<std::uint64_t> prefix{};

    friend bool operator==(const SessionShare&, const SessionShare&) = default;
};

/// Server of a mixture's layers -> server that lends experts: "what does this expert say of these
/// rows?" The payload is (rows, C) fp32 without a codec: the rows after the layer's norm.
/// Nothing of a request is kept, so the same bytes may go to any lender.
struct ExpertRows {
    std::uint64_t request = 0;  // number of the sender's own, which the answer has
    Digest weights;             // SHA-256 of the model's name and of the format of its experts
    std::uint32_t layer = 0;    // layer of the model
    std::uint32_t expert = 0;
    std::uint32_t rows = 0;

    friend bool operator==(const ExpertRows&, const ExpertRows&) = default;
};

/// Server that lends experts -> sender of ExpertRows. The payload is (rows, C) fp32 without a
/// codec: the outputs of the expert, before the row's share is applied.
struct ExpertOutputs {
    std::uint64_t request = 0;

    friend bool operator==(const ExpertOutputs&, const ExpertOutputs&) = default;
};

/// Server -> sender of ExpertRows: it does not compute the request.
struct ExpertRefused {
    std::uint64_t request = 0;
    bool busy = false;  // true: ask again later; false: ask another server

    friend bool operator==(const ExpertRefused&, const ExpertRefused&) = default;
};

/// Hop -> client: nobody lends these experts of the hop's layers, so the session goes on without
/// them. Each expert is named once in a session.
struct SessionLacks {
    HopId id;
    std::vector<std::uint32_t> experts;

    friend bool operator==(const SessionLacks&, const SessionLacks&) = default;
};

/// Newcomer -> server: "from which files do you serve this model?" A newcomer has not all of them.
struct FilesAsk {
    Digest model;

    friend bool operator==(const FilesAsk&, const FilesAsk&) = default;
};

/// Server -> newcomer: the answer to FilesAsk.
struct FilesTold {
    Digest model;
    /// SHA-256 of the manifest, which has the files' names and sizes, and the SHA-256 of each of
    /// their chunks.
    Digest manifest;
    std::uint32_t manifest_bytes = 0;  // 0: the server gives none of its files

    friend bool operator==(const FilesTold&, const FilesTold&) = default;
};

/// Newcomer -> server: asks for a chunk of the files that the manifest names. Chunks of kChunkBytes
/// are counted from the first file's first chunk to the last file's last one. Each file begins a
/// new chunk. With `of_manifest` it asks for a chunk of the manifest itself.
struct FileFetch {
    Digest manifest;
    bool of_manifest = false;
    std::uint32_t chunk = 0;

    friend bool operator==(const FileFetch&, const FileFetch&) = default;
};

/// Server -> newcomer. The payload is the chunk's bytes.
struct FileChunk {
    Digest manifest;
    bool of_manifest = false;
    std::uint32_t chunk = 0;

    friend bool operator==(const FileChunk&, const FileChunk&) = default;
};

/// Server -> newcomer: the server does not give the chunk.
struct FileRefused {
    Digest manifest;
    bool of_manifest = false;
    std::uint32_t chunk = 0;
    bool busy = false;  // true: ask again later; false: ask another server

    friend bool operator==(const FileRefused&, const FileRefused&) = default;
};

}  // namespace swarm::protocol
