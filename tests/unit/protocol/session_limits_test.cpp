// The rules on the fields of the directory's and the sessions' messages (session_messages.hpp).
#include "swarm/protocol/session_messages.hpp"
#include "tests/unit/protocol/field_rules.hpp"

#include <cmath>
#include <limits>

namespace swarm::protocol {

namespace {

template <class Kind>
void check_hop() {
    const auto with = [](std::uint32_t hop) {
        return changed<Kind>([&](Kind& body) { body.id.hop = hop; });
    };
    expect_taken(with(kHopsMax - 1));
    expect_refused(with(kHopsMax), ErrorCode::TooLarge, "hop");
}

template <class Kind>
void check_file_chunk() {
    const auto with = [](std::uint32_t chunk) {
        return changed<Kind>([&](Kind& body) { body.chunk = chunk; });
    };
    expect_taken(with(kFileChunksMax - 1));
    expect_refused(with(kFileChunksMax), ErrorCode::TooLarge, "chunk");
}

Body opened(std::uint32_t filled_upto, std::uint32_t kept_from) {
    return changed<SessionOpened>([&](SessionOpened& body) {
        body.filled_upto = filled_upto;
        body.kept_from = kept_from;
    });
}

Body rows(std::uint32_t count, std::size_t tokens) {
    return changed<SessionRows>([&](SessionRows& body) {
        body.rows = count;
        body.tokens.assign(tokens, 7);
    });
}

}  // namespace

TEST(SessionLimits, BoundTheHop) {
    check_hop<SessionOpen>();
    check_hop<SessionOpened>();
    check_hop<SessionResume>();
    check_hop<SessionRows>();
    check_hop<SessionToken>();
    check_hop<SessionTrouble>();
    check_hop<SessionTaken>();
    check_hop<SessionLacks>();
}

TEST(SessionLimits, AHopLiesOnItsPath) {
    const auto hops = [](std::uint32_t count) {
        return changed<SessionOpen>([&](SessionOpen& body) { body.hops = count; });
    };
    expect_taken(hops(kHopsMax));
    expect_refused(hops(kHopsMax + 1), ErrorCode::TooLarge, "hops");
    expect_refused(hops(63), ErrorCode::Malformed, "id.hop");
}

TEST(SessionLimits, BoundLayers) {
    const auto layers = [](LayerRange range) {
        return changed<SessionOpen>([&](SessionOpen& body) { body.layers = range; });
    };
    expect_taken(layers({0, kLayersMax}));
    expect_refused(layers({0, kLayersMax + 1}), ErrorCode::TooLarge, "layers");
    expect_refused(layers({kLayersMax, kLayersMax}), ErrorCode::TooLarge, "layers");
    expect_refused(layers({3, 3}), ErrorCode::Malformed, "layers");
    expect_refused(layers({4, 3}), ErrorCode::Malformed, "layers");
}

TEST(SessionLimits, NobodyHostsMoreLayersThanTheModelHas) {
    const auto hosted = [](std::uint32_t end) {
        return changed<Register>([&](Register& body) {
            body.layers = 20;
            body.hosted.end = end;
        });
    };
    expect_taken(hosted(20));
    expect_refused(hosted(21), ErrorCode::Malformed, "layers");
    const auto deep = changed<Register>([](Register& body) { body.layers = kLayersMax + 1; });
    expect_refused(deep, ErrorCode::TooLarge, "layers");
    const auto all = changed<Located>([](Located& body) { body.layers = kLayersMax + 1; });
    expect_refused(all, ErrorCode::TooLarge, "layers");
}

TEST(SessionLimits, BoundHosts) {
    const auto located = [](std::size_t count) {
        return changed<Located>([&](Located& body) {
            const HostInfo host = body.hosts.front();
            body.hosts.assign(count, host);
        });
    };
    expect_taken(located(kHostsMax));
    expect_refused(located(kHostsMax + 1), ErrorCode::TooLarge, "hosts");
    const auto empty = changed<Located>([](Located& body) { body.hosts[0].hosted = {}; });
    expect_refused(empty, ErrorCode::Malformed, "layers");
}

TEST(SessionLimits, BoundRates) {
    const auto registered = [](double prefill, double decode) {
        return changed<Register>([&](Register& body) { body.rates = {prefill, decode}; });
    };
    const auto located = [](double decode) {
        return changed<Located>([&](Located& body) { body.hosts[1].rates.decode_per_s = decode; });
    };
    expect_taken(registered(0, 0));
    expect_taken(registered(kRowsPerSMax, kRowsPerSMax));
    expect_taken(located(kRowsPerSMax));
    for (const double lie : {std::nan(""), -1.0, HUGE_VAL, 1e30}) {
        expect_refused(registered(lie, 1), ErrorCode::Malformed, "rates");
        expect_refused(registered(1, lie), ErrorCode::Malformed, "rates");
        expect_refused(located(lie), ErrorCode::Malformed, "rates");
    }
}

TEST(SessionLimits, BoundPositions) {
    const auto open = [](std::uint32_t positions) {
        return changed<SessionOpen>([&](SessionOpen& body) { body.positions = positions; });
    };
    expect_taken(open(kPositionsMax));
    expect_refused(open(kPositionsMax + 1), ErrorCode::TooLarge, "positions");
    expect_refused(open(0), ErrorCode::Malformed, "positions");
    expect_taken(opened(kPositionsMax, kPositionsMax));
    expect_refused(opened(kPositionsMax + 1, 0), ErrorCode::TooLarge, "filled_upto");
    expect_refused(opened(3, 4), ErrorCode::Malformed, "kept_from");
    const auto from = changed<SessionResume>([](auto& body) { body.from = kPositionsMax + 1; });
    expect_refused(from, ErrorCode::TooLarge, "from");
    const auto next =
        changed<SessionResume>([](SessionResume& body) { body.next_from = kPositionsMax + 1; });
    expect_refused(next, ErrorCode::TooLarge, "next_from");
    const auto row = changed<SessionRows>([](SessionRows& body) { body.position = kPositionsMax; });
    expect_refused(row, ErrorCode::TooLarge, "position");
    const auto token =
        changed<SessionToken>([](SessionToken& body) { body.position = kPositionsMax + 1; });
    expect_refused(token, ErrorCode::TooLarge, "position");
    const auto taken =
        changed<SessionTaken>([](SessionTaken& body) { body.position = kPositionsMax + 1; });
    expect_refused(taken, ErrorCode::TooLarge, "position");
}

TEST(SessionLimits, BoundRows) {
    expect_taken(rows(kSessionRowsMax, kSessionRowsMax));
    expect_taken(rows(kSessionRowsMax, 0));
    expect_refused(rows(kSessionRowsMax + 1, 0), ErrorCode::TooLarge, "rows");
    expect_refused(rows(kSessionRowsMax, kSessionRowsMax + 1), ErrorCode::TooLarge, "tokens");
    expect_refused(rows(0, 0), ErrorCode::Malformed, "rows");
    expect_refused(rows(3, 2), ErrorCode::Malformed, "tokens");
}

TEST(SessionLimits, GuessesFollowARowThatIsWanted) {
    const auto guessing = [](std::uint32_t count, std::uint32_t guessed, bool wanted) {
        return changed<SessionRows>([&](SessionRows& body) {
            body.rows = count;
            body.tokens.clear();
            body.guessed = guessed;
            body.wanted = wanted;
        });
    };
    expect_taken(guessing(kGuessesMax + 1, kGuessesMax, true));
    expect_refused(
        guessing(kSessionRowsMax, kGuessesMax + 1, true), ErrorCode::TooLarge, "guessed"
    );
    expect_refused(guessing(3, 3, true), ErrorCode::Malformed, "guessed");
    expect_refused(guessing(3, 1, false), ErrorCode::Malformed, "guessed");
    const auto further = [](std::size_t count) {
        return changed<SessionToken>([&](SessionToken& body) { body.further.resize(count); });
    };
    expect_taken(further(kGuessesMax));
    expect_refused(further(kGuessesMax + 1), ErrorCode::TooLarge, "further");
}

TEST(SessionLimits, BoundTheNamesOfPages) {
    const auto open = [](std::uint32_t positions, std::size_t pages) {
        return changed<SessionOpen>([&](SessionOpen& body) {
            body.positions = positions;
            body.text.clear();
            body.prefix.assign(pages, 1);
        });
    };
    expect_taken(open(2 * kPrefixPagePositions, 2));
    expect_refused(open(2 * kPrefixPagePositions - 1, 2), ErrorCode::Malformed, "prefix");
    expect_taken(open(kPositionsMax, kPrefixPagesMax));
    expect_refused(open(kPositionsMax, kPrefixPagesMax + 1), ErrorCode::TooLarge, "prefix");
    const auto close = [](std::size_t pages) {
        return changed<SessionClose>([&](SessionClose& body) { body.prefix.assign(pages, 1); });
    };
    expect_taken(close(kPrefixPagesMax));
    expect_refused(close(kPrefixPagesMax + 1), ErrorCode::TooLarge, "prefix");
    const auto share = [](std::size_t pages) {
        return changed<SessionShare>([&](SessionShare& body) { body.prefix.assign(pages, 1); });
    };
    expect_taken(share(kPrefixPagesMax));
    expect_refused(share(kPrefixPagesMax + 1), ErrorCode::TooLarge, "prefix");
}

TEST(SessionLimits, BoundTextsToJudge) {
    const auto open = [](std::uint32_t from, std::size_t count) {
        return changed<SessionOpen>([&](SessionOpen& body) {
            body.positions = kJudgedTokensMax + 1;
            body.text_from = from;
            body.text.assign(count, 1);
        });
    };
    expect_taken(open(1, kJudgedTokensMax));
    expect_refused(open(2, kJudgedTokensMax), ErrorCode::Malformed, "text");
    expect_refused(open(0, kJudgedTokensMax + 1), ErrorCode::TooLarge, "text");
    expect_refused(open(kPositionsMax + 1, 0), ErrorCode::TooLarge, "text_from");
}

TEST(SessionLimits, TokensTravelNoFurtherThanThePath) {
    const auto open = [](std::uint32_t upto) {
        return changed<SessionOpen>([&](SessionOpen& body) { body.tokens_upto = upto; });
    };
    expect_taken(open(kHopsMax - 1));
    expect_refused(open(kHopsMax), ErrorCode::TooLarge, "tokens_upto");
    const auto shorter = changed<SessionOpen>([](SessionOpen& body) {
        body.id.hop = 0;
        body.hops = 1;
    });
    expect_refused(shorter, ErrorCode::Malformed, "tokens_upto");
}

TEST(SessionLimits, RowsTakeOnlyCodecsThatCodeEachRowAlone) {
    const auto open = [](RowCodec codec) {
        return changed<SessionOpen>([&](SessionOpen& body) { body.codec = codec; });
    };
    expect_taken(open(CodecId::Fp16));
    expect_taken(open(std::nullopt));
    expect_refused(open(CodecId::Int4), ErrorCode::TooLarge, "codec");
    const auto chosen = changed<SessionOpened>([](auto& b) { b.codec = CodecId::Int4; });
    expect_refused(chosen, ErrorCode::TooLarge, "codec");
}

TEST(SessionLimits, BoundCandidates) {
    const auto open = changed<SessionOpen>([](auto& b) { b.sampling.top = kCandidatesMax + 1; });
    expect_refused(open, ErrorCode::TooLarge, "top");
    const auto token = [](std::size_t count) {
        return changed<SessionToken>([&](SessionToken& body) { body.top.resize(count); });
    };
    expect_taken(token(kCandidatesMax));
    expect_refused(token(kCandidatesMax + 1), ErrorCode::TooLarge, "top");
}

TEST(SessionLimits, BoundTheWait) {
    const auto wait = [](std::uint32_t ms) {
        return changed<SessionTrouble>([&](SessionTrouble& body) { body.wait_ms = ms; });
    };
    expect_taken(wait(kWaitMsMax));
    expect_refused(wait(kWaitMsMax + 1), ErrorCode::TooLarge, "wait_ms");
}

TEST(SessionLimits, BoundTexts) {
    const auto server = [](const std::string& text) {
        return changed<Register>([&](Register& body) { body.address = text; });
    };
    const auto refusal = [](const std::string& text) {
        return changed<Registered>([&](Registered& body) { body.refusal = text; });
    };
    const auto host = [](const std::string& text) {
        return changed<Located>([&](Located& body) { body.hosts[1].address = text; });
    };
    const auto previous = [](const std::string& text) {
        return changed<SessionOpen>([&](SessionOpen& body) { body.previous.address = text; });
    };
    const auto next = [](const std::string& text) {
        return changed<SessionOpen>([&](SessionOpen& body) { body.next.address = text; });
    };
    check_text(server, "address");
    check_text(refusal, "refusal");
    check_text(host, "address");
    check_text(previous, "previous");
    check_text(next, "next");
}

TEST(SessionLimits, NumbersAreFinite) {
    check_double<SessionOpen>(
        [](SessionOpen& b) -> double& { return b.exit_threshold; },
        "exit_threshold",
        Negative::Refused
    );
    check_double<SessionOpen>(
        [](SessionOpen& b) -> double& { return b.sampling.temperature; },
        "temperature",
        Negative::Refused
    );
    check_double<SessionToken>(
        [](SessionToken& b) -> double& { return b.top[0].log_probability; },
        "log_probability",
        Negative::Allowed
    );
    check_double<SessionToken>(
        [](SessionToken& b) -> double& { return b.text_log_probability; },
        "text_log_probability",
        Negative::Allowed
    );
}

TEST(SessionLimits, BoundsOfTheDrawAreShareAndNumber) {
    const auto open = [](double top_p, std::uint32_t top_k) {
        return changed<SessionOpen>([&](SessionOpen& body) {
            body.sampling.top_p = top_p;
            body.sampling.top_k = top_k;
        });
    };
    expect_taken(open(0, 0));
    expect_taken(open(1, kTopTokensMax));
    const double inf = std::numeric_limits<double>::infinity();
    for (const double no_share : {1.0001, -1e-300, inf, std::nan("")}) {
        expect_refused(open(no_share, 0), ErrorCode::Malformed, "top_p");
    }
    expect_refused(open(0, kTopTokensMax + 1), ErrorCode::TooLarge, "top_k");
}

TEST(SessionLimits, ReasonsAreKnown) {
    const auto last = [](int beyond) {
        return changed<SessionTrouble>([&](SessionTrouble& body) {
            body.reason =
                static_cast<SessionReason>(static_cast<int>(SessionReason::Failed) + beyond);
        });
    };
    expect_taken(last(0));
    expect_refused(last(1), ErrorCode::Malformed, "reason");
}

TEST(FileLimits, BoundTheManifest) {
    const auto told = [](std::uint32_t bytes) {
        return changed<FilesTold>([&](FilesTold& body) { body.manifest_bytes = bytes; });
    };
    expect_taken(told(0));
    expect_taken(told(kManifestBytesMax));
    expect_refused(told(kManifestBytesMax + 1), ErrorCode::TooLarge, "manifest_bytes");
}

TEST(FileLimits, BoundTheChunk) {
    check_file_chunk<FileFetch>();
    check_file_chunk<FileChunk>();
    check_file_chunk<FileRefused>();
}

TEST(ExpertLimits, BoundARequest) {
    const auto request = [](std::uint32_t layer, std::uint32_t expert, std::uint32_t rows) {
        return changed<ExpertRows>([&](ExpertRows& body) {
            body.layer = layer;
            body.expert = expert;
            body.rows = rows;
        });
    };
    expect_taken(request(kLayersMax - 1, kExpertsMax - 1, kSessionRowsMax));
    expect_refused(request(kLayersMax, 0, 1), ErrorCode::TooLarge, "layer");
    expect_refused(request(0, kExpertsMax, 1), ErrorCode::TooLarge, "expert");
    expect_refused(request(0, 0, kSessionRowsMax + 1), ErrorCode::TooLarge, "rows");
    expect_refused(request(0, 0, 0), ErrorCode::Malformed, "rows");
}

TEST(ExpertLimits, BoundWhatIsLentAndWhatIsLacking) {
    const auto lent = [](std::size_t words, bool only) {
        return changed<Register>([&](Register& body) {
            body.experts.assign(words, 1);
            body.experts_only = only;
        });
    };
    expect_taken(lent(kExpertWordsMax, true));
    expect_taken(lent(0, false));
    expect_refused(lent(kExpertWordsMax + 1, false), ErrorCode::TooLarge, "experts");
    expect_refused(lent(0, true), ErrorCode::Malformed, "experts");
    const auto lacks = [](std::vector<std::uint32_t> experts) {
        return changed<SessionLacks>([&](SessionLacks& body) { body.experts = experts; });
    };
    expect_taken(lacks(std::vector<std::uint32_t>(kExpertsMax, kExpertsMax - 1)));
    expect_refused(
        lacks(std::vector<std::uint32_t>(kExpertsMax + 1, 0)), ErrorCode::TooLarge, "experts"
    );
    expect_refused(lacks({kExpertsMax}), ErrorCode::TooLarge, "experts");
}

}  // namespace swarm::protocol
