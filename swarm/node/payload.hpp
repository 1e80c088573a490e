// A payload is the tensor part of a message: immutable, shared, and opaque to every role.
// Its owner keeps the bytes alive. The owner is a vector, or a tensor of a library whose memory the
// payload aliases, so nothing is copied between compute buffer and socket.
// Cost: copying a Payload copies two pointers and a small envelope.
#pragma once

#include "swarm/protocol/tensor_envelope.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace swarm::node {

class Payload {
 public:
    Payload() = default;

    Payload(
        protocol::TensorEnvelope envelope,
        std::span<const std::byte> bytes,
        std::shared_ptr<const void> owner
    )
        : envelope_(std::move(envelope)), bytes_(bytes), owner_(std::move(owner)) {}

    Payload(protocol::TensorEnvelope envelope, std::vector<std::byte> bytes)
        : envelope_(std::move(envelope)) {
        auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
        bytes_ = *owner;
        owner_ = std::move(owner);
    }

    [[nodiscard]] bool empty() const { return owner_ == nullptr; }

    [[nodiscard]] const protocol::TensorEnvelope& envelope() const { return envelope_; }

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

    [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
    protocol::TensorEnvelope envelope_;
    std::span<const std::byte> bytes_;
    std::shared_ptr<const void> owner_;
};

}  // namespace swarm::node
