#include "stacking/sessions/row_lines.hpp"

namespace stacking::sessions {

using swarm::PeerId;
using swarm::TimePoint;
using swarm::protocol::SessionRows;
using swarm::protocol::SessionTaken;

void RowLines::sent(PeerId to, const SessionRows& rows, std::uint64_t bytes, TimePoint now) {
    if (!measures(rows)) {
        return;  // the receiver does not answer it
    }
    Line& line = lines_[to];
    if (line.under_way.size() < kUnderWayMax) {
        line.under_way.push_back({{rows.id, rows.position}, bytes, line.meter.sent(now)});
    }
}

void RowLines::taken(PeerId by, const SessionTaken& taken, TimePoint now) {
    const auto at = lines_.find(by);
    if (at == lines_.end() || at->second.under_way.empty()) {
        return;
    }
    Line& line = at->second;
    if (line.under_way.front().answer != taken) {
        line.under_way.clear();
        line.meter.forget_what_is_under_way();
        return;
    }
    const Frame frame = line.under_way.front();
    line.under_way.pop_front();
    line.meter.arrived(frame.bytes, frame.sent_in, now);
}

double RowLines::bytes_per_s(PeerId to, TimePoint now) {
    const auto at = lines_.find(to);
    return at == lines_.end() ? 0 : at->second.meter.bytes_per_s(now);
}

}  // namespace stacking::sessions
