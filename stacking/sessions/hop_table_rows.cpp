// Second half of HopTable: rows on their way in, through the device, and out to the next hop. The
// first half, hop_table.cpp, opens, answers and ends hops. Both halves work on the same hops, so
// they are one class; together they would exceed the bound of 450 lines for a file.
#include "stacking/sampler.hpp"
#include "stacking/sessions/hop_table.hpp"
#include "stages/compute/top_tokens.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cmath>

namespace stacking::sessions {

using protocol::SessionReason;

namespace {

/// Decodes the rows of a payload. Returns nothing unless they have that width and a row codec, and
/// are finite.
std::optional<std::vector<float>> decoded(
    const node::Payload& payload, std::uint32_t rows, std::uint32_t width
) {
    const protocol::TensorEnvelope& envelope = payload.envelope();
    const compression::Codec* const codec = find_row_codec(envelope.codec);
    const std::vector<std::uint32_t> shape{rows, width};
    if (codec == nullptr || envelope.dtype != protocol::Dtype::Float32 || envelope.shape != shape ||
        payload.bytes().size() != rows * row_bytes(*codec, width)) {
        return std::nullopt;
    }
    std::vector<float> values(std::size_t{rows} * width);
    const bool good = !decode_rows(*codec, width, payload.bytes(), values).has_error();
    return good ? std::optional(std::move(values)) : std::nullopt;
}

std::uint32_t microseconds(swarm::Duration time) {
    const auto count = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 0, UINT32_MAX));
}

}  // namespace

void HopTable::begin(Hop& hop, std::uint32_t position) {
    hop.begun = true;
    ++hop.begins;
    hop.log.begin(position);
    hop.queued_upto = position;
    // A row judges the token after it. The rows from `position` on come again, with their
    // judgements.
    hop.judged.erase(hop.judged.upper_bound(position), hop.judged.end());
    hop.text.resize(std::min<std::size_t>(hop.text.size(), position));
}

void HopTable::take(PeerId from, const protocol::SessionResume& resume, node::Turn turn) {
    const auto at = find(resume.id, from);
    if (at == hops_.end() || at->second.resumed) {
        return;
    }
    Hop& hop = at->second;
    hop.expires = turn.now + options_.ttl;
    if (!hop.begun) {
        if (resume.from > hop.log.upto()) {
            return give_up(hop, SessionReason::Gap, turn);
        }
        begin(hop, resume.from);
    }
    if (!hop.is_last() && !hop.log.send_from(resume.next_from)) {
        return give_up(hop, SessionReason::Gap, turn);
    }
    hop.resumed = true;
    pump(hop, turn);
}

std::optional<HopTable::Frame> HopTable::read(
    const Hop& hop, const protocol::SessionRows& rows, const node::Payload& payload
) const {
    Frame frame{.position = rows.position, .rows = rows.rows, .wanted = rows.wanted};
    frame.hop_us = rows.hop_us;
    if (rows.rows > hop.open.positions || rows.position > hop.open.positions - rows.rows) {
        return std::nullopt;
    }
    const auto known = [this](TokenId token) { return token < shape_.vocabulary; };
    if (rows.tokens.size() != (hop.takes_tokens() ? rows.rows : 0) ||
        !std::ranges::all_of(rows.tokens, known)) {
        return std::nullopt;
    }
    if (hop.open.id.hop > 0) {
        const std::uint32_t width = options_.bridge ? options_.bridge->inputs : shape_.width;
        auto values = decoded(payload, rows.rows, width);
        if (!values) {
            return std::nullopt;
        }
        frame.values = std::move(*values);
    }
    frame.tokens = rows.tokens;
    return frame;
}

