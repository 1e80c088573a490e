// Runs many roles on virtual time, with a network, disks, devices and faults: the second host of
// the seam (C1-C11 in role.hpp).
// Invariant: a run is a function of (roles, calls, seed); trace_hash() is its fingerprint (I12).
// Model: a blocked direction holds frames until it is unblocked, as TCP retransmits. A frozen peer
// keeps its links, hears nothing and computes nothing until it thaws. A crashed process loses all
// but its disk; its kernel still ends its links. A reset loses what is on the way. No time passes
// within an event. A Dial finds any peer of the world by its id, whatever the address; a Dial of
// PeerId{} finds peer(n) at the address "sim:<n>". A role's `now` and deadlines are in the time of
// its own clock; all else, what links and disks take included, is in the world's.
// Calls come between events, never from inside a turn or an observer.
// Threading: single strand. Cost: O(log pending events) per event.
#pragma once

#include "sim/fault_points.hpp"
#include "sim/process.hpp"
#include "sim/slab.hpp"
#include "sim/timed_queue.hpp"
#include "swarm/base/trace_hash.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace sim {

struct WorldOptions {
    std::uint64_t seed = 1;
    NetworkOptions network = {};
    Duration sync_max = std::chrono::milliseconds(10);
    Duration dial_timeout = std::chrono::seconds(3);
    /// Bytes that a frame of this sender weighs besides its own: a toy model's tensors may stand
    /// for large ones.
    std::function<std::uint64_t(PeerId, const node::Send&)> extra_bytes = {};
};

class World {
 public:
    using Options = WorldOptions;
    using MakeRole = sim::MakeRole;

    explicit World(const Options& options);

    /// Adds a peer and starts its process.
    void add_peer(PeerId peer, MakeRole make_role, const PeerOptions& options = {});

    /// Ends the process in order; a frozen process ends when it thaws.
    void stop(PeerId peer);
    /// Like stop(), but as the next event of its own: for a caller that looks on while the process
    /// acts.
    void stop_next(PeerId peer);
    void crash(PeerId peer);
    /// Crashes the process if it still runs, then starts a new incarnation on the same disk.
    void restart(PeerId peer);
    void freeze(PeerId peer);
    void thaw(PeerId peer);
    void ask(PeerId peer, node::Asked request);

    void block(PeerId from, PeerId to);
    void unblock(PeerId from, PeerId to);
    /// Resets the link: both sides get LinkDown now; a dial under way fails.
    void reset_link(PeerId one, PeerId other, Lane lane);
    /// Makes each frame sent reset its link in so many cases, drawn per sender.
    void set_frame_loss(std::uint64_t numerator, std::uint64_t denominator);

    /// From now on dials to the peer get no answer, as behind a router that forwards no port. It
    /// dials others as before.
    void hide_behind_router(PeerId peer) { process_of(peer).behind_router = true; }

    void set_rates(PeerId peer, std::uint64_t up_bytes_per_s, std::uint64_t down_bytes_per_s);

    void set_speed(PeerId peer, double units_per_s);
    void stall_jobs(PeerId peer, Duration extra, std::uint32_t jobs = 1);
    /// Makes each job take `extra` longer in so many cases, drawn per peer.
    void set_job_stalls(std::uint64_t numerator, std::uint64_t denominator, Duration extra);

    /// Replaces the point's rule. of_peer() makes a rule for one peer only.
    void set_fault(FaultPoint point, const FaultRule& rule) { fault_points_.set(point, rule); }

    /// Returns the same rule for this peer only.
    [[nodiscard]] FaultRule of_peer(PeerId peer, FaultRule rule) const {
        rule.only = process_of(peer).index;
        return rule;
    }

    [[nodiscard]] const FaultPoints& fault_points() const { return fault_points_; }

    /// Crashes, freezes, blocked ways, lost links and stalled jobs so far.
    [[nodiscard]] std::uint64_t faults() const { return faults_; }

    /// Ends the peer's process, from now on, at a record above 1 MiB.
    void fill_disk(PeerId peer) { process_of(peer).disk_is_full = true; }

    /// Carries out the next item; false when there never will be one.
    bool step();
    void run_for(Duration duration);

    /// Runs until `done` is true; false when it is still false after `limit`.
    template <class Done>
    bool run_until(Done&& done, Duration limit) {
        const TimePoint end = now_ + limit;
        while (!done()) {
            if (queue_.next_time() > end) {
                now_ = end;
                return done();
            }
            step();
        }
        return true;
    }

    [[nodiscard]] TimePoint now() const { return now_; }

    /// Number of items still to happen.
    [[nodiscard]] std::size_t pending() const { return queue_.size(); }

    /// Events delivered to roles so far.
    [[nodiscard]] std::uint64_t events() const { return events_; }

    [[nodiscard]] std::uint64_t trace_hash() const { return trace_.value(); }

    [[nodiscard]] bool is_running(PeerId peer) const { return process_of(peer).runner != nullptr; }

    [[nodiscard]] bool is_frozen(PeerId peer) const { return process_of(peer).frozen; }

    /// The peer's role; null while its process is down.
    [[nodiscard]] node::Role* role(PeerId peer) const { return process_of(peer).role; }

    [[nodiscard]] swarm::Incarnation incarnation(PeerId peer) const {
        return process_of(peer).incarnation;
    }

    [[nodiscard]] const Disk& disk(PeerId peer) const { return process_of(peer).disk; }

