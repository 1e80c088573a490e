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

std::uint32_t with_price(std::uint32_t before_us, std::uint32_t own_us) {
    return before_us + std::min(own_us, UINT32_MAX - before_us);
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
        if (resume.from > hop.log.upto() || resume.from < hop.shared) {
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

std::optional<RowFrame> HopTable::read(
    const Hop& hop, const protocol::SessionRows& rows, const node::Payload& payload
) const {
    RowFrame frame{.position = rows.position, .rows = rows.rows, .wanted = rows.wanted};
    frame.guessed = rows.guessed;
    frame.hop_us = rows.hop_us;
    frame.guess_us = rows.guess_us;
    if (rows.rows > hop.open.positions || rows.position > hop.open.positions - rows.rows) {
        return std::nullopt;
    }
    const bool may_guess =
        (rows.guessed + 1) * hop.open.sampling.top <= protocol::kDrawnScoresMax &&
        hop.open.text.empty() && hop.open.exit_threshold > 1;
    if (rows.guessed > 0 && !may_guess) {
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

/// Rows continue the cache where it ends. The first rows of a route may cut it; so may, on a route
/// that runs, rows that follow guesses cut these, once all rows are through.
bool HopTable::continues(const Hop& hop, const protocol::SessionRows& rows) {
    if (rows.position < hop.shared) {
        return false;  // other sessions read these pages
    }
    if (!hop.begun) {
        return rows.position <= hop.log.upto();
    }
    const bool is_idle = hop.queue.empty() && !hop.in_flight;
    const bool cuts_guesses =
        rows.position < hop.queued_upto && rows.position + hop.guessed >= hop.queued_upto;
    return rows.position == hop.queued_upto || (is_idle && cuts_guesses);
}

void HopTable::take(
    PeerId from, const protocol::SessionRows& rows, const node::Payload& payload, node::Turn turn
) {
    const Key key{rows.id.session, rows.id.hop};
    const auto at = hops_.find(key);
    if (RowLines::measures(rows) && rows.id.hop > 0 && from != options_.self) {
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
    if (!continues(hop, rows)) {
        return give_up(hop, SessionReason::Gap, turn);
    }
    std::optional<RowFrame> frame = read(hop, rows, payload);
    if (!frame) {
        return give_up(hop, SessionReason::Invalid, turn);
    }
    frame->came = turn.now;
    if (!hop.begun) {
        begin(hop, rows.position);
    }
    // The frame before began at its token, and then had guesses.
    const std::int64_t made =
        std::int64_t{rows.position} + hop.guessed + 1 - std::int64_t{hop.queued_upto};
    if (!frame->is_reading() && made > 0) {
        price_.made(static_cast<std::uint32_t>(made));
    }
    hop.queued_upto = rows.position + rows.rows;
    hop.guessed = rows.guessed;
    if (!frame->is_reading()) {
        gather_.came(key.first, ready_.empty(), hop.returns, turn.now);
    }
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

/// Returns when the next call may begin: at once, unless more tokens are to be expected for it.
TimePoint HopTable::gathered_at() const {
    std::size_t rows = 0;
    for (const Key& key : ready_) {
        const RowFrame& frame = hops_.at(key).queue.front();
        if (frame.is_reading()) {
            return swarm::kAtOnce;
        }
        rows += frame.rows;
    }
    const bool alone = hops_.size() == 1 || !gather_.is_shared();
    return alone || rows >= protocol::kSessionBatchMax ? swarm::kAtOnce : gather_.until();
}

std::vector<Judged> HopTable::to_judge(const Hop& hop, const RowFrame& frame) const {
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

/// Adds the frame to the text of a hop that may draw, and says what the text then does to each
/// draw.
std::vector<LogitChanges> HopTable::changes_of(Hop& hop, const RowFrame& frame) {
    const protocol::Sampling& sampling = hop.open.sampling;
    std::vector<LogitChanges> changes(frame.draws());
    if (!hop.is_last() && hop.open.exit_threshold > 1) {
        return changes;
    }
    if (sampling.reads_text()) {
        hop.text.resize(std::min<std::size_t>(hop.text.size(), frame.position));
        hop.text.insert(hop.text.end(), frame.tokens.begin(), frame.tokens.end());
    }
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const std::size_t unread = changes.size() - 1 - i;  // guesses after this draw
        const std::span text(hop.text);
        changes[i] =
            LogitChanges(sampling, text.first(text.size() - std::min(unread, text.size())));
    }
    return changes;
}

CallPiece HopTable::next_piece(Key key, Hop& hop) const {
    const std::uint32_t drawn_from =
        hop.open.sampling.temperature > 0 ? protocol::kTopTokensMax : 1;
    CallPiece piece{
        .key = key,
        .cache = hop.cache,
        .begins = hop.begins,
        .frame = std::move(hop.queue.front()),
        .is_last = hop.is_last(),
        .codec = hop.codec,
        .exit_threshold = hop.open.exit_threshold,
        .top = std::max(hop.open.sampling.top, drawn_from)};
    hop.queue.pop_front();
    piece.judged = to_judge(hop, piece.frame);
    piece.changes = changes_of(hop, piece.frame);
    return piece;
}

/// Takes frames of one kind, rows of texts that are read or tokens with their guesses, of as many
/// hops as a call has room for, the oldest first. The hops of a call are all first hops, which take
/// tokens, or all later hops.
DeviceCall HopTable::next_call() {
    const auto reads = [this](Key key) { return hops_.at(key).queue.front().is_reading(); };
    auto at = ready_.begin();
    if (has_read_) {
        // Texts that are under way wait for one call of newcomers, however many of these there are.
        const auto token = std::ranges::find_if_not(ready_, reads);
        at = token != ready_.end() ? token : at;
    }
    has_read_ = reads(*at);
    const bool reading = has_read_;
    const bool tokens = at->second == 0;
    DeviceCall call;
    while (at != ready_.end()) {
        Hop& hop = hops_.at(*at);
        const RowFrame& frame = hop.queue.front();
        const bool fits =
            call.pieces.empty() || call.rows + frame.rows <= protocol::kSessionBatchMax;
        if (!fits || frame.is_reading() != reading || (at->second == 0) != tokens) {
            ++at;
            continue;
        }
        call.rows += frame.rows;
        hop.in_flight = true;
        hop.in_flight_from = frame.position;
        call.pieces.push_back(next_piece(*at, hop));
        at = ready_.erase(at);
    }
    return call;
}

void HopTable::call_device(node::Turn turn) {
    if (device_busy_ || ready_.empty() || gathered_at() > turn.now) {
        return;
    }
    device_busy_ = true;
    const auto call = std::make_shared<DeviceCall>(next_call());
    const double layers = options_.host.hosted.end - options_.host.hosted.first;
    call->begun = turn.now;
    if (options_.trunk) {
        return begin_walk(call, turn);
    }
    device_.submit(
        turn,
        call->rows * layers,
        [compute = options_.compute, bridge = options_.bridge, call] {
            call->run(*compute, bridge.get());
        },
        [this, call](node::Turn later) { finish(*call, later); }
    );
}

void HopTable::finish(DeviceCall& call, node::Turn turn) {
    device_busy_ = false;
    if (!call.failed) {
        const bool reading = call.pieces.front().frame.is_reading();
        const auto tokens = static_cast<std::uint32_t>(call.pieces.size());  // a guess is none
        (reading ? prefill_ : decode_).add(reading ? call.rows : tokens, turn.now - call.begun);
        if (!reading) {
            price_.add(call.rows, turn.now - call.begun);
        }
        gather_.ended(reading ? 0 : call.rows, turn.now - call.begun, turn.now);
    }
    const std::size_t texts = call.pieces.size() + ready_.size();
    for (CallPiece& piece : call.pieces) {
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
            finish(piece, texts, turn);
        }
        make_ready(piece.key, hop);
    }
    call_device(turn);
}

void HopTable::finish(CallPiece& piece, std::size_t texts, node::Turn turn) {
    Hop& hop = hops_.at(piece.key);
    const bool has_best = !piece.found.empty() && !piece.found.front().empty();
    const auto best = has_best ? std::exp(piece.found.front().front().log_probability) : 0;
    const bool exits = !hop.is_last() && has_best && best >= piece.exit_threshold;
    hop.computed += piece.frame.rows;
    if (piece.frame.wanted) {
        gather_.answered(piece.key.first, hop.returns, turn.now);
        hop.hop_us = std::move(piece.frame.hop_us);
        hop.hop_us.resize(std::min<std::size_t>(hop.hop_us.size(), hop.open.id.hop));
        hop.hop_us.push_back(microseconds(turn.now - piece.frame.came));
        hop.guess_us = with_price(piece.frame.guess_us, price_.us(texts));
    }
    for (const Judged& judged : piece.judged) {
        const double before = hop.judged.empty() ? 0 : hop.judged.rbegin()->second;
        hop.judged[piece.frame.position + judged.row + 1] = before + judged.log_probability;
    }
    ComputedRows computed{piece.frame.rows, piece.frame.wanted, exits, piece.coded};
    computed.guessed = piece.frame.guessed;
    if (hop.passes_tokens()) {
        computed.tokens = piece.frame.tokens;
    }
    hop.log.cut(piece.frame.position);
    hop.log.append(computed);
    const bool goes_on = piece.frame.is_reading() || !hop.queue.empty();
    if (goes_on && !hop.troubled && turn.now - hop.told_at >= kTellProgressEvery) {
        tell_opened(hop, turn);
    }
    if (hop.is_last() ? piece.frame.wanted : exits) {
        tell_token(hop, piece, turn);
    }
    pump(hop, turn);
}

void HopTable::tell_token(const Hop& hop, const CallPiece& piece, node::Turn turn) const {
    const protocol::Sampling& sampling = hop.open.sampling;
    protocol::SessionToken told;
    told.id = hop.open.id;
    told.position = hop.log.upto() - piece.frame.guessed;
    const auto drawn = [&](std::size_t draw) {
        const auto& found = piece.found[draw];
        const std::size_t drawn_from = std::min<std::size_t>(found.size(), protocol::kTopTokensMax);
        const auto position = told.position + static_cast<std::uint32_t>(draw);
        protocol::DrawnToken token;
        token.token =
            sample_token(std::span(found).first(drawn_from), sampler_of(sampling), position);
        token.top = found;
        token.top.resize(std::min<std::size_t>(found.size(), sampling.top));
        return token;
    };
    protocol::DrawnToken first = drawn(0);
    told.token = first.token;
    told.top = std::move(first.top);
    for (std::size_t draw = 1; draw < piece.found.size(); ++draw) {
        told.further.push_back(drawn(draw));
    }
    told.text_log_probability = hop.judged.empty() ? 0 : hop.judged.rbegin()->second;
    told.hop_us = hop.hop_us;
    told.guess_us = hop.guess_us;
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
            .hop_us = out->wanted ? hop.hop_us : std::vector<std::uint32_t>{},
            .guessed = out->guessed,
            .guess_us = out->wanted ? hop.guess_us : 0};
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
