#include "stacking/sharing/file_donor.hpp"

#include "swarm/base/check.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>

namespace stacking::sharing {
namespace {

void send(PeerId peer, protocol::Body body, node::Turn turn, node::Payload payload = {}) {
    turn.out.add(node::Send{peer, {0, 0, std::move(body)}, std::move(payload)});
}

std::uint32_t chunks_of(std::uint32_t bytes) {
    return static_cast<std::uint32_t>((bytes + protocol::kChunkBytes - 1) / protocol::kChunkBytes);
}

}  // namespace

class FileDonor::DonorJob final : public node::Job {
 public:
    explicit DonorJob(std::function<void()> work) : work_(std::move(work)) {}

    void run() override {
        work_();
        work_ = {};  // frees what the work captured
    }

    [[nodiscard]] double work_units() const override { return 0; }

 private:
    std::function<void()> work_;
};

void FileDonor::take(PeerId from, const protocol::FilesAsk& ask, node::Turn turn) {
    if (ask.model != model_ || gives_nothing_) {
        send(from, protocol::FilesTold{ask.model, {}, 0}, turn);
    } else if (name_) {
        tell(from, turn);
    } else if (askers_.size() < kAskersMax) {
        askers_.insert(from);
    }
}

void FileDonor::take(PeerId from, const protocol::FileFetch& fetch, node::Turn turn) {
    const Request request{from, fetch.of_manifest, fetch.chunk};
    if (!name_ || fetch.manifest != name_->digest || !exists(request)) {
        send(
            from, protocol::FileRefused{fetch.manifest, fetch.of_manifest, fetch.chunk, false}, turn
        );
    } else if (waiting_.size() >= kWaitingMax || waiting_of(from) >= protocol::kOpenFetchesMax) {
        refuse(request, true, turn);
    } else {
        waiting_.push_back(request);
    }
}

void FileDonor::lost(PeerId peer) {
    askers_.erase(peer);
    std::erase_if(waiting_, [&](const Request& request) { return request.peer == peer; });
}

void FileDonor::tell(PeerId peer, node::Turn turn) const {
    send(peer, protocol::FilesTold{model_, name_->digest, name_->bytes}, turn);
}

void FileDonor::refuse(const Request& request, bool busy, node::Turn turn) const {
    send(
        request.peer,
        protocol::FileRefused{name_->digest, request.of_manifest, request.chunk, busy},
        turn
    );
}

bool FileDonor::exists(const Request& request) const {
    return request.chunk < (request.of_manifest ? chunks_of(name_->bytes) : name_->chunks);
}

std::uint32_t FileDonor::waiting_of(PeerId peer) const {
    const auto is_of = [&](const Request& request) { return request.peer == peer; };
    return static_cast<std::uint32_t>(std::ranges::count_if(waiting_, is_of)) +
           (reading_ && is_of(*reading_) ? 1 : 0);
}

bool FileDonor::serves(PeerId peer) const {
    return askers_.contains(peer) || waiting_of(peer) > 0;
}

void FileDonor::advance(bool beside_sessions, node::Turn turn) {
    if (not_before_ <= turn.now || !beside_sessions) {
        not_before_ = swarm::kAtOnce;
    }
    if (work_ != Work::None) {
        return;
    }
    if (!name_ && !askers_.empty()) {
        submit(Work::Prepare, turn);
    } else if (!waiting_.empty() && not_before_ == swarm::kAtOnce) {
        reading_ = waiting_.front();
        waiting_.pop_front();
        not_before_ = beside_sessions ? turn.now + kPauseBesideSessions : swarm::kAtOnce;
        submit(Work::Read, turn);
    }
}

void FileDonor::submit(Work work, node::Turn turn) {
    work_ = work;
    outcome_ = std::make_shared<Outcome>();
    std::function<void()> run;
    if (work == Work::Prepare) {
        run = [outcome = outcome_, prepare = shelf_.prepare] { outcome->prepared = prepare(); };
    } else {
        run = [outcome = outcome_, read = shelf_.read, request = *reading_] {
            outcome->read = read(request.of_manifest, request.chunk);
        };
    }
    const swarm::JobId id{next_job_++};
    turn.out.add(node::Compute{id, std::make_shared<DonorJob>(std::move(run)), true});
}

void FileDonor::computed(swarm::JobId job, node::Turn turn) {
    SWARM_ASSERT(work_ != Work::None && job.value + 1 == next_job_);
    const std::shared_ptr<Outcome> outcome = std::move(outcome_);
    const std::optional<Request> request = std::exchange(reading_, std::nullopt);
    if (std::exchange(work_, Work::None) == Work::Prepare) {
        const auto& prepared = *outcome->prepared;
        gives_nothing_ = prepared.has_error();
        if (gives_nothing_) {
            turn.out.log(
                node::LogLine::Level::Info,
                "this peer gives no files of its model: " + prepared.error().detail
            );
            for (const PeerId& peer : askers_) {
                send(peer, protocol::FilesTold{model_, {}, 0}, turn);
            }
            askers_.clear();
        } else if (*prepared) {
            name_ = **prepared;
            for (const PeerId& peer : std::exchange(askers_, {})) {
                tell(peer, turn);
            }
        }
    } else if (outcome->read->has_error()) {
        refuse(*request, false, turn);
    } else {
        std::vector<std::byte>& bytes = **outcome->read;
        const auto size = static_cast<std::uint32_t>(bytes.size());
        node::Payload payload(
            {protocol::Dtype::Bytes, protocol::CodecId::None, {size}}, std::move(bytes)
        );
        const protocol::FileChunk chunk{name_->digest, request->of_manifest, request->chunk};
        send(request->peer, chunk, turn, std::move(payload));
    }
}

TimePoint FileDonor::next_deadline() const {
    return waiting_.empty() || not_before_ == swarm::kAtOnce ? swarm::kNever : not_before_;
}

}  // namespace stacking::sharing