void HopTable::take(
    PeerId from, const protocol::SessionRows& rows, const node::Payload& payload, node::Turn turn
) {
    const Key key{rows.id.session, rows.id.hop};
    const auto at = hops_.find(key);
    if (rows.rows > 1 && rows.id.hop > 0 && from != options_.self) {
        send(from, protocol::SessionTaken{rows.id, rows.position}, turn);
    }
    if (at == hops_.end() || at->second.open.previous.peer != from) {
        return send(from, protocol::SessionTrouble{rows.id, SessionReason::Unknown}, turn);
    }
    Hop& hop = at->second;
    if (rows.id.route != hop.open.id.route || !hop.opened || hop.troubled) {
        return;  // the rows belong to a route that was given up
    }
    hop.expires = turn.now + options_.ttl;
    const bool continues =
        hop.begun ? rows.position == hop.queued_upto : rows.position <= hop.log.upto();
    if (!continues) {
        return give_up(hop, SessionReason::Gap, turn);
    }
    std::optional<Frame> frame = read(hop, rows, payload);
    if (!frame) {
        return give_up(hop, SessionReason::Invalid, turn);
    }
    frame->came = turn.now;
    if (!hop.begun) {
        begin(hop, rows.position);
    }
    hop.queued_upto += rows.rows;
    hop.queue.push_back(std::move(*frame));
    if (hop.queue.size() == 1) {
        make_ready(key, hop);
    }
    call_device(turn);
}

void HopTable::make_ready(Key key, const Hop& hop) {
    if (!hop.queue.empty() && !hop.in_flight) {
        ready_.push_back(key);
    }
}

std::vector<HopTable::Judged> HopTable::to_judge(const Hop& hop, const Frame& frame) const {
    const protocol::SessionOpen& open = hop.open;
    std::vector<Judged> judged;
    const std::uint64_t text_end = std::uint64_t{open.text_from} + open.text.size();
    for (std::uint32_t row = 0; hop.is_last() && row < frame.rows; ++row) {
        const std::uint64_t position = std::uint64_t{frame.position} + row + 1;
        if (position >= open.text_from && position < text_end) {
            judged.push_back({.row = row, .token = open.text[position - open.text_from]});
        }
    }
    return judged;
}

/// Adds the frame to the text of a hop that may draw, and says what the text then does to the next
/// token.
LogitChanges HopTable::changes_of(Hop& hop, const Frame& frame) {
    const protocol::Sampling& sampling = hop.open.sampling;
    if (!hop.is_last() && hop.open.exit_threshold > 1) {
        return {};
    }
    if (sampling.reads_text()) {
        hop.text.insert(hop.text.end(), frame.tokens.begin(), frame.tokens.end());
    }
    return frame.wanted ? LogitChanges(sampling, hop.text) : LogitChanges();
}

/// Takes either the rows of the oldest prompt alone, or single rows of as many hops as a batch has
/// room for. The hops of a batch are all first hops, which take tokens, or all later hops.
HopTable::Call HopTable::next_call() {
    Call call;
    const bool prefill = hops_.at(ready_.front()).queue.front().rows > 1;
    const bool tokens = ready_.front().second == 0;
    const std::size_t pieces_max = prefill ? 1 : protocol::kSessionBatchMax;
    for (auto at = ready_.begin(); at != ready_.end() && call.pieces.size() < pieces_max;) {
        Hop& hop = hops_.at(*at);
        if (!prefill && (hop.queue.front().rows > 1 || (at->second == 0) != tokens)) {
            ++at;
            continue;
        }
        const std::uint32_t drawn_from =
            hop.open.sampling.temperature > 0 ? protocol::kTopTokensMax : 1;
        call.pieces.push_back(
            {.key = *at,
             .cache = hop.cache,
             .begins = hop.begins,
             .frame = std::move(hop.queue.front()),
             .is_last = hop.is_last(),
             .codec = hop.codec,
             .exit_threshold = hop.open.exit_threshold,
             .top = std::max(hop.open.sampling.top, drawn_from)}
        );
        call.pieces.back().judged = to_judge(hop, call.pieces.back().frame);
        call.pieces.back().changes = changes_of(hop, call.pieces.back().frame);
        hop.queue.pop_front();
        hop.in_flight = true;
        at = ready_.erase(at);
    }
    return call;
}

void HopTable::call_device(node::Turn turn) {
    if (device_busy_ || ready_.empty()) {
        return;
    }
    device_busy_ = true;
    const auto call = std::make_shared<Call>(next_call());
    const double layers = options_.host.hosted.end - options_.host.hosted.first;
    for (const Piece& piece : call->pieces) {
        call->rows += piece.frame.rows;
    }
    call->begun = turn.now;
    device_.submit(
        turn,
        call->rows * layers,
        [compute = options_.compute, bridge = options_.bridge, call] {
            run(*compute, bridge.get(), *call);
        },
        [this, call](node::Turn later) { finish(*call, later); }
    );
}

