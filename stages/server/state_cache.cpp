#include "stages/server/state_cache.hpp"

#include <utility>
#include <vector>

namespace stages {
namespace {

std::vector<node::Payload> chunks_of(const StageState& state) {
    std::vector<node::Payload> chunks;
    for (std::uint32_t i = 0; i < state.chunk_count(); ++i) {
        chunks.push_back(state.chunk(i));
    }
    return chunks;
}

}  // namespace

bool StateCache::is_new() const {
    if (!context_.version || *context_.version == ParameterVersion{}) {
        return false;
    }
    // Between two exchanges the buffer of mode sparse does not change.
    const bool changed = swarm::run::is_shared_version(context_.config, context_.version->step);
    return changed && newest_ != std::pair(context_.stage(), *context_.version);
}

void StateCache::look(const std::string& run_file, node::Turn turn) {
    due_ = swarm::kNever;
    if (mode_ == Mode::Off || busy_ || !is_new()) {
        return;
    }
    if (turn.now < not_before_) {
        due_ = not_before_;
        return;
    }
    write(run_file, turn);
}

void StateCache::write(const std::string& run_file, node::Turn turn) {
    busy_ = true;
    began_ = turn.now;
    newest_ = {context_.stage(), *context_.version};
    using Parts = std::vector<node::Payload>;
    context_.device.submit_for<Parts>(
        turn,
        0,
        [worker = context_.worker,
         replica = context_.replica,
         head =
             CachedState{context_.coordinator, *context_.version, context_.stage(), run_file, {}}](
            Parts& parts
        ) {
            CachedState state = head;
            state.chunks = replica ? to_chunks(replica->error()) : chunks_of(worker->state());
            parts = to_file(state);
        },
        [this,
         name = context_.replica ? kUnsentFileName : kFileName](Parts& parts, node::Turn later) {
            later.out.add(node::WriteFile{swarm::StoreId{++stores_}, name, std::move(parts)});
        }
    );
}

void StateCache::on(const node::Stored& stored, const std::string& run_file, node::Turn turn) {
    if (stored.store == swarm::StoreId{stores_}) {
        busy_ = false;
        not_before_ = turn.now + kPauseFactor * (turn.now - began_);
        look(run_file, turn);
    }
}

}  // namespace stages
