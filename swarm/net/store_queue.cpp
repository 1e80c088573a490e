#include "swarm/net/store_queue.hpp"

#include "swarm/base/try.hpp"

#include <span>
#include <string>

namespace swarm::net {
namespace {

class BatchRunner {
 public:
    explicit BatchRunner(FileStore& store) : store_(store) {}

    Result<> run(const node::Append& append) {
        if (append.durable) {
            answers_.emplace_back(node::Stored{append.store});
        }
        return store_.append(std::span(&append.record, 1));
    }

    Result<> run(const node::WriteFile& file) {
        SWARM_TRY(store_.sync());
        std::vector<std::span<const std::byte>> parts;
        parts.reserve(file.parts.size() + 1);
        for (const node::Payload& part : file.parts) {
            parts.push_back(part.bytes());
        }
        const node::Payload late = file.late_part ? file.late_part() : node::Payload();
        parts.push_back(late.bytes());
        answers_.emplace_back(node::Stored{file.store});
        return store_.write_file(file.name, parts);
    }

    Result<> run(const node::Load&) {
        SWARM_TRY(auto records, store_.load());
        answers_.emplace_back(node::Loaded{std::move(records)});
        return {};
    }

    std::vector<node::Event> take_answers() { return std::move(answers_); }

 private:
    FileStore& store_;
    std::vector<node::Event> answers_;
};

}  // namespace

Result<std::vector<node::Event>> run_batch(FileStore& store, const StoreQueue::Batch& batch) {
    BatchRunner runner(store);
    for (const StoreQueue::Request& request : batch) {
        SWARM_TRY(std::visit([&](const auto& asked) { return runner.run(asked); }, request));
    }
    SWARM_TRY(store.sync());
    return runner.take_answers();
}

}  // namespace swarm::net
