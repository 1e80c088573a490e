#include "sim/pipe.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

constexpr std::uint64_t kPartsPerByte = 1'000'000'000;  // so that rate x nanoseconds is in parts
constexpr std::uint64_t kRebaseAt = std::uint64_t{1} << 60;  // with the largest frame: < 2^64

}  // namespace

TimePoint Pipe::pass_control(std::uint64_t bytes, TimePoint now) {
    serve_until(now);
    control_free_at_ = std::max(control_free_at_, now) + time_for(bytes);
    served_until_ = control_free_at_;  // bulk stands still until this time
    return control_free_at_;
}

void Pipe::add_bulk(
    Flow name, std::uint32_t frame, std::uint64_t bytes, TimePoint now, std::uint32_t weight
) {
    SWARM_ASSERT(bytes <= kFrameBytesMax);
    serve_until(now);
    const auto found = find_active(name);
    if (found != end_of_active()) {
        found->frames.push_back({frame, bytes});
        return;
    }
    if (active_ == flows_.size()) {
        flows_.emplace_back();
    }
    Waiting& flow = flows_[active_++];
    flow.name = name;
    flow.weight = weight;
    weights_ += weight;
    flow.frames.push_back({frame, bytes});
    rest_ = 0;
    begin(flow, service_);
}

// Frames of equal size that came at one time are through at one time; one that came earlier is
// through earlier, so what is left counts in whole frames.
void Pipe::join_bulk(Flow name, std::uint64_t bytes, TimePoint now) {
    if (bytes == 0) {
        return;
    }
    serve_until(now);
    const auto flow = find_active(name);
    SWARM_ASSERT(flow != end_of_active() && flow->frames.size() == 1);
    flow->frames.front().bytes += bytes;
    SWARM_ASSERT(flow->frames.front().bytes <= kFrameBytesMax);
    const std::uint64_t missing =
        flow->done_at_service > service_ ? (flow->done_at_service - service_) * flow->weight : 0;
    const std::uint64_t one = bytes * kPartsPerByte;
    weights_ -= flow->weight;
    flow->weight = static_cast<std::uint32_t>(1 + (missing + one - 1) / one);
    weights_ += flow->weight;
    flow->done_at_service = service_ + (missing + one) / flow->weight;
    rest_ = 0;
}

TimePoint Pipe::bulk_done_at() const {
    if (active_ == 0) {
        return swarm::kNever;
    }
    const std::uint64_t done_at = flows_[next()].done_at_service;
    if (bytes_per_s_ == 0 || done_at <= service_) {
        return served_until_;
    }
    // Computes (missing x weights - rest) / rate, rounded up, in two parts, since the product may
    // overflow.
    const std::uint64_t missing = done_at - service_;
    constexpr auto kLongest_ns = static_cast<std::uint64_t>(kLongest.count());
    if (missing / bytes_per_s_ >= kLongest_ns / weights_) {
        return served_until_ + kLongest;
    }
    const std::uint64_t whole_ns = missing / bytes_per_s_ * weights_;
    const std::uint64_t left = missing % bytes_per_s_ * weights_;
    const std::uint64_t left_ns =
        left > rest_ ? (left - rest_ + bytes_per_s_ - 1) / bytes_per_s_ : 0;
    const std::uint64_t early_ns = left < rest_ ? (rest_ - left) / bytes_per_s_ : 0;
    return served_until_ + Duration(whole_ns + left_ns - early_ns);
}

std::uint32_t Pipe::take_bulk(TimePoint now) {
    serve_until(now);
    const std::size_t index = next();
    Waiting& flow = flows_[index];
    const std::uint64_t done_at = std::min(flow.done_at_service, service_);
    const std::uint32_t frame = flow.frames.front().frame;
    flow.frames.pop_front();
    if (!flow.frames.empty()) {
        begin(flow, done_at);  // service beyond the frame's end counts for the next frame
        return frame;
    }
    const std::uint64_t beyond = (service_ - done_at) * flow.weight;
    forget(index);
    if (active_ > 0) {
        service_ += beyond / weights_;  // the service that no flow needs there goes to the others
    }
    return frame;
}

Duration Pipe::time_for(std::uint64_t bytes) const {
    if (bytes_per_s_ == 0) {
        return {};
    }
    // Computed in two parts: bytes x 10^9 overflows above 18 GB.
    constexpr auto kLongest_s = static_cast<std::uint64_t>(kLongest / std::chrono::seconds(1));
    const std::uint64_t whole_s = std::min(bytes / bytes_per_s_, kLongest_s);
    const std::uint64_t rest = bytes % bytes_per_s_;
    return Duration(whole_s * kPartsPerByte + rest * kPartsPerByte / bytes_per_s_);
}

std::size_t Pipe::next() const {
    std::size_t first = 0;
    for (std::size_t i = 1; i < active_; ++i) {
        const Waiting& one = flows_[i];
        const Waiting& best = flows_[first];
        if (std::pair(one.done_at_service, one.order) <
            std::pair(best.done_at_service, best.order)) {
            first = i;
        }
    }
    return first;
}

std::vector<Pipe::Waiting>::iterator Pipe::find_active(Flow name) {
    return std::find_if(flows_.begin(), end_of_active(), [&](const Waiting& flow) {
        return flow.name == name;
    });
}

void Pipe::serve_until(TimePoint now) {
    if (now <= served_until_) {
        return;
    }
    if (active_ > 0) {
        const auto ns = static_cast<std::uint64_t>((now - served_until_).count());
        const std::uint64_t left = ns % weights_ * bytes_per_s_ + rest_;
        service_ += ns / weights_ * bytes_per_s_ + left / weights_;
        rest_ = left % weights_;
        if (service_ >= kRebaseAt) {
            rebase();
        }
    }
    served_until_ = now;
}

void Pipe::begin(Waiting& flow, std::uint64_t at) {
    flow.done_at_service = at + flow.frames.front().bytes * kPartsPerByte / flow.weight;
    flow.order = begun_++;
    begun_frames_.push_back(flow.frames.front().frame);
}

void Pipe::forget(std::size_t index) {
    --active_;
    weights_ -= flows_[index].weight;
    flows_[index].frames.clear();
    std::swap(flows_[index], flows_[active_]);
    rest_ = 0;
    if (active_ == 0) {
        service_ = 0;
    }
}

// Lowers all service counts alike: only their differences matter.
void Pipe::rebase() {
    for (std::size_t i = 0; i < active_; ++i) {
        flows_[i].done_at_service -= std::min(flows_[i].done_at_service, service_);
    }
    service_ = 0;
}

}  // namespace sim
