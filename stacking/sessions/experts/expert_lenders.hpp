// The servers that lend experts, as one server of a mixture's layers knows them: who holds what,
// who is linked, who rests after a failure, and how fast each has answered.
// The rule of the choice: of the linked lenders that hold the expert and do not rest, the one that
// will have answered first: rows under way there, these included, over its measured rate. One that
// has not answered yet counts as twice the fastest, so each is tried; equal ones are taken in an
// order of the server's own, so not all servers ask the same one.
// Invariant: at most kExpertCallsPerPeerMax requests are under way at a lender.
// Threading: single strand. Bound: kLendersMax lenders. Errors: none. Cost: O(lenders).
#pragma once

#include "stacking/expert_compute.hpp"
#include "stacking/sessions/link_book.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>

namespace stacking::sessions {

class ExpertLenders {
 public:
    static constexpr std::size_t kLendersMax = 256;
    /// Least time that an answer may take: that of a line around the world, and a device that other
    /// servers' rows keep busy. A shorter one would only ask two lenders for the same rows.
    static constexpr swarm::Duration kSilentLeast = std::chrono::milliseconds(250);
    static constexpr int kSilentWorst = 8;
    /// Before a lender has answered: time of its first answer, and of each row under way there.
    static constexpr swarm::Duration kFirstAnswer = std::chrono::seconds(1);
    static constexpr swarm::Duration kRowAllowance = std::chrono::milliseconds(20);
    static constexpr swarm::Duration kRestFirst = std::chrono::milliseconds(100);
    static constexpr swarm::Duration kRestMax = std::chrono::seconds(5);

    struct Options {
        PeerId self;
        swarm::Digest weights;        // digest of requests; lenders of other weights are not asked
        protocol::LayerRange hosted;  // layers of this server
        ExpertSet lacking;            // experts that it wants
    };

    ExpertLenders(Options options, LinkBook& links) : options_(options), links_(links) {}

    /// Takes the directory's list, and dials those that may be asked.
    void learn(const protocol::Located& located, node::Turn turn);

    void linked(PeerId peer);

    void lost(PeerId peer, TimePoint now) { rest(peer, now); }

    [[nodiscard]] bool knows(PeerId peer) const { return lenders_.contains(peer); }

    /// Whether the peer is listed for this expert.
    [[nodiscard]] bool lends(PeerId peer, const LayerExpert& which) const;

    /// Whether a linked lender has the expert.
    [[nodiscard]] bool has_linked(const LayerExpert& which) const;

    /// Whether a linked lender has `which`, but not `without`.
    [[nodiscard]] bool has_another(const LayerExpert& which, const LayerExpert& without) const;

    struct Choice {
        std::optional<PeerId> lender;
        bool all_busy = false;  // some would do, but have all requests that they may have
    };

    [[nodiscard]] Choice choose(const LayerExpert& which, std::uint32_t rows, TimePoint now) const;

    /// Notes a request, and returns how long its answer may take.
    swarm::Duration sent(PeerId peer, std::uint32_t rows);
    /// Notes the end of a request: it was answered, or it failed and the lender rests.
    void answered(PeerId peer, std::uint32_t rows, swarm::Duration took);
    void failed(PeerId peer, std::uint32_t rows, TimePoint now);
    /// Lets the lender rest as long as any: it refuses what it is listed for.
    void refused(PeerId peer, std::uint32_t rows, TimePoint now);
    /// Notes the end of a request that nobody waits for any more.
    void forget(PeerId peer, std::uint32_t rows);

    /// The end of the next rest.
    [[nodiscard]] TimePoint next_deadline(TimePoint now) const;

    /// Dials lenders whose rest is over.
    void dial(node::Turn turn);

 private:
    /// The slowest of the last kKept values, which is about their 98th percentile.
    class Slowest {
     public:
        void add(double seconds) { values_[count_++ % kKept] = seconds; }

        /// 0 before the first value.
        [[nodiscard]] double value() const;

     private:
        static constexpr std::size_t kKept = 64;

        std::array<double, kKept> values_{};  // a ring
        std::size_t count_ = 0;
    };

    struct Lender {
        protocol::LayerRange hosted;
        ExpertSet experts;
        std::string address;
        bool listed = true;
        TimePoint rests_until{};
        swarm::Duration rest = kRestFirst;
        std::uint64_t rows = 0;    // under way
        std::size_t requests = 0;  // under way
        double rows_per_s = 0;     // 0: has not answered yet
        Slowest token_s;           // answers while at most kSessionBatchMax rows were under way
        Slowest row_s;             // other answers, per row that was under way
    };

    [[nodiscard]] bool is_wanted(const protocol::HostInfo& host) const;
    [[nodiscard]] swarm::Duration patience(const Lender& lender) const;
    void rest(PeerId peer, TimePoint now);
    void end(Lender& lender, std::uint32_t rows);

    Options options_;
    LinkBook& links_;
    std::map<PeerId, Lender> lenders_;
};

}  // namespace stacking::sessions