void HopTable::run(SessionCompute& compute, const composition::BridgedInput* bridge, Call& call) {
    std::vector<SessionRow> rows;
    std::vector<TokenId> tokens;
    std::vector<float> values;
    for (const Piece& piece : call.pieces) {
        compute.truncate(piece.cache, piece.frame.position);
        for (std::uint32_t i = 0; i < piece.frame.rows; ++i) {
            rows.push_back({piece.cache, piece.frame.position + i});
        }
        tokens.insert(tokens.end(), piece.frame.tokens.begin(), piece.frame.tokens.end());
        values.insert(values.end(), piece.frame.values.begin(), piece.frame.values.end());
    }
    if (bridge != nullptr) {
        values = bridge->read(tokens, std::move(values));
    }
    const StageInput input = call.pieces.front().key.second == 0
                                 ? StageInput(std::span<const TokenId>(tokens))
                                 : StageInput(std::span<const float>(values));
    const auto out = compute.run_layers(rows, input);
    call.failed = !out || out->size() != rows.size() * compute.shape().width;
    if (!call.failed) {
        split(*out, compute, call);
    }
}

/// Gives each piece its part of the outputs: codes its rows for the next hop, and scores those rows
/// whose scores somebody wants.
void HopTable::split(std::span<const float> outputs, SessionCompute& compute, Call& call) {
    const StageShape shape = compute.shape();
    std::vector<float> asked;  // rows of all pieces, so that the head reads its weights once
    std::size_t first = 0;
    for (Piece& piece : call.pieces) {
        const std::size_t width = shape.width;
        const auto own = outputs.subspan(first, piece.frame.rows * width);
        first += own.size();
        for (const std::uint32_t row : logit_rows(piece, shape)) {
            const auto one = own.subspan(row * width, width);
            asked.insert(asked.end(), one.begin(), one.end());
        }
        if (!piece.is_last) {
            auto coded = encode_rows(*piece.codec, width, own);
            piece.spoiled = coded.has_error();
            piece.coded = piece.spoiled ? std::vector<std::byte>() : std::move(*coded);
        }
    }
    const std::vector<float> logits = asked.empty() ? asked : compute.logits(asked);
    std::span<const float> left = logits;
    for (Piece& piece : call.pieces) {
        const std::size_t count = logit_rows(piece, shape).size() * shape.vocabulary;
        judge(piece, left.first(count), shape.vocabulary);
        left = left.subspan(count);
    }
}

/// Rows of the frame whose logits are needed: those that judge the text, and the last row if the
/// next token is wanted. Only the last hop, and a hop where the token may exit, need logits.
std::vector<std::uint32_t> HopTable::logit_rows(const Piece& piece, const StageShape& shape) {
    std::vector<std::uint32_t> rows;
    if (!piece.is_last && (piece.exit_threshold > 1 || !shape.gives_logits)) {
        return rows;
    }
    for (const Judged& judged : piece.judged) {
        rows.push_back(judged.row);
    }
    const std::uint32_t last = piece.frame.rows - 1;
    if (piece.frame.wanted && (rows.empty() || rows.back() != last)) {
        rows.push_back(last);
    }
    return rows;
}

/// `logits`: those of the rows that logit_rows() names.
void HopTable::judge(Piece& piece, std::span<const float> logits, std::uint32_t vocabulary) {
    for (std::size_t i = 0; i < piece.judged.size(); ++i) {
        Judged& judged = piece.judged[i];
        const auto row = logits.subspan(i * vocabulary, vocabulary);
        judged.log_probability = stages::log_probability(row, judged.token);
        piece.spoiled = piece.spoiled || !std::isfinite(judged.log_probability);
    }
    if (piece.frame.wanted && !logits.empty()) {
        std::vector<float> row(logits.end() - vocabulary, logits.end());
        piece.changes.apply(row);
        piece.found = stages::top_tokens(row, piece.top);
        piece.spoiled = piece.spoiled || (piece.is_last && piece.found.empty());
    }
}

