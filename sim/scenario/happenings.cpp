#include "sim/scenario/happenings.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace sim {

namespace {

using Kind = Happening::Kind;

/// Two happenings with the same key must not overlap: a link is the same from both its ends.
std::tuple<Kind, std::uint32_t, std::uint32_t> key_of(Kind kind, std::uint32_t a, std::uint32_t b) {
    const bool link = kind == Kind::CutLink || kind == Kind::MendLink;
    return link && b < a ? std::tuple(kind, b, a) : std::tuple(kind, a, b);
}

std::tuple<Kind, std::uint32_t, std::uint32_t> key_of(const Lasting& lasting) {
    return key_of(lasting.kind, lasting.peer, lasting.to);
}

Kind end_of(Kind kind) {
    switch (kind) {
        case Kind::Freeze:
            return Kind::Thaw;
        case Kind::SlowDown:
            return Kind::SpeedBack;
        case Kind::Block:
            return Kind::Unblock;
        default:
            return Kind::MendLink;
    }
}

bool comes_before(const Happening& a, const Happening& b) {
    return std::tuple(a.at, a.peer, a.kind, a.to) < std::tuple(b.at, b.peer, b.kind, b.to);
}

/// Walks all happenings in order, and says which are possible.
class Soundness {
 public:
    explicit Soundness(const std::vector<FleetPeer>& fleet) : up_(fleet.size() + 1) {
        for (const FleetPeer& peer : fleet) {
            up_[peer.number] = peer.there_at_start;
        }
    }

    bool accept(const Happening& next) {
        switch (next.kind) {
            case Kind::Join:
                return set_up(next.peer, true);
            case Kind::Leave:  // a frozen process leaves when it thaws
                return set_up(next.peer, false);
            case Kind::Crash:
                return set_up(next.peer, false) && end_freeze(next.peer);
            case Kind::Freeze:
            case Kind::SlowDown:
                return up_[next.peer] && begin(next);
            case Kind::Block:
            case Kind::CutLink:
                return up_[next.peer] && up_[next.to] && begin(next);
            case Kind::Thaw:
                return end(Kind::Freeze, next);
            case Kind::SpeedBack:
                return end(Kind::SlowDown, next);
            case Kind::Unblock:
                return end(Kind::Block, next);
            case Kind::MendLink:
                return end(Kind::CutLink, next);
        }
        return false;
    }

 private:
    bool set_up(std::uint32_t peer, bool up) {
        if (up_[peer] == up) {
            return false;
        }
        up_[peer] = up;
        return !up || end_freeze(peer);
    }

    bool end_freeze(std::uint32_t peer) {
        active_.erase({Kind::Freeze, peer, 0});
        return true;
    }

    bool begin(const Happening& next) {
        return active_.insert(key_of(next.kind, next.peer, next.to)).second;
    }

    bool end(Kind beginning, const Happening& next) {
        return active_.erase(key_of(beginning, next.peer, next.to)) == 1;
    }

    std::vector<bool> up_;
    std::set<std::tuple<Kind, std::uint32_t, std::uint32_t>> active_;
};

}  // namespace

std::vector<Happening> Happenings::settled_presence(
    const std::vector<FleetPeer>& fleet, TimePoint end, AfterFaults next_part
) {
    std::sort(presence_.begin(), presence_.end(), comes_before);
    std::vector<bool> up(fleet.size() + 1);
    std::vector<bool> known(fleet.size() + 1);  // the peer has been there before
    for (const FleetPeer& peer : fleet) {
        up[peer.number] = known[peer.number] = peer.there_at_start;
    }
    std::vector<Happening> settled;
    for (Happening& next : presence_) {
        const bool joins = next.kind == Kind::Join;
        if (next.at >= end) {
            if (next_part != AfterFaults::Calm || !joins || up[next.peer] || !known[next.peer]) {
                continue;
            }
            next.at = end;
        }
        up[next.peer] = joins;
        known[next.peer] = known[next.peer] || joins;
        settled.push_back(next);
    }
    return settled;
}

void Happenings::append_settled_lasting(std::vector<Happening>& to, TimePoint end) {
    const auto by_key = [](const Lasting& a, const Lasting& b) {
        return std::tuple(key_of(a), a.begin, a.end) < std::tuple(key_of(b), b.begin, b.end);
    };
    std::stable_sort(lasting_.begin(), lasting_.end(), by_key);
    for (std::size_t i = 0; i < lasting_.size();) {
        Lasting whole = lasting_[i];
        for (++i; i < lasting_.size() && key_of(lasting_[i]) == key_of(whole) &&
                  lasting_[i].begin <= whole.end;
             ++i) {
            whole.end = std::max(whole.end, lasting_[i].end);
        }
        whole.end = std::min(whole.end, end);
        if (whole.begin < whole.end) {
            to.push_back({whole.begin, whole.peer, whole.kind, whole.to, whole.factor});
            to.push_back({whole.end, whole.peer, end_of(whole.kind), whole.to});
        }
    }
}

std::vector<Happening> Happenings::settle(
    const std::vector<FleetPeer>& fleet, TimePoint end, AfterFaults next_part
) {
    std::vector<Happening> all = settled_presence(fleet, end, next_part);
    append_settled_lasting(all, end);
    std::sort(all.begin(), all.end(), comes_before);
    Soundness soundness(fleet);
    std::erase_if(all, [&](const Happening& next) { return !soundness.accept(next); });
    return all;
}

}  // namespace sim
