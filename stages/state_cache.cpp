#include "stages/state_cache.hpp"

#include <utility>
#include <vector>

namespace stages {

void StateCache::look(const std::string& run_file, node::Turn turn) {
    due_ = swarm::kNever;
    // A state of mode sparse is good for a new slot only, and there it begins its round anew.
    if (!enabled_ || context_.replica || busy_ || !context_.version ||
        *context_.version == ParameterVersion{} ||
        newest_ == std::pair(context_.stage(), *context_.version)) {
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
         head =
             CachedState{context_.coordinator, *context_.version, context_.stage(), run_file, {}}](
            Parts& parts
        ) {
            CachedState state = head;
            for (std::uint32_t i = 0; i < worker->state().chunk_count(); ++i) {
                state.chunks.push_back(worker->state().chunk(i));
            }
            parts = to_file(state);
        },
        [this](Parts& parts, node::Turn later) {
            later.out.add(node::WriteFile{swarm::StoreId{++stores_}, kFileName, std::move(parts)});
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
