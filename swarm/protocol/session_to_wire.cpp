#include "swarm/protocol/session_wire.hpp"

#include <string>

namespace swarm::protocol {

namespace {

void put(const LayerRange& range, wire::LayerRange* out) {
    out->set_first(range.first);
    out->set_end(range.end);
}

void put(const HopId& id, wire::HopId* out) {
    out->set_session(id.session);
    out->set_route(id.route);
    out->set_hop(id.hop);
}

void put(const PathPeer& peer, wire::PathPeer* out) {
    out->set_peer(bytes_of(peer.peer));
    out->set_address(peer.address);
}

void put(const RowRates& rates, wire::RowRates* out) {
    out->set_prefill_per_s(rates.prefill_per_s);
    out->set_decode_per_s(rates.decode_per_s);
}

}  // namespace

void put(const Register& body, wire::Message* envelope) {
    wire::Register* out = envelope->mutable_register_();
    out->set_model(bytes_of(body.model));
    out->set_layers(body.layers);
    put(body.hosted, out->mutable_hosted());
    out->set_weights(bytes_of(body.weights));
    out->set_address(body.address);
    put(body.rates, out->mutable_rates());
}

void put(const Registered& body, wire::Message* envelope) {
    envelope->mutable_registered()->set_refusal(body.refusal);
}

void put(const Locate& body, wire::Message* envelope) {
    envelope->mutable_locate()->set_model(bytes_of(body.model));
}

void put(const Located& body, wire::Message* envelope) {
    wire::Located* out = envelope->mutable_located();
    out->set_model(bytes_of(body.model));
    out->set_layers(body.layers);
    for (const HostInfo& host : body.hosts) {
        wire::HostInfo* item = out->add_hosts();
        item->set_peer(bytes_of(host.peer));
        put(host.hosted, item->mutable_hosted());
        item->set_address(host.address);
        put(host.rates, item->mutable_rates());
    }
}

void put(const SessionOpen& body, wire::Message* envelope) {
    wire::SessionOpen* out = envelope->mutable_session_open();
    put(body.id, out->mutable_id());
    out->set_hops(body.hops);
    out->set_model(bytes_of(body.model));
    put(body.layers, out->mutable_layers());
    out->set_positions(body.positions);
    put(body.previous, out->mutable_previous());
    put(body.next, out->mutable_next());
    out->set_exact(body.exact);
    out->set_exit_threshold(body.exit_threshold);
    wire::Sampling* sampling = out->mutable_sampling();
    sampling->set_temperature(body.sampling.temperature);
    sampling->set_seed(body.sampling.seed);
    sampling->set_top(body.sampling.top);
    out->set_text_from(body.text_from);
    out->mutable_text()->Add(body.text.begin(), body.text.end());
    out->set_tokens_upto(body.tokens_upto);
    if (body.codec) {
        out->set_codec(static_cast<std::uint32_t>(*body.codec));
    }
}

void put(const SessionOpened& body, wire::Message* envelope) {
    wire::SessionOpened* out = envelope->mutable_session_opened();
    put(body.id, out->mutable_id());
    out->set_filled_upto(body.filled_upto);
    out->set_kept_from(body.kept_from);
    out->set_codec(static_cast<std::uint32_t>(body.codec));
}

void put(const SessionResume& body, wire::Message* envelope) {
    wire::SessionResume* out = envelope->mutable_session_resume();
    put(body.id, out->mutable_id());
    out->set_from(body.from);
    out->set_next_from(body.next_from);
}

void put(const SessionRows& body, wire::Message* envelope) {
    wire::SessionRows* out = envelope->mutable_session_rows();
    put(body.id, out->mutable_id());
    out->set_position(body.position);
    out->set_rows(body.rows);
    out->set_wanted(body.wanted);
    out->mutable_tokens()->Add(body.tokens.begin(), body.tokens.end());
    out->mutable_hop_us()->Add(body.hop_us.begin(), body.hop_us.end());
}

void put(const SessionToken& body, wire::Message* envelope) {
    wire::SessionToken* out = envelope->mutable_session_token();
    put(body.id, out->mutable_id());
    out->set_position(body.position);
    out->set_token(body.token);
    for (const TokenScore& score : body.top) {
        wire::TokenScore* item = out->add_top();
        item->set_token(score.token);
        item->set_log_probability(score.log_probability);
    }
    out->mutable_hop_us()->Add(body.hop_us.begin(), body.hop_us.end());
    out->set_text_log_probability(body.text_log_probability);
}

void put(const SessionTrouble& body, wire::Message* envelope) {
    wire::SessionTrouble* out = envelope->mutable_session_trouble();
    put(body.id, out->mutable_id());
    out->set_reason(static_cast<wire::SessionReason>(body.reason));
    out->set_wait_ms(body.wait_ms);
}

void put(const SessionClose& body, wire::Message* envelope) {
    envelope->mutable_session_close()->set_session(body.session);
}

void put(const HostOffer& body, wire::Message* envelope) {
    wire::HostOffer* out = envelope->mutable_host_offer();
    out->set_model(bytes_of(body.model));
    out->set_layers(body.layers);
    for (const LayerRange& part : body.split) {
        put(part, out->add_split());
    }
}

void put(const HostPlace& body, wire::Message* envelope) {
    wire::HostPlace* out = envelope->mutable_host_place();
    out->set_model(bytes_of(body.model));
    put(body.hosted, out->mutable_hosted());
}

void put(const SessionTaken& body, wire::Message* envelope) {
    wire::SessionTaken* out = envelope->mutable_session_taken();
    put(body.id, out->mutable_id());
    out->set_position(body.position);
}

}  // namespace swarm::protocol
