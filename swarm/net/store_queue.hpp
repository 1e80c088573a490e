// The requests of a role to its disk that are not carried out yet. They are taken in batches, so
// that all durable records of a batch share one fsync.
// Order (clause C7 of role.hpp): answers come in the order of the requests, after the sync of the
// whole batch. The log is synced before a file is written, so that no file outlives an older
// record. Threading: run_batch() runs on the file thread, with a batch of its own; all else on the
// loop's.
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

    /// Takes all requests that wait.
    Batch take() {
        urgent_ = false;
        return std::exchange(waiting_, {});
    }

    [[nodiscard]] bool empty() const { return waiting_.empty(); }

    /// Tells whether a waiting request has an answer, which the role may wait for.
    [[nodiscard]] bool urgent() const { return urgent_; }

 private:
    Batch waiting_;
    bool urgent_ = false;
};

/// Carries out the requests and returns the events to deliver. An error means that the disk has
/// failed: then none of the batch's requests is answered.
Result<std::vector<node::Event>> run_batch(FileStore& store, const StoreQueue::Batch& batch);

}  // namespace swarm::net
