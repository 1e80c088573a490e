// Bounds on the cost of a client. Each default has its reason beside it; tests choose smaller ones.
// Units: bytes, and times of a steady clock.
#pragma once

#include "swarm/base/units.hpp"

#include <chrono>
#include <cstddef>

namespace swarm::http {

struct Limits {
    /// Request line and fields. Clients of this API send 1 KiB; cookies of other services on the
    /// same host name, which browsers add, have room, too.
    std::size_t head_bytes_max = 16U << 10;
    /// Fields of a head or of a chunked body's trailer. A browser sends about 20.
    std::size_t fields_max = 100;
    /// A prompt of a million tokens as text.
    std::size_t body_bytes_max = 4U << 20;
    /// Bodies of all connections that are still arriving. When there is more, those of the network
    /// and machine that send the most give way.
    std::size_t bodies_bytes_max = 64U << 20;
    /// Bytes of answers that a client has not taken when the next piece comes. A token's event has
    /// some 200 bytes, so this is minutes of text.
    std::size_t unread_bytes_max = 1U << 20;
    /// The same for all connections. The one with the most is closed when there are more.
    std::size_t unread_sum_max = 128U << 20;
    /// Half of the process's file descriptors bounds them, too.
    std::size_t connections_max = 1024;
    /// From a connection to TLS that is set up, and from the first byte of a head to its last one.
    Duration head_patience = std::chrono::seconds(10);
    /// Between an answer and the next request; common clients hang up earlier.
    Duration idle_patience = std::chrono::seconds(60);
    /// A body has this time, and one second more for each body_bytes_per_s_min that have come.
    Duration body_patience = std::chrono::seconds(10);
    std::size_t body_bytes_per_s_min = 16U << 10;
    /// Between two bytes of a body. A client that has sent most of it at once would else occupy
    /// memory for minutes and send nothing.
    Duration body_pause_max = std::chrono::seconds(10);
    /// A client that takes nothing of its answer for so long has left, or means harm.
    Duration stall_patience = std::chrono::seconds(30);
    /// After the last answer, for the client's last bytes. Closing before they are read would reset
    /// the connection, and the client might lose the answer.
    Duration farewell_patience = std::chrono::seconds(2);
    /// Bytes that are read for it. A client that sends somewhat too much gets its answer; one that
    /// sends a gigabyte costs no more time than this.
    std::size_t farewell_bytes_max = 16U << 20;
    /// From stop() to the end of the answers under way.
    Duration stop_patience = std::chrono::seconds(10);
};

}  // namespace swarm::http
