// What a role asked of its disk and has not got yet: batched, so that all durable records of a
// batch share one fsync.
// Order (C7): answers come in the order of the requests, after the sync of the whole batch. The log
// is synced before a file is written, so that no file outlives an older record.
// Threading: run_batch() on the file thread, with a batch of its own; the rest on the loop's.
#pragma once

#include "swarm/net/file_store.hpp"
#include "swarm/node/action.hpp"
#include "swarm/node/event.hpp"

#include <utility>
#include <variant>
#include <vector>

namespace swarm::net {

class StoreQueue {
 public:
    using Request = std::variant<node::Append, node::WriteFile, node::Load>;
    using Batch = std::vector<Request>;

    void add(node::Append append) {
        urgent_ = urgent_ || append.durable;
        waiting_.emplace_back(std::move(append));
    }

    void add(node::WriteFile file) {
        urgent_ = true;
        waiting_.emplace_back(std::move(file));
    }

    void add(node::Load load) {
        urgent_ = true;
        waiting_.emplace_back(load);
    }

    /// Everything that waits.
    Batch take() {
        urgent_ = false;
        return std::exchange(waiting_, {});
    }

    [[nodiscard]] bool empty() const { return waiting_.empty(); }

    /// Whether somebody waits for an answer.
    [[nodiscard]] bool urgent() const { return urgent_; }

 private:
    Batch waiting_;
    bool urgent_ = false;
};

/// The events to deliver; an error means that the disk failed and nobody may hear of it.
Result<std::vector<node::Event>> run_batch(FileStore& store, const StoreQueue::Batch& batch);

}  // namespace swarm::net
