// The descriptions of the messages that continue texts, and of their parts: each field with the
// rule for its values, in the order of messages.proto (see field.hpp).
// Private to swarm/protocol and to the simulator's liar.
#pragma once

#include "swarm/protocol/field.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/protocol/session_messages.hpp"

namespace swarm::protocol {

/// Tells whether the parts of the split follow each other from layer 0 to the model's last layer.
inline bool is_whole(const HostOffer& offer) {
    std::uint32_t upto = 0;
    for (const LayerRange& range : offer.split) {
        if (range.first != upto) {
            return false;
        }
        upto = range.end;
    }
    return upto == offer.layers && upto > 0;
}

// ---- parts of messages ----

template <class Visit>
void visit_fields(Of<LayerRange> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(first), Below{kLayersMax});
    visit(SWARM_FIELD(end), UpTo{kLayersMax});
    visit.holds("end", "leaves no layers", [](const auto& body) { return body.first < body.end; });
}

template <class Visit>
void visit_fields(Of<RowRates> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(prefill_per_s), RowsPerSecond());
    visit(SWARM_FIELD(decode_per_s), RowsPerSecond());
}

template <class Visit>
void visit_fields(Of<HostInfo> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(peer));
    visit(SWARM_FIELD(hosted));
    visit(SWARM_FIELD(address));
    visit(SWARM_FIELD(rates));
    visit(SWARM_FIELD(weights));
    visit(SWARM_FIELD(experts), Items{kExpertWordsMax});
    visit(SWARM_FIELD(experts_only));
}

template <class Visit>
void visit_fields(Of<HopId> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(session));
    visit(SWARM_FIELD(route), Any());
    visit(SWARM_FIELD(hop), Below{kHopsMax});
}

template <class Visit>
void visit_fields(Of<PathPeer> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(peer));
    visit(SWARM_FIELD(address));
}

template <class Visit>
void visit_fields(Of<Sampling> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(temperature), FiniteFromZero());
    visit(SWARM_FIELD(seed));
    visit(SWARM_FIELD(top), UpTo{kCandidatesMax});
    visit(SWARM_FIELD(top_p), Share());
    visit(SWARM_FIELD(top_k), UpTo{kTopTokensMax});
    visit(SWARM_FIELD(min_p), Share());
    visit(SWARM_FIELD(repetition_penalty), FiniteFromZero());
    visit(SWARM_FIELD(presence_penalty), Finite());
    visit(SWARM_FIELD(frequency_penalty), Finite());
    visit(SWARM_FIELD(generated_from), Any());
    visit(SWARM_FIELD(biases), Items{kTokenBiasesMax});
}

template <class Visit>
void visit_fields(Of<TokenBias> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(token), Any());
    visit(SWARM_FIELD(bias), Finite());
}

template <class Visit>
void visit_fields(Of<TokenScore> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(token), Any());
    visit(SWARM_FIELD(log_probability), Finite());
}

template <class Visit>
void visit_fields(Of<DrawnToken> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(token), Any());
    visit(SWARM_FIELD(top), Items{kCandidatesMax});
}

// ---- messages ----

template <class Visit>
void visit_fields(Of<Infer> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(request));
    visit(SWARM_FIELD(tokens), Items{kTokensMax, Any()});
    visit(SWARM_FIELD(top), UpTo{kTopTokensMax});
}

template <class Visit>
void visit_fields(Of<Inferred> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(request));
    visit(SWARM_FIELD(refused));
    visit(SWARM_FIELD(top), Items{kTopTokensMax});
}

template <class Visit>
void visit_fields(Of<HostOffer> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(model));
    visit(SWARM_FIELD(layers), UpTo{kLayersMax});
    visit(SWARM_FIELD(split), Items{kHopsMax});
    visit.holds("split", "is not the whole model", [](const auto& body) { return is_whole(body); });
}

template <class Visit>
void visit_fields(Of<HostPlace> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(model));
    visit(SWARM_FIELD(hosted));
}

template <class Visit>
void visit_fields(Of<Register> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(model));
    visit(SWARM_FIELD(layers), UpTo{kLayersMax});
    visit(SWARM_FIELD(hosted));
    visit(SWARM_FIELD(weights));
    visit(SWARM_FIELD(address));
    visit(SWARM_FIELD(rates));
    visit(SWARM_FIELD(experts), Items{kExpertWordsMax});
    visit(SWARM_FIELD(experts_only));
    visit.holds("experts", "are all that is hosted, and none", [](const auto& body) {
        return !body.experts_only || !body.experts.empty();
    });
    visit.holds("layers", "hosted are more than the model's", [](const auto& body) {
        return body.hosted.end <= body.layers;
    });
}

template <class Visit>
void visit_fields(Of<Registered> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(refusal));
}

template <class Visit>
void visit_fields(Of<Locate> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(model));
    visit(SWARM_FIELD(layers), UpTo{kLayersMax});
}

template <class Visit>
void visit_fields(Of<Located> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(model));
    visit(SWARM_FIELD(layers), UpTo{kLayersMax});
    visit(SWARM_FIELD(hosts), Items{kHostsMax});
}

