// Policy "expected_finish" (the default) picks the peer that is expected to finish the work first,
// by
//   (queued units + work units) / rate + bytes / bandwidth,
// over all open peers up to 32, else over four random ones. Queue, rate and bandwidth are what this
// sender saw itself; a peer that was never measured counts with the mean of the measured ones.
// Probe: within any max(50, 4 n) picks every open peer is picked at least once, at most one probe
// in flight each, but only while its expected time fits into Request.step_needs. For that test old
// news fades (the expected time halves every 30 s without news): a peer that once stalled would
// otherwise look too slow for ever.
// Threading: single strand. Cost: pick O(1); set_open, add, remove O(peers) moves of 8 bytes.
// Source: own; four choices as in Mitzenmacher, "The power of two choices" (1996).
#pragma once

#include "router/mean_rate.hpp"
#include "router/policy.hpp"

#include <map>
#include <vector>

namespace router {

class ExpectedFinish final : public Policy {
 public:
    static constexpr std::size_t kCompareAllMax = 32;
    static constexpr int kRandomChoices = 4;
    static constexpr Duration kNewsHalfLife = std::chrono::seconds(30);

    explicit ExpectedFinish(std::uint64_t seed);

    void add(SlotId slot, TimePoint now) override;
    void remove(SlotId slot) override;
    void set_open(SlotId slot, bool open, TimePoint now) override;
    std::optional<SlotId> pick(const Request& request, TimePoint now) override;
    void undo(SlotId slot, const Request& request, TimePoint now) override;
    void finished(SlotId slot, const Request& request, TimePoint now) override;
    void rate_changed(SlotId slot, double units_per_s, TimePoint now) override;
    void bandwidth_changed(SlotId slot, double bytes_per_s, TimePoint now) override;

 private:
    struct Peer {
        SlotId slot;
        std::uint64_t order = 0;
        double queued_units = 0;
        double units_per_s = 0;  // 0: never measured
        double bytes_per_s = 0;  // 0: never measured
        double s_per_unit = 0;
        double s_per_byte = 0;
        std::uint64_t picked_at = 0;  // value of picks_
        std::uint32_t in_flight = 0;
        bool open = true;
        bool tried = false;
        TimePoint news_at{};
    };

    [[nodiscard]] double seconds(const Peer& peer, const Request& request) const;
    [[nodiscard]] bool fits(const Peer& peer, const Request& request, TimePoint now) const;
    Peer* due_probe(const Request& request, TimePoint now);
    Peer* earliest(const Request& request);
    Peer* find(SlotId slot);
    static void insert_sorted(std::vector<Peer*>& peers, Peer& peer);
    void take_back(Peer& peer, const Request& request);
    void means_changed();

    std::map<SlotId, Peer> peers_;
    std::vector<Peer*> all_;   // in the sender's own order
    std::vector<Peer*> open_;  // in the same order
    MeanRate mean_rate_;
    MeanRate mean_bandwidth_;
    double mean_s_per_unit_ = 1;
    double mean_s_per_byte_ = 0;
    std::uint64_t seed_;
    swarm::Rng rng_;
    std::uint64_t picks_ = 0;
    std::size_t probe_cursor_ = 0;  // index into all_
};

}  // namespace router
