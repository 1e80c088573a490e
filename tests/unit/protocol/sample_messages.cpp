#include "tests/unit/protocol/sample_messages.hpp"

#include "swarm/protocol/frame.hpp"

#include <cstddef>
#include <string>

namespace swarm::protocol {

namespace {

constexpr ParameterVersion kVersion{.gen = 3, .step = 1ULL << 40};
constexpr Epoch kEpoch = make_epoch(2, 5);
constexpr StageIndex kStage{63};
constexpr MicrobatchId kMicrobatch{2047};

SlotId slot(std::uint32_t counter) {
    return {make_epoch(2, counter).value};
}

LegId leg() {
    return {
        .version = kVersion, .microbatch = kMicrobatch, .attempt = kEpoch, .leg = Leg::Backward};
}

Roster roster() {
    SlotInfo member{
        .slot = slot(1),
        .peer = sample_peer(11),
        .incarnation = {0xfedc'ba98'7654'3210},
        .stage = {1},
        .admitted = kEpoch,
        .standing = Standing::Draining,
        .address = "192.0.2.7:4600"};
    SlotInfo observer = member;
    observer.slot = slot(2);
    observer.standing = Standing::Observer;
    return {.number = 9, .slots = {member, observer}};
}

Commit commit() {
    return {
        .version = kVersion,
        .epoch = kEpoch,
        .scalars =
            {.clip_factor = 0.25,
             .learning_rate = 3e-4,
             .bias_correction1 = 0.1,
             .bias_correction2 = 0.05},
        .result_hashes = {sample_digest(1), sample_digest(2)},
        .snapshots = {{.donor = slot(1), .receiver = sample_peer(12)}}};
}

std::vector<Body> membership_bodies() {
    const Join join{
        .client = true,
        .stage = kStage,
        .version = kVersion,
        .state_hash = sample_digest(3),
        .address = "peer.example:4601",
        .compute_class = "cpu avx2 4 threads",
        .lent_memory_bytes = 1ULL << 33};
    const Assign assign{
        .stage = kStage,
        .run_file = "[model]\nlayers = 4\n",
        .version = kVersion,
        .from_seed = true,
        .from_coordinator = true};
    const Heartbeat heartbeat{
        .version = kVersion,
        .roster = 9,
        .rates = {{.slot = slot(1), .units_per_s = 1536.5, .queued = 2}},
        .own =
            {.microbatch_s = 0.25, .to_next_bytes_per_s = 1.25e6, .to_previous_bytes_per_s = 1e9},
        .cut_off = {slot(3), slot(4)}};
    return {
        Acknowledge{},
        join,
        assign,
        roster(),
        Leave{.reason = "asked to stop"},
        heartbeat,
        HeartbeatReply{.version = kVersion, .epoch = kEpoch, .loss = 2.75, .held_out_loss = -0.0}};
}

std::vector<Body> attempt_bodies() {
    const Forward forward{
        .version = kVersion,
        .microbatch = kMicrobatch,
        .attempt = kEpoch,
        .mask = {5},
        .path = {slot(1), slot(2)},
        .tokens = {0, 127, 128, 50256, 0xffff'ffff},
        .codecs = {CodecId::Int4, CodecId::Int8}};
    const Backward backward{
        .version = kVersion,
        .microbatch = kMicrobatch,
        .attempt = kEpoch,
        .mask = {~0ULL},
        .path = {slot(1), slot(2)},
        .codecs = {CodecId::None, CodecId::HadamardInt4}};
    const Path path{
        .version = kVersion,
        .microbatch = kMicrobatch,
        .attempt = kEpoch,
        .path = {slot(1), slot(2)},
        .loss = 10.8};
    const Fail fail{
        .version = kVersion,
        .about = slot(2),
        .reason = FailReason::NotFinite,
        .items = {{.microbatch = kMicrobatch, .attempt = kEpoch, .passed = true}}};
    return {
        forward,
        backward,
        Accepted{leg()},
        Refused{.leg = leg(), .reason = RefusedReason::Invalid},
        Passed{leg()},
        path,
        fail};
}

std::vector<Body> step_bodies() {
    const std::vector<MicrobatchId> ids{{0}, {1}, {300}, {2047}};
    const Reduce reduce{
        .version = kVersion,
        .epoch = kEpoch,
        .ids = ids,
        .group = {slot(1), slot(2)},
        .observers = {slot(3)},
        .tied_group = {slot(4), slot(5)},
        .shares = {{slot(1), 5}, {slot(2), std::uint64_t{1} << 32}}};
    const Reduced reduced{
        .version = kVersion,
        .epoch = kEpoch,
        .sums_of_squares = {0.5, 0, 1e300},
        .result_hash = sample_digest(4),
        .counted_once = 2048,
        .counted_wrong = 1,
        .wire_bytes = 1ULL << 40};
    return {
        Recall{.version = kVersion, .epoch = kEpoch, .ids = ids, .void_all = true},
        Held{.version = kVersion, .epoch = kEpoch, .ids = ids, .losses = {10.5, 0, -1, 1e-9}},
        reduce,
        Part{.version = kVersion, .epoch = kEpoch, .slice = 1, .tied_into = 0},
        reduced,
        Mismatch{.version = kVersion, .epoch = kEpoch, .ids = ids},
        Stuck{
            .version = kVersion,
            .epoch = kEpoch,
            .waits_for = {slot(1), slot(2)},
            .owed = Owed::Sums},
        commit(),
        Applied{.version = kVersion, .state_hash = sample_digest(5)}};
}

std::vector<Body> other_bodies() {
    const Inferred inferred{
        .request = 77,
        .refused = true,
        .top = {
            {.token = 50256, .log_probability = -0.25}, {.token = 1, .log_probability = -1e-300}}};
    return {
        Fetch{.version = kVersion, .stage = kStage, .chunk = 0, .tokenizer = true},
        Chunk{.version = kVersion, .stage = kStage, .chunk = 65535},
        ChunkRefused{.version = kVersion, .stage = kStage, .chunk = 7, .busy = true},
        Infer{.request = 77, .tokens = {464, 3290}, .top = 64},
        inferred,
        Finished{.version = kVersion}};
}

HopId hop() {
    return {.session = 0x8000'0000'0000'0003, .route = 300, .hop = 63};
}

std::vector<Body> directory_bodies() {
    const Register registration{
        .model = sample_digest(6),
        .layers = 4096,
        .hosted = {.first = 10, .end = 20},
        .weights = sample_digest(7),
        .address = "192.0.2.8:4602",
        .rates = {.prefill_per_s = 1e9, .decode_per_s = 0},
        .experts = {5, 1ULL << 63},
        .experts_only = true};
    const HostInfo host{
        .peer = sample_peer(13),
        .hosted = {.first = 0, .end = 4096},
        .address = "[2001:db8::1]:1",
        .rates = {.prefill_per_s = 0.5, .decode_per_s = 120.25},
        .weights = sample_digest(7),
        .experts = {5, 1ULL << 63},
        .experts_only = true};
    return {
        registration,
        Registered{.refusal = "other weights"},
        Locate{.model = sample_digest(6), .layers = 30},
        Located{.model = sample_digest(6), .layers = 30, .hosts = {host, host}}};
}

/// The last kinds of Body.
std::vector<Body> placing_bodies() {
    return {
        HostOffer{
            .model = sample_digest(6),
            .layers = 30,
            .split = {{.first = 0, .end = 11}, {.first = 11, .end = 30}}},
        HostPlace{.model = sample_digest(6), .hosted = {.first = 11, .end = 30}},
        SessionTaken{.id = hop(), .position = 1U << 18},
        Misdirected{.here = HubKind::SessionServer},
        Standby{.unreached = sample_peer(16)},
        FilesAsk{.model = sample_digest(6)},
        FilesTold{
            .model = sample_digest(6), .manifest = sample_digest(8), .manifest_bytes = 32U << 20},
        FileFetch{.manifest = sample_digest(8), .of_manifest = true, .chunk = 0},
        FileChunk{.manifest = sample_digest(8), .of_manifest = false, .chunk = (1U << 19) - 1},
        FileRefused{.manifest = sample_digest(8), .of_manifest = false, .chunk = 7, .busy = true},
        Evaluate{.version = kVersion, .request = 78, .tokens = {464, 3290, 0}},
        Evaluated{.request = 78, .refused = true, .loss = 5.5},
        ExpertRows{
            .request = 79, .weights = sample_digest(9), .layer = 31, .expert = 1023, .rows = 256},
        ExpertOutputs{.request = 79},
        ExpertRefused{.request = 80, .busy = true},
        SessionLacks{.id = hop(), .experts = {0, 1023}},
        SessionShare{.session = hop().session, .prefix = {3, ~0ULL}}};
}

std::vector<Body> session_bodies() {
    const SessionOpen open{
        .id = hop(),
        .hops = 64,
        .model = sample_digest(6),
        .layers = {.first = 10, .end = 20},
        .positions = 1U << 18,
        .previous = {.peer = sample_peer(14), .address = "peer.example:4603"},
        .next = {.peer = sample_peer(15), .address = "peer.example:4604"},
        .exact = true,
        .exit_threshold = 0.9,
        .sampling =
            {.temperature = 0.7,
             .seed = ~0ULL,
             .top = 64,
             .top_p = 0.95,
             .top_k = 64,
             .min_p = 0.05,
             .repetition_penalty = 1.1,
             .presence_penalty = -2,
             .frequency_penalty = 0.5,
             .generated_from = 3,
             .biases = {{50256, -100}}},
        .text_from = 7,
        .text = {0, 300, 50256},
        .tokens_upto = 1,
        .codec = CodecId::Int8,
        .prefix = {1, ~0ULL}};
    const SessionRows rows{
        .id = hop(),
        .position = 511,
        .rows = 3,
        .wanted = true,
        .tokens = {0, 300, 50256},
        .hop_us = {0, 4'294'967'295},
        .guessed = 2,
        .guess_us = 1'500};
    const SessionToken token{
        .id = hop(),
        .position = 1U << 18,
        .token = 50256,
        .top = {{.token = 50256, .log_probability = -0.25}},
        .hop_us = {900, 1, 70'000},
        .text_log_probability = -12.5,
        .further =
            {{.token = 7, .top = {{.token = 9, .log_probability = -0.5}}},
             {.token = 300, .top = {}}},
        .guess_us = 3'000};
    return {
        open,
        SessionOpened{.id = hop(), .filled_upto = 512, .kept_from = 256, .codec = CodecId::Bf16},
        SessionResume{.id = hop(), .from = 511, .next_from = 1},
        rows,
        token,
        SessionTrouble{.id = hop(), .reason = SessionReason::Failed, .wait_ms = 3'600'000},
        SessionClose{.session = hop().session, .prefix = {~0ULL, 2}}};
}

}  // namespace

std::vector<Message> sample_messages() {
    std::vector<Message> messages;
    for (auto* group :
         {&membership_bodies,
          &attempt_bodies,
          &step_bodies,
          &other_bodies,
          &directory_bodies,
          &session_bodies,
          &placing_bodies}) {
        for (Body& body : group()) {
            messages.push_back({.number = 70'000, .acknowledged = 300, .body = std::move(body)});
        }
    }
    return messages;
}

Hello sample_hello() {
    return {
        .protocol_version = kProtocolVersion,
        .lane = 1,
        .incarnation = {0x0123'4567'89ab'cdef},
        .proof = std::vector<std::byte>(32, std::byte{0xa5}),
        .dial_back_port = 7200,
        .dial_back = DialBack::Silent,
        .seen_from = "fd99::7"};
}

Digest sample_digest(unsigned char seed) {
    Digest digest;
    for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
        digest.bytes[i] = static_cast<std::byte>(seed + 7 * i);
    }
    return digest;
}

PeerId sample_peer(std::uint64_t seed) {
    return {{seed, ~seed, seed << 56, 0x8000'0000'0000'0001}};
}

}  // namespace swarm::protocol