template <class Visit>
void visit_fields(Of<SessionOpen> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(id));
    visit(SWARM_FIELD(hops), UpTo{kHopsMax});
    visit(SWARM_FIELD(model));
    visit(SWARM_FIELD(layers));
    visit(SWARM_FIELD(positions), UpTo{kPositionsMax});
    visit(SWARM_FIELD(previous));
    visit(SWARM_FIELD(next));
    visit(SWARM_FIELD(exact));
    visit(SWARM_FIELD(exit_threshold), FiniteFromZero());
    visit(SWARM_FIELD(sampling));
    visit(SWARM_FIELD(text_from), UpTo{kPositionsMax});
    visit(SWARM_FIELD(text), Items{kJudgedTokensMax, Any()});
    visit(SWARM_FIELD(tokens_upto), Below{kHopsMax});
    visit(SWARM_FIELD(codec), RowCodecNumber());
    visit(SWARM_FIELD(prefix), Items{kPrefixPagesMax});
    visit.holds("id.hop", "is not on the path", [](const auto& body) {
        return body.id.hop < body.hops;
    });
    visit.holds("tokens_upto", "is not on the path", [](const auto& body) {
        return body.tokens_upto < body.hops;
    });
    visit.holds("positions", "are none", [](const auto& body) { return body.positions > 0; });
    visit.holds("text", "is longer than the session", [](const auto& body) {
        return body.text_from + body.text.size() <= body.positions;
    });
    visit.holds("prefix", "is longer than the session", [](const auto& body) {
        return body.prefix.size() <= body.positions / kPrefixPagePositions;
    });
}

template <class Visit>
void visit_fields(Of<SessionOpened> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(id));
    visit(SWARM_FIELD(filled_upto), UpTo{kPositionsMax});
    visit(SWARM_FIELD(kept_from), UpTo{kPositionsMax});
    visit(SWARM_FIELD(codec), RowCodecNumber());
    visit.holds("kept_from", "is above filled_upto", [](const auto& body) {
        return body.kept_from <= body.filled_upto;
    });
}

template <class Visit>
void visit_fields(Of<SessionResume> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(id));
    visit(SWARM_FIELD(from), UpTo{kPositionsMax});
    visit(SWARM_FIELD(next_from), UpTo{kPositionsMax});
}

template <class Visit>
void visit_fields(Of<SessionRows> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(id));
    visit(SWARM_FIELD(position), Below{kPositionsMax});
    visit(SWARM_FIELD(rows), UpTo{kSessionRowsMax});
    visit(SWARM_FIELD(wanted));
    visit(SWARM_FIELD(tokens), Items{kSessionRowsMax, Any()});
    visit(SWARM_FIELD(hop_us), Items{kHopsMax, Any()});
    visit(SWARM_FIELD(guessed), UpTo{kGuessesMax});
    visit(SWARM_FIELD(guess_us), Any());
    visit.holds("rows", "are none", [](const auto& body) { return body.rows > 0; });
    visit.holds("tokens", "are neither absent nor one per row", [](const auto& body) {
        return body.tokens.empty() || body.tokens.size() == body.rows;
    });
    visit.holds("guessed", "are all rows, or nobody wants them", [](const auto& body) {
        return body.guessed < body.rows && (body.wanted || body.guessed == 0);
    });
}

template <class Visit>
void visit_fields(Of<SessionToken> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(id));
    visit(SWARM_FIELD(position), UpTo{kPositionsMax});
    visit(SWARM_FIELD(token), Any());
    visit(SWARM_FIELD(top), Items{kCandidatesMax});
    visit(SWARM_FIELD(hop_us), Items{kHopsMax, Any()});
    visit(SWARM_FIELD(text_log_probability), Finite());
    visit(SWARM_FIELD(further), Items{kGuessesMax});
    visit(SWARM_FIELD(guess_us), Any());
}

template <class Visit>
void visit_fields(Of<SessionTrouble> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(id));
    visit(SWARM_FIELD(reason), Known{SessionReason::Failed});
    visit(SWARM_FIELD(wait_ms), UpTo{kWaitMsMax});
}

template <class Visit>
void visit_fields(Of<SessionClose> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(session));
    visit(SWARM_FIELD(prefix), Items{kPrefixPagesMax});
}

template <class Visit>
void visit_fields(Of<SessionShare> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(session));
    visit(SWARM_FIELD(prefix), Items{kPrefixPagesMax});
}

template <class Visit>
void visit_fields(Of<SessionTaken> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(id));
    visit(SWARM_FIELD(position), UpTo{kPositionsMax});
}

template <class Visit>
void visit_fields(Of<ExpertRows> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(request));
    visit(SWARM_FIELD(weights));
    visit(SWARM_FIELD(layer), Below{kLayersMax});
    visit(SWARM_FIELD(expert), Below{kExpertsMax});
    visit(SWARM_FIELD(rows), UpTo{kSessionRowsMax});
    visit.holds("rows", "are none", [](const auto& body) { return body.rows > 0; });
}

template <class Visit>
void visit_fields(Of<ExpertOutputs> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(request));
}

template <class Visit>
void visit_fields(Of<ExpertRefused> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(request));
    visit(SWARM_FIELD(busy));
}

template <class Visit>
void visit_fields(Of<SessionLacks> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(id));
    visit(SWARM_FIELD(experts), Items{kExpertsMax, Below{kExpertsMax}});
}

template <class Visit>
void visit_fields(Of<FilesAsk> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(model));
}

template <class Visit>
void visit_fields(Of<FilesTold> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(model));
    visit(SWARM_FIELD(manifest));
    visit(SWARM_FIELD(manifest_bytes), UpTo{kManifestBytesMax});
}

template <class Visit>
void visit_fields(Of<FileFetch> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(manifest));
    visit(SWARM_FIELD(of_manifest));
    visit(SWARM_FIELD(chunk), Below{kFileChunksMax});
}

template <class Visit>
void visit_fields(Of<FileChunk> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(manifest));
    visit(SWARM_FIELD(of_manifest));
    visit(SWARM_FIELD(chunk), Below{kFileChunksMax});
}

template <class Visit>
void visit_fields(Of<FileRefused> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(manifest));
    visit(SWARM_FIELD(of_manifest));
    visit(SWARM_FIELD(chunk), Below{kFileChunksMax});
    visit(SWARM_FIELD(busy));
}

}  // namespace swarm::protocol
