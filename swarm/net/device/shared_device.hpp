// A device that several peers of one process use. It runs one job at a time, in the order of
// asking: two jobs at once would each take longer, and the compute library would start threads for
// both. Threading: any. Errors: none.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace swarm::net {

class SharedDevice {
 public:
    /// The use of the device by one job: the constructor waits until the device is free, and the
    /// destructor frees it. A null device is always free.
    class Turn {
     public:
        explicit Turn(SharedDevice* device) : device_(device) {
            if (device_ != nullptr) {
                device_->begin();
            }
        }

        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

        ~Turn() {
            if (device_ != nullptr) {
                device_->end();
            }
        }

     private:
        SharedDevice* device_;
    };

 private:
    void begin() {
        std::unique_lock lock(mutex_);
        const std::uint64_t mine = asked_++;
        changed_.wait(lock, [&] { return ended_ == mine; });
    }

    void end() {
        {
            const std::lock_guard lock(mutex_);
            ++ended_;
        }
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t asked_ = 0;
    std::uint64_t ended_ = 0;
};

}  // namespace swarm::net
