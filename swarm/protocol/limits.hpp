// The bounds on what a peer may make another peer hold, each with its reason. A message or queue
// above its bound is an Error, never an assertion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swarm::protocol {

/// Stages of one run: StageMask has one bit per stage.
inline constexpr std::uint32_t kStagesMax = 64;
/// Codecs that a microbatch names: two legs cross each boundary between stages.
inline constexpr std::size_t kLegCodecsMax = 2 * (kStagesMax - 1);

/// Microbatches of one step, magnitude of a gradient g, and fraction bits of its int64 form. Sums
/// fit into int64: |g| < 2^11 times 2^40 times 2^11 microbatches is at most 2^62, which leaves a
/// factor of two for a tied tensor that counts each microbatch twice.
inline constexpr std::uint32_t kMicrobatchesMax = 2048;
inline constexpr double kGradientMagnitudeMax = 2048.0;
inline constexpr int kGradientFractionBits = 40;

/// Microbatches that a replica of mode sparse trains on between two exchanges: 2^32 are 2^21 steps
/// of 2,048 microbatches. The sum over a whole roster fits into 64 bits.
inline constexpr std::uint64_t kTrainedMax = std::uint64_t{1} << 32;

/// Members, observers and clients of one run.
inline constexpr std::size_t kRosterMax = 16384;

/// Bytes of the control part of a frame: 2,048 ids of a Reduce, or the 32 KiB of a microbatch's
/// token ids, fit with room to spare.
inline constexpr std::uint32_t kControlBytesMax = 64U << 10;

/// Bytes of a Roster, which outgrows a control frame: 16,384 slots of 256 bytes, which is room for
/// four addresses of each.
inline constexpr std::uint32_t kRosterBytesMax = 4U << 20;

/// Neighbours that a Heartbeat can name as out of reach. The coordinator acts on pairs of which
/// both sides say so, and a peer that reaches so few others is of no use where it is.
inline constexpr std::size_t kCutOffMax = 64;

/// Bytes of the msgpack envelope of a tensor: dtype, codec and at most 8 dimensions.
inline constexpr std::uint32_t kEnvelopeBytesMax = 1024;
inline constexpr std::size_t kDimensionsMax = 8;

/// Bytes of the largest tensor of one frame: an activation of B=8, T=4096, C=2048 in fp32, or a
/// slice of a reduction. The role that receives a tensor checks the tighter bound of the run's
/// shapes.
inline constexpr std::uint64_t kTensorBytesMax = 256ULL << 20;

/// Bytes of all tensors whose frames have begun to arrive at one process. A frame above it waits
/// until others have ended.
inline constexpr std::uint64_t kArrivingTensorBytesMax = 4 * kTensorBytesMax;

/// Bytes of a Hello. A link reads nothing else before the peer has proven the swarm key.
inline constexpr std::uint32_t kHelloBytesMax = 1024;

/// Token ids of one microbatch, B x (T + 1) of them, 4 bytes each.
inline constexpr std::size_t kTokensMax = 8192;

/// Bytes of a text: the host:port of a peer, its compute class, or a reason in one line for people.
inline constexpr std::size_t kTextBytesMax = 512;

/// Bytes of the run file that an Assign carries.
inline constexpr std::size_t kRunFileBytesMax = 48U << 10;

/// Tensors of one stage: a Reduced has one sum of squares for each.
inline constexpr std::size_t kTensorsMax = 4096;

/// Numbered control messages that are not yet acknowledged; beyond, the link is given up.
inline constexpr std::size_t kUnacknowledgedMax = 8192;

/// The same for a peer that has never been a member: whoever reaches the port can be one.
inline constexpr std::size_t kUnacknowledgedByNewcomersMax = 256;

/// Peers without a slot and without a link whose control streams are kept for their return.
inline constexpr std::size_t kGoneNewcomersMax = 256;

/// Bytes that are queued for one slow receiver on one lane before the link is closed.
inline constexpr std::uint64_t kOutboxBytesMax = 2 * kTensorBytesMax;

/// The same for a receiver that is no partner: two rosters, or a few chunks.
inline constexpr std::uint64_t kNewcomerOutboxBytesMax = 8U << 20;

/// Offers of one sender that a receiver holds at once (Accepted, not yet Passed). In runs of up to
/// eight peers (12 to 16 microbatches in flight by default) the routing policy alone decides the
/// shares, not this bound.
inline constexpr std::size_t kOffersPerReceiverMax = 16;

/// Microbatches that wait at one stage server; it answers further ones with Refused(Busy).
inline constexpr std::size_t kWorkQueueMax = 256;

/// Frames of a newer version that a peer holds while it asks for the missing Commit.
inline constexpr std::size_t kHeldForVersionMax = 256;

/// Bytes of one slice of a reduction, as int64 sums: large enough that the cost per frame does not
/// matter, small enough that a slice is added up while the next one is on the line. All members
/// must use the same value.
inline constexpr std::uint64_t kSliceBytesMax = 8ULL << 20;

/// Slices of a stage: the slices of the largest state, and one for each member of the largest
/// roster.
inline constexpr std::uint32_t kSlicesMax = 1U << 15;

/// Parts that a member keeps of an epoch whose Reduce has not arrived: a scattered and a gathered
/// part of each of 64 members; a larger stage keeps two parts for each of its members.
inline constexpr std::size_t kEarlyPartsMax = 2 * 64;

/// Bytes of a chunk: a state travels in hashed chunks of this size.
inline constexpr std::uint64_t kChunkBytes = 1ULL << 20;

/// Chunks of one stage's state: 65,536 chunks are 64 GiB.
inline constexpr std::uint32_t kChunksMax = 1U << 16;

