#include "swarm/protocol/limits.hpp"
#include "swarm/protocol/session_wire.hpp"

#include <string_view>

namespace swarm::protocol {

namespace {

// ---- parts ----

LayerRange layers_of(bool there, const wire::LayerRange& in, Validator& check) {
    check.require(there, "layers", "are missing");
    const LayerRange range{
        .first = check.below(in.first(), kLayersMax, "layers.first"),
        .end = check.below(in.end(), kLayersMax + 1, "layers.end")};
    check.require(range.first < range.end, "layers", "are none");
    return range;
}

/// None: not known.
RowRates rates_of(const wire::RowRates& in, Validator& check) {
    const auto rate = [&](double value) {
        const double known = check.finite_and_not_negative(value, "rates");
        check.require(known <= kRowsPerSMax, "rates", "are beyond any device");
        return known;
    };
    return {.prefill_per_s = rate(in.prefill_per_s()), .decode_per_s = rate(in.decode_per_s())};
}

template <class Wire>
HopId id_of(const Wire& in, Validator& check) {
    check.require(in.has_id(), "id", "is missing");
    return {
        .session = in.id().session(),
        .route = in.id().route(),
        .hop = check.below(in.id().hop(), kHopsMax, "id.hop")};
}

PathPeer path_peer_of(
    bool there, const wire::PathPeer& in, std::string_view field, Validator& check
) {
    check.require(there, field, "is missing");
    return {.peer = check.peer(in.peer(), field), .address = check.text(in.address(), field)};
}

std::uint32_t position_of(std::uint32_t value, std::string_view field, Validator& check) {
    return check.below(value, kPositionsMax + 1, field);
}

std::uint32_t same_number(std::uint32_t value) {
    return value;
}

// ---- bodies ----

Register read(const wire::Register& in, Validator& check) {
    const Register body{
        .model = check.digest(in.model(), "model"),
        .layers = check.below(in.layers(), kLayersMax + 1, "layers"),
        .hosted = layers_of(in.has_hosted(), in.hosted(), check),
        .weights = check.digest(in.weights(), "weights"),
        .address = check.text(in.address(), "address"),
        .rates = rates_of(in.rates(), check)};
    check.require(body.hosted.end <= body.layers, "layers", "hosted are more than the model's");
    return body;
}

Registered read(const wire::Registered& in, Validator& check) {
    return {.refusal = check.text(in.refusal(), "refusal")};
}

Locate read(const wire::Locate& in, Validator& check) {
    return {.model = check.digest(in.model(), "model")};
}

Located read(const wire::Located& in, Validator& check) {
    const auto host = [&](const wire::HostInfo& item) {
        return HostInfo{
            .peer = check.peer(item.peer(), "hosts.peer"),
            .hosted = layers_of(item.has_hosted(), item.hosted(), check),
            .address = check.text(item.address(), "hosts.address"),
            .rates = rates_of(item.rates(), check)};
    };
    return {
        .model = check.digest(in.model(), "model"),
        .layers = check.below(in.layers(), kLayersMax + 1, "layers"),
        .hosts = check.list(in.hosts(), kHostsMax, "hosts", host)};
}

HostOffer read(const wire::HostOffer& in, Validator& check) {
    const auto part = [&](const wire::LayerRange& item) { return layers_of(true, item, check); };
    HostOffer body{
        .model = check.digest(in.model(), "model"),
        .layers = check.below(in.layers(), kLayersMax + 1, "layers"),
        .split = check.list(in.split(), kHopsMax, "split", part)};
    std::uint32_t upto = 0;
    bool follows = true;
    for (const LayerRange& range : body.split) {
        follows = follows && range.first == upto;
        upto = range.end;
    }
    check.require(follows && upto == body.layers && upto > 0, "split", "is not the whole model");
    return body;
}

HostPlace read(const wire::HostPlace& in, Validator& check) {
    return {
        .model = check.digest(in.model(), "model"),
        .hosted = layers_of(in.has_hosted(), in.hosted(), check)};
}

Sampling sampling_of(const wire::SessionOpen& in, Validator& check) {
    check.require(in.has_sampling(), "sampling", "is missing");
    const wire::Sampling& sampling = in.sampling();
    return {
        .temperature = check.finite_and_not_negative(sampling.temperature(), "temperature"),
        .seed = sampling.seed(),
        .top = check.below(sampling.top(), kCandidatesMax + 1, "top")};
}

CodecId row_codec_of(std::uint32_t value, Validator& check) {
    constexpr auto kLast = static_cast<std::uint32_t>(kLastRowCodec);
    return static_cast<CodecId>(check.below(value, kLast + 1, "codec"));
}

SessionOpen read(const wire::SessionOpen& in, Validator& check) {
    const SessionOpen body{
        .id = id_of(in, check),
        .hops = check.below(in.hops(), kHopsMax + 1, "hops"),
        .model = check.digest(in.model(), "model"),
        .layers = layers_of(in.has_layers(), in.layers(), check),
        .positions = position_of(in.positions(), "positions", check),
        .previous = path_peer_of(in.has_previous(), in.previous(), "previous", check),
        .next = path_peer_of(in.has_next(), in.next(), "next", check),
        .exact = in.exact(),
        .exit_threshold = check.finite_and_not_negative(in.exit_threshold(), "exit_threshold"),
        .sampling = sampling_of(in, check),
        .text_from = position_of(in.text_from(), "text_from", check),
        .text = check.list(in.text(), kJudgedTokensMax, "text", same_number),
        .tokens_upto = check.below(in.tokens_upto(), kHopsMax, "tokens_upto"),
        .codec = in.has_codec() ? RowCodec(row_codec_of(in.codec(), check)) : RowCodec()};
    check.require(body.id.hop < body.hops, "id.hop", "is not on the path");
    check.require(body.tokens_upto < body.hops, "tokens_upto", "is not on the path");
    check.require(body.positions > 0, "positions", "are none");
    const std::uint64_t text_end = std::uint64_t{body.text_from} + body.text.size();
    check.require(text_end <= body.positions, "text", "is longer than the session");
    return body;
}

SessionOpened read(const wire::SessionOpened& in, Validator& check) {
    const SessionOpened body{
        .id = id_of(in, check),
        .filled_upto = position_of(in.filled_upto(), "filled_upto", check),
        .kept_from = position_of(in.kept_from(), "kept_from", check),
        .codec = row_codec_of(in.codec(), check)};
    check.require(body.kept_from <= body.filled_upto, "kept_from", "is above filled_upto");
    return body;
}

SessionResume read(const wire::SessionResume& in, Validator& check) {
    return {
        .id = id_of(in, check),
        .from = position_of(in.from(), "from", check),
        .next_from = position_of(in.next_from(), "next_from", check)};
}

SessionRows read(const wire::SessionRows& in, Validator& check) {
    const SessionRows body{
        .id = id_of(in, check),
        .position = check.below(in.position(), kPositionsMax, "position"),
        .rows = check.below(in.rows(), kSessionRowsMax + 1, "rows"),
        .wanted = in.wanted(),
        .tokens = check.list(in.tokens(), kSessionRowsMax, "tokens", same_number),
        .hop_us = check.list(in.hop_us(), kHopsMax, "hop_us", same_number)};
    check.require(body.rows > 0, "rows", "are none");
    const bool paired = body.tokens.empty() || body.tokens.size() == body.rows;
    check.require(paired, "tokens", "are neither absent nor one per row");
    return body;
}

SessionTaken read(const wire::SessionTaken& in, Validator& check) {
    return {.id = id_of(in, check), .position = position_of(in.position(), "position", check)};
}

SessionToken read(const wire::SessionToken& in, Validator& check) {
    const auto score = [&](const wire::TokenScore& item) {
        return TokenScore{
            .token = item.token(),
            .log_probability = check.finite(item.log_probability(), "top.log_probability")};
    };
    return {
        .id = id_of(in, check),
        .position = position_of(in.position(), "position", check),
        .token = in.token(),
        .top = check.list(in.top(), kCandidatesMax, "top", score),
        .hop_us = check.list(in.hop_us(), kHopsMax, "hop_us", same_number),
        .text_log_probability = check.finite(in.text_log_probability(), "text_log_probability")};
}

SessionTrouble read(const wire::SessionTrouble& in, Validator& check) {
    return {
        .id = id_of(in, check),
        .reason = check.choice(in.reason(), SessionReason::Failed, "reason"),
        .wait_ms = check.below(in.wait_ms(), kWaitMsMax + 1, "wait_ms")};
}

}  // namespace

Body read_session_body(const wire::Message& in, Validator& check) {
    using Case = wire::Message::BodyCase;
    switch (in.body_case()) {
        case Case::kRegister:
            return read(in.register_(), check);
        case Case::kRegistered:
            return read(in.registered(), check);
        case Case::kLocate:
            return read(in.locate(), check);
        case Case::kLocated:
            return read(in.located(), check);
        case Case::kSessionOpen:
            return read(in.session_open(), check);
        case Case::kSessionOpened:
            return read(in.session_opened(), check);
        case Case::kSessionResume:
            return read(in.session_resume(), check);
        case Case::kSessionRows:
            return read(in.session_rows(), check);
        case Case::kSessionToken:
            return read(in.session_token(), check);
        case Case::kSessionTrouble:
            return read(in.session_trouble(), check);
        case Case::kSessionClose:
            return SessionClose{.session = in.session_close().session()};
        case Case::kHostOffer:
            return read(in.host_offer(), check);
        case Case::kHostPlace:
            return read(in.host_place(), check);
        case Case::kSessionTaken:
            return read(in.session_taken(), check);
        default:
            break;
    }
    check.require(false, "body", "is missing");
    return Acknowledge{};
}

}  // namespace swarm::protocol
