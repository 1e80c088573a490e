// Every bound on what a peer may make us hold, each with its reason. A message or queue above its
// bound is an Error, never an assertion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swarm::protocol {

/// One bit per stage in StageMask.
inline constexpr std::uint32_t kStagesMax = 64;
/// Of a microbatch: two legs across each boundary between stages.
inline constexpr std::size_t kLegCodecsMax = 2 * (kStagesMax - 1);

/// int64 headroom: |g| < 2^11 times 2^40 times 2^11 microbatches stays below 2^63, with a factor
/// of two left for a tied tensor that counts each microbatch twice.
inline constexpr std::uint32_t kMicrobatchesMax = 2048;
inline constexpr double kGradientMagnitudeMax = 2048.0;
inline constexpr int kGradientFractionBits = 40;

/// Microbatches that a replica of mode sparse trains on between two exchanges: 2,048 in each of as
/// many steps. Those of a whole roster add up in 64 bits.
inline constexpr std::uint64_t kTrainedMax = std::uint64_t{1} << 32;

/// Members, observers and clients of one run.
inline constexpr std::size_t kRosterMax = 16384;

/// Control part of a frame: 2,048 ids of a REDUCE or 32 KiB of token ids fit several times.
inline constexpr std::uint32_t kControlBytesMax = 64U << 10;

/// The roster is the one message that outgrows a control frame: 16,384 slots of 128 bytes.
inline constexpr std::uint32_t kRosterBytesMax = 2U << 20;

/// msgpack envelope of a tensor: dtype, codec and at most 8 dimensions.
inline constexpr std::uint32_t kEnvelopeBytesMax = 1024;
inline constexpr std::size_t kDimensionsMax = 8;

/// Largest tensor of one frame: an activation of B=8, T=4096, C=2048 in fp32, or a slice of a
/// reduction. The host checks the tighter bound of the run's schema as soon as it knows it.
inline constexpr std::uint64_t kTensorBytesMax = 256ULL << 20;

/// Before a peer has proven the swarm key nothing but a Hello is read.
inline constexpr std::uint32_t kHelloBytesMax = 1024;

/// Token ids of one microbatch, B x (T + 1) of them, 4 bytes each.
inline constexpr std::size_t kTokensMax = 8192;

/// host:port of a peer, its compute class, a reason: one line for people.
inline constexpr std::size_t kTextBytesMax = 512;

/// The run file as sent with ASSIGN.
inline constexpr std::size_t kRunFileBytesMax = 48U << 10;

/// Tensors of one stage: one sum of squares each in REDUCED.
inline constexpr std::size_t kTensorsMax = 4096;

/// Numbered control messages not yet acknowledged; above it the link is given up.
inline constexpr std::size_t kUnacknowledgedMax = 8192;

/// Bytes queued to one slow receiver on one lane before the link is closed.
inline constexpr std::uint64_t kOutboxBytesMax = 2 * kTensorBytesMax;

/// Offers of one sender that a receiver holds at once (accepted, not yet PASSED). Up to eight peers
/// (12-16 in flight by default) the policy alone decides the shares, not this bound.
inline constexpr std::size_t kOffersPerReceiverMax = 16;

/// Microbatches that wait at one stage server; beyond: REFUSED(Busy).
inline constexpr std::size_t kWorkQueueMax = 256;

/// Frames of a newer version that a peer holds while it asks for the missing COMMIT.
inline constexpr std::size_t kHeldForVersionMax = 256;

/// A part of a reduction, as int64 sums: large enough that frames cost nothing, small enough that a
/// slice is added up while the next one is on the line. All members must agree on it.
inline constexpr std::uint64_t kSliceBytesMax = 8ULL << 20;

/// Slices of a stage: those of the largest state, and one for each member of the largest roster.
inline constexpr std::uint32_t kSlicesMax = 1U << 15;

/// Parts of an epoch whose REDUCE has not arrived: a scatter and a gather of each member, of so
/// many members at least; a larger stage may keep as many of each of its own.
inline constexpr std::size_t kEarlyPartsMax = 2 * 64;

/// State travels in hashed pieces of this size.
inline constexpr std::uint64_t kChunkBytes = 1ULL << 20;

/// Chunks of one stage's state: 64 GiB.
inline constexpr std::uint32_t kChunksMax = 1U << 16;

/// Chunk requests one joiner has open at one donor.
inline constexpr std::uint32_t kOpenFetchesMax = 4;

/// Inference requests in flight at one stage server.
inline constexpr std::size_t kInferencesMax = 64;

/// Candidates for the next token that one is drawn from.
inline constexpr std::uint32_t kTopTokensMax = 64;

/// Candidates that a session's tail returns when asked to: all of a vocabulary of bytes.
inline constexpr std::uint32_t kCandidatesMax = 256;

/// Tokens of a text that a session's tail is asked to judge: 16 KiB of control at most.
inline constexpr std::size_t kJudgedTokensMax = 4096;

/// Layers of one model: a few times the deepest published one.
inline constexpr std::uint32_t kLayersMax = 4096;

/// Peers that serve one model, as a directory lists them: 2,048 of 100 bytes and an address.
inline constexpr std::size_t kHostsMax = 2048;

/// Rows a second that a peer can say it computes.
inline constexpr double kRowsPerSMax = 1e9;
inline constexpr std::uint32_t kLocatedBytesMax = 2U << 20;

/// Models that one directory lists.
inline constexpr std::size_t kModelsMax = 64;

/// Hops of a session's path: every stage of a long pipeline once, or a short one looped.
inline constexpr std::uint32_t kHopsMax = 64;

/// Positions of one session: more than the longest context of the models that are read.
inline constexpr std::uint32_t kPositionsMax = 1U << 18;

/// Rows of one SessionRows frame and of one prefill call: large enough for a device to be busy,
/// small enough that other sessions' tokens wait for one such call only.
inline constexpr std::uint32_t kSessionRowsMax = 256;

/// Rows of different sessions in one call of a device; the batch whose rows are proven equal.
inline constexpr std::size_t kSessionBatchMax = 16;

/// Hops of sessions at one server. Its KV pages are bounded by its compute, this by its lists.
inline constexpr std::size_t kSessionHopsMax = 1024;

/// Longest wait that a refusal may name.
inline constexpr std::uint32_t kWaitMsMax = 3'600'000;

}  // namespace swarm::protocol