/// Bytes of the tensor of a Chunk: a chunk that was packed in vain, or a manifest of kChunksMax
/// digests.
inline constexpr std::uint64_t kChunkTensorBytesMax = 2 * kChunkBytes + (64U << 10);

/// Bytes of the file of a run's tokenizer, which a client fetches chunk by chunk: spm:65536 has
/// about 2 MB, the tokenizer.json of Gemma 3 33 MB.
inline constexpr std::size_t kTokenizerBytesMax = 64U << 20;

/// Chunks of all files of a model that is served: 512 GiB.
inline constexpr std::uint32_t kFileChunksMax = 1U << 19;

/// Bytes of the manifest of a model's files: 16 MiB of chunks' hashes, and as much for the first
/// bytes of its tensors.
inline constexpr std::uint32_t kManifestBytesMax = 32U << 20;

/// Requests for chunks that one joiner has open at one donor.
inline constexpr std::uint32_t kOpenFetchesMax = 4;

/// Inference requests in flight at one stage server.
inline constexpr std::size_t kInferencesMax = 64;

/// Held-out microbatches in flight at one stage server.
inline constexpr std::size_t kEvaluationsMax = 64;

/// Candidates from which the next token is drawn.
inline constexpr std::uint32_t kTopTokensMax = 64;

/// Candidates that a session's last hop can return with a token: the whole vocabulary of bytes.
inline constexpr std::uint32_t kCandidatesMax = 256;

/// Tokens whose logits a request changes by a number.
inline constexpr std::size_t kTokenBiasesMax = 512;

/// Tokens of a text whose probability a session's last hop is asked for: 16 KiB of the control part
/// at most.
inline constexpr std::size_t kJudgedTokensMax = 4096;

/// Layers of one model: a few times the deepest published one.
inline constexpr std::uint32_t kLayersMax = 4096;

/// Servers of one model that a directory lists: 2,048 of 100 bytes and an address each.
inline constexpr std::size_t kHostsMax = 2048;

/// Bytes of a Located, which outgrows a control frame, too.
inline constexpr std::uint32_t kLocatedBytesMax = 2U << 20;

/// Rows per second that a server can claim to compute.
inline constexpr double kRowsPerSMax = 1e9;

/// Models that one directory lists. A host on sockets keeps 512 links of newcomers, and each peer
/// is listed for one model, so no squatter can fill the table alone.
inline constexpr std::size_t kModelsMax = 512;

/// Models that the peers of one network bring to a directory, and peers of one network that it
/// lists for one model: shares of kModelsMax and of kHostsMax. A machine room with a hundred models
/// or two hundred peers fits.
inline constexpr std::size_t kModelsPerNetworkMax = kModelsMax / 4;
inline constexpr std::size_t kHostsPerNetworkMax = kHostsMax / 8;

/// Requests that a directory answers per second for each client, and the most that it answers at
/// once. A Located counts once more for each kHostsPerRequest peers in it, and a server that
/// changes its layers counts kRequestsPerChange times. A client of twelve models that waits for
/// peers asks 60 times a second.
inline constexpr double kRequestsPerS = 64;
inline constexpr double kRequestsAtOnceMax = 256;
inline constexpr double kRequestsPerChange = 16;
inline constexpr std::size_t kHostsPerRequest = 64;

/// Hops of a session's path: every stage of a long pipeline once, or a short pipeline several
/// times.
inline constexpr std::uint32_t kHopsMax = 64;

/// Positions of one session: more than the longest context of the models that can be read.
inline constexpr std::uint32_t kPositionsMax = 1U << 18;

/// Rows of one SessionRows frame and of one prefill call: enough to keep a device busy, and few
/// enough that other sessions' tokens can wait for the one call that runs.
inline constexpr std::uint32_t kSessionRowsMax = 256;

/// Rows of different sessions in one call of a device. Tests prove that a row comes out with the
/// same bits in every batch up to this size.
inline constexpr std::size_t kSessionBatchMax = 16;

/// Tokens that a client guesses in one frame: with the row before them they fill a batch.
inline constexpr std::uint32_t kGuessesMax = 15;

/// Candidates that a session's last hop returns with all tokens of one frame.
inline constexpr std::uint32_t kDrawnScoresMax = 1024;

/// Pages of a session whose history a client names, so that a hop finds what it has read before:
/// 4 KiB of the control part at most.
inline constexpr std::size_t kPrefixPagesMax = 512;

/// Positions of such a page.
inline constexpr std::uint32_t kPrefixPagePositions = 64;

/// Hops of sessions at one server. The server's compute object bounds its KV pages; this limit
/// bounds its lists.
inline constexpr std::size_t kSessionHopsMax = 1024;

/// Experts of one layer: as many as the readers of models take. A set of them is a list of words of
/// 64 bits, so that 2,048 servers with all experts fit into one Located.
inline constexpr std::uint32_t kExpertsMax = 1024;
inline constexpr std::size_t kExpertWordsMax = kExpertsMax / 64;

/// Requests to experts that one sender has under way at one lender: enough that the line is never
/// idle while the lender computes.
inline constexpr std::size_t kExpertCallsPerPeerMax = 16;

/// Requests, and bytes of their rows, that wait at one lender; it refuses more as busy. 16 senders
/// with 16 requests each, and 16 requests of 256 rows of width 4,096.
inline constexpr std::size_t kExpertCallsMax = 256;
inline constexpr std::uint64_t kExpertBytesMax = 64ULL << 20;

/// Milliseconds of the longest wait that a refusal may name: one hour.
inline constexpr std::uint32_t kWaitMsMax = 3'600'000;

}  // namespace swarm::protocol
