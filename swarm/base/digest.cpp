#include "swarm/base/digest.hpp"

#include "swarm/base/check.hpp"

#include <openssl/evp.h>

namespace swarm {

namespace {

/// Looking the algorithm up takes locks, and longer than hashing a small chunk: it is done once.
const EVP_MD* algorithm() {
    static EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    return found;
}

}  // namespace

struct Sha256::Context {
    Context() : evp(EVP_MD_CTX_new()) { start(); }

    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    ~Context() { EVP_MD_CTX_free(evp); }

    void start() const {
        SWARM_ASSERT(evp && algorithm() && EVP_DigestInit_ex(evp, algorithm(), nullptr) == 1);
    }

    EVP_MD_CTX* evp;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
    SWARM_ASSERT(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

void Sha256::add_text(const std::string& text) {
    add(std::as_bytes(std::span(text)));
}

Digest Sha256::finish() {
    Digest digest;
    auto* const out = reinterpret_cast<unsigned char*>(digest.bytes.data());
    SWARM_ASSERT(EVP_DigestFinal_ex(context_->evp, out, nullptr) == 1);
    context_->start();
    return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.finish();
}

std::string to_hex(const Digest& digest) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * digest.bytes.size());
    for (const std::byte byte : digest.bytes) {
        text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
        text += kDigits[std::to_integer<unsigned>(byte) & 15U];
    }
    return text;
}

}  // namespace swarm