    /// Bytes of frames as swarm/node/frame_size.hpp counts them, over all lives of the peer.
    [[nodiscard]] std::uint64_t bytes_sent(PeerId peer) const {
        return process_of(peer).bytes_sent;
    }

    [[nodiscard]] std::uint64_t bytes_received(PeerId peer) const {
        return process_of(peer).bytes_received;
    }

    /// Time that the peer's device worked, over all lives; a job counts when it ends.
    [[nodiscard]] Duration busy(PeerId peer) const { return process_of(peer).device.worked(); }

    /// Work units of the jobs that ended.
    [[nodiscard]] double work_done(PeerId peer) const {
        return process_of(peer).device.units_done();
    }

    /// Observers, for checkers and tests; an event and a message are seen before they take effect.
    void on_event(std::function<void(PeerId, const node::Event&)> observer) {
        event_observer_ = std::move(observer);
    }

    void on_send(std::function<void(PeerId, const node::Send&)> observer) {
        send_observer_ = std::move(observer);
    }

    void on_report(std::function<void(PeerId, const node::Report&)> observer) {
        report_observer_ = std::move(observer);
    }

 private:
    /// A frame on its way. A large one enters the receiver's line while it leaves the sender's.
    /// Then its beginning travels ahead as an item of its own, and the frame is there when both its
    /// end has come and the receiver's line has carried it.
    struct Frame {
        LinkId link;
        Side to{};
        std::uint8_t holders = 1;  // lines and items that know its index
        bool begins_early = false;
        bool is_cut = false;  // its end will never come
        bool end_is_here = false;
        bool is_carried = false;  // by the receiver's line, before its end came
        Duration latency{};       // its way, where it begins early
        std::uint64_t bytes = 0;
        node::Event event = node::Woke{};  // Received, or LinkDown: the end of the link
    };

    using FrameIndex = Slab<Frame>::Index;

    // world.cpp: time, processes, faults
    void carry_out(Process& target, const Item& item);
    [[nodiscard]] bool is_held(const Process& target, const Item& item);
    void release_held(Process& target);
    void start(Process& process);
    void crash(Process& process);
    [[nodiscard]] bool crashes_here(FaultPoint point, Process& process);
    void end_process(Process& process);
    void stop_now(Process& process);
    void wake(Process& target, TimePoint armed_for);
    void arm(Process& process);
    void deliver(Process& process, node::Event&& event);
    void trace(const Process& process, const node::Event& event);
    [[nodiscard]] Process& process_of(PeerId peer) const;
    [[nodiscard]] const PeerIndex* find_peer(const PeerId& peer) const;

    // world_host.cpp: requests of roles to their own machine
    void perform(Process& actor, node::Compute& compute);
    void perform(Process& actor, node::Append& append);
    void perform(Process& actor, node::WriteFile& file);
    void perform(Process& actor, node::Load& load);
    void perform(Process& actor, node::Tell& tell);
    void answer_when_synced(Process& actor, Disk::Ticket ticket, swarm::StoreId store);
    void disk_is_due(Process& target);
    void start_job(Process& process);
    void job_is_due(Process& target);

    // world_links.cpp: how links come up and end
    void perform(Process& actor, node::Dial& dial);
    void perform(Process& actor, node::Close& close);
    void dial_arrives(Process& target, LinkId id);
    void dial_accepted(Process& target, LinkId id);
    void dial_failed(Process& target, LinkId id);
    void fail_dial(Process& target, PeerId dialed, Lane lane);
    [[nodiscard]] const PeerIndex* find_dialed(const node::Dial& dial) const;

    [[nodiscard]] PeerId dialed_as(PeerIndex remote, bool anybody) const {
        return anybody ? PeerId{} : processes_[remote]->self;
    }

    void bring_up(Process& process, LinkId id, Side side);
    [[nodiscard]] bool crosses_a_better_one(const Process& process, const Link& link, Side side)
        const;
    void tell_of_loss(Process& process, LinkKey key);
    void end_link(Process& process, LinkKey key);
    void hang_up(LinkId id, Side from);
    void reset(LinkId id);

    // world_frames.cpp: how frames travel
    void perform(Process& actor, node::Send& send);
    FrameIndex new_frame(LinkId id, Side to, std::uint64_t bytes);
    void transmit(Process& from, Link& link, FrameIndex frame);
    void send_beginning(FrameIndex index);
    void leave(FrameIndex index, TimePoint left_at);
    void frame_begins(Process& target, FrameIndex index);
    void frame_arrives(Process& target, FrameIndex index);
    void frame_is_carried(Process& target, FrameIndex index);
    void frame_is_here(Process& target, FrameIndex index);
    void pipe_is_due(Process& owner, const Item& item);
    void arm(Process& owner, Pipe& pipe);
    void cut_frame(FrameIndex index);
    void drop_frame(FrameIndex index);
    void drop_lost_frames(Process& process);

    Options options_;
    Network network_;
    TimePoint now_{};
    std::uint64_t events_ = 0;
    swarm::TraceHash trace_;
    std::vector<std::unique_ptr<Process>> processes_;
    boost::unordered_flat_map<PeerId, PeerIndex, PeerHash> places_;  // looked up, never walked
    TimedQueue<Item> queue_;
    Slab<Frame> frames_;
    FaultPoints fault_points_;
    std::uint64_t faults_ = 0;
    std::function<void(PeerId, const node::Event&)> event_observer_;
    std::function<void(PeerId, const node::Send&)> send_observer_;
    std::function<void(PeerId, const node::Report&)> report_observer_;
};

}  // namespace sim