void HopTable::finish(Call& call, node::Turn turn) {
    device_busy_ = false;
    if (!call.failed) {
        const bool prefill = call.rows > call.pieces.size();
        (prefill ? prefill_ : decode_).add(call.rows, turn.now - call.begun);
    }
    for (Piece& piece : call.pieces) {
        const auto at = hops_.find(piece.key);
        if (at == hops_.end() || at->second.cache != piece.cache) {
            continue;  // the hop was closed while its rows were on the device
        }
        Hop& hop = at->second;
        hop.in_flight = false;
        if (call.failed || piece.spoiled) {
            give_up(hop, SessionReason::Failed, turn);
            remove(at, turn);
            continue;
        }
        if (hop.begins == piece.begins) {
            finish(piece, turn);
        }
        make_ready(piece.key, hop);
    }
    call_device(turn);
}

void HopTable::finish(Piece& piece, node::Turn turn) {
    Hop& hop = hops_.at(piece.key);
    const auto best = piece.found.empty() ? 0 : std::exp(piece.found.front().log_probability);
    const bool exits = !hop.is_last() && !piece.found.empty() && best >= piece.exit_threshold;
    hop.computed += piece.frame.rows;
    if (piece.frame.wanted) {
        hop.hop_us = std::move(piece.frame.hop_us);
        hop.hop_us.resize(std::min<std::size_t>(hop.hop_us.size(), hop.open.id.hop));
        hop.hop_us.push_back(microseconds(turn.now - piece.frame.came));
    }
    for (const Judged& judged : piece.judged) {
        const double before = hop.judged.empty() ? 0 : hop.judged.rbegin()->second;
        hop.judged[piece.frame.position + judged.row + 1] = before + judged.log_probability;
    }
    ComputedRows computed{piece.frame.rows, piece.frame.wanted, exits, piece.coded};
    if (hop.passes_tokens()) {
        computed.tokens = piece.frame.tokens;
    }
    hop.log.append(computed);
    const bool goes_on = piece.frame.rows > 1 || !hop.queue.empty();
    if (goes_on && !hop.troubled && turn.now - hop.told_at >= kTellProgressEvery) {
        tell_opened(hop, turn);
    }
    if (hop.is_last() ? piece.frame.wanted : exits) {
        tell_token(hop, piece, turn);
    }
    pump(hop, turn);
}

void HopTable::tell_token(const Hop& hop, const Piece& piece, node::Turn turn) const {
    const protocol::Sampling& sampling = hop.open.sampling;
    protocol::SessionToken told;
    told.id = hop.open.id;
    told.position = hop.log.upto();
    const std::size_t drawn_from =
        std::min<std::size_t>(piece.found.size(), protocol::kTopTokensMax);
    told.token =
        sample_token(std::span(piece.found).first(drawn_from), sampler_of(sampling), told.position);
    told.text_log_probability = hop.judged.empty() ? 0 : hop.judged.rbegin()->second;
    told.hop_us = hop.hop_us;
    told.top = piece.found;
    told.top.resize(std::min<std::size_t>(told.top.size(), sampling.top));
    send(hop.client, std::move(told), turn);
}

void HopTable::pump(Hop& hop, node::Turn turn) {
    if (!hop.resumed || hop.troubled || hop.is_last() || !reaches(hop)) {
        return;
    }
    const Replay replay = hop.open.exact ? Replay::Exact : Replay::Fast;
    while (const auto out = hop.log.next(replay, protocol::kSessionRowsMax)) {
        protocol::SessionRows rows{
            .id = hop.open.id,
            .position = out->position,
            .rows = out->rows,
            .wanted = out->wanted,
            .tokens = out->tokens,
            .hop_us = out->wanted ? hop.hop_us : std::vector<std::uint32_t>{}};
        ++rows.id.hop;
        node::Payload payload(
            {protocol::Dtype::Float32, hop.codec->id(), {out->rows, shape_.width}}, out->bytes
        );
        if (hop.open.next.peer == options_.self) {
            take(options_.self, rows, payload, turn);
        } else {
            lines_.sent(hop.open.next.peer, rows, payload.bytes().size(), turn.now);
            send(hop.open.next.peer, std::move(rows), turn, std::move(payload));
        }
    }
}

}  // namespace stacking::sessions
