// A simulated disk: a write counts once synced; a crash keeps a random prefix of the unsynced
// writes. A file is there whole or not at all. The content outlives the process.
#pragma once

#include "swarm/base/rng.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sim {

class Disk {
 public:
    /// Names a write: counts up from 1 over the life of the disk.
    using Ticket = std::uint64_t;
    using Files = std::map<std::string, std::vector<std::byte>>;

    Ticket append(std::string record) { return write({"", std::move(record), {}}); }

    Ticket write_file(std::string name, std::vector<std::byte> bytes) {
        return write({std::move(name), "", std::move(bytes)});
    }

    /// Makes this write and all before it durable: writes become durable in their order.
    void sync_through(Ticket ticket) {
        while (synced_ < ticket && !unsynced_.empty()) {
            sync_oldest();
        }
    }

    void sync_all() { sync_through(synced_ + unsynced_.size()); }

    void crash(swarm::Rng& rng) {
        sync_through(synced_ + rng.below(unsynced_.size() + 1));
        synced_ += unsynced_.size();
        unsynced_.clear();
    }

    /// The records that survive a crash for certain.
    [[nodiscard]] const std::vector<std::string>& records() const { return records_; }

    [[nodiscard]] const Files& files() const { return files_; }

    /// The records that the process reads: its own writes too, synced or not.
    [[nodiscard]] std::vector<std::string> all_records() const {
        std::vector<std::string> all = records_;
        for (const Write& waiting : unsynced_) {
            if (waiting.name.empty()) {
                all.push_back(waiting.record);
            }
        }
        return all;
    }

 private:
    struct Write {
        std::string name;  // empty: a record
        std::string record;
        std::vector<std::byte> bytes;
    };

    Ticket write(Write asked) {
        unsynced_.push_back(std::move(asked));
        return synced_ + unsynced_.size();
    }

    void sync_oldest() {
        Write& oldest = unsynced_.front();
        if (oldest.name.empty()) {
            records_.push_back(std::move(oldest.record));
        } else {
            files_[oldest.name] = std::move(oldest.bytes);
        }
        unsynced_.pop_front();
        ++synced_;
    }

    std::vector<std::string> records_;
    Files files_;
    std::deque<Write> unsynced_;
    Ticket synced_ = 0;
};

}  // namespace sim
