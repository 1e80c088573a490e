#include "swarm/net/tls.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace swarm::net {
namespace {

constexpr SessionSecret kSecret{std::byte{1}, std::byte{2}};

TEST(SwarmKey, IsProvenByItsHolder) {
    const auto proof = prove_swarm_key("secret", kSecret, Side::Client);
    EXPECT_EQ(proof.size(), 32U);
    EXPECT_TRUE(check_swarm_key("secret", kSecret, Side::Client, proof).has_value());
}

TEST(SwarmKey, ProofIsWorthNothingWithAnotherKeyConnectionOrDirection) {
    const auto proof = prove_swarm_key("secret", kSecret, Side::Client);
    EXPECT_FALSE(check_swarm_key("other", kSecret, Side::Client, proof).has_value());
    EXPECT_FALSE(check_swarm_key("secret", SessionSecret{}, Side::Client, proof).has_value());
    EXPECT_FALSE(check_swarm_key("secret", kSecret, Side::Server, proof).has_value());
}

TEST(SwarmKey, OpenRunsProveNothing) {
    EXPECT_TRUE(prove_swarm_key("", kSecret, Side::Client).empty());
    EXPECT_TRUE(check_swarm_key("", kSecret, Side::Server, {}).has_value());
}

TEST(SwarmKey, OpenAndPrivateRunsDoNotMix) {
    const auto proof = prove_swarm_key("secret", kSecret, Side::Client);
    EXPECT_FALSE(check_swarm_key("", kSecret, Side::Client, proof).has_value());
    EXPECT_FALSE(check_swarm_key("secret", kSecret, Side::Client, {}).has_value());
}

/// Does the handshake in memory; returns the names that the server has shown to the client.
Result<Credentials> shown_by(const TlsContext& server) {
    const Identity dialer = Identity::make_ephemeral();
    const TlsContext context(dialer);
    const SslPtr there = server.new_session(Side::Server);
    const SslPtr here = context.new_session(Side::Client);
    BIO* left = nullptr;
    BIO* right = nullptr;
    EXPECT_EQ(BIO_new_bio_pair(&left, 0, &right, 0), 1);
    SSL_set_bio(here.get(), left, left);
    SSL_set_bio(there.get(), right, right);
    for (int turn = 0; turn < 4; ++turn) {
        SSL_do_handshake(here.get());
        SSL_do_handshake(there.get());
    }
    EXPECT_TRUE(SSL_is_init_finished(here.get()) && SSL_is_init_finished(there.get()));
    return credentials_of_session(*here);
}

TEST(Voucher, NamesTheOwnerBesideThePeer) {
    const Identity owner = Identity::make_ephemeral();
    Identity run = Identity::make_ephemeral();
    const PeerId peer = run.peer();
    run.let_vouch(owner);
    EXPECT_EQ(run.peer(), peer) << "the run keeps its own name";
    const auto shown = shown_by(TlsContext(run));
    ASSERT_TRUE(shown.has_value());
    EXPECT_EQ(*shown, (Credentials{peer, owner.peer()}));
}

TEST(Voucher, WithoutOneAPeerIsItsOwnOwner) {
    const Identity alone = Identity::make_ephemeral();
    EXPECT_EQ(*shown_by(TlsContext(alone)), (Credentials{alone.peer(), alone.peer()}));
}

TEST(Voucher, ThatTheOwnerHasNotSignedNamesNobody) {
    const Identity owner = Identity::make_ephemeral();
    const Identity thief = Identity::make_ephemeral();
    const TlsContext context(thief);
    // Everybody who has met the owner has the owner's certificate, and can show it.
    ASSERT_EQ(SSL_CTX_add1_chain_cert(context.get(), owner.certificate()), 1);
    EXPECT_EQ(*shown_by(context), (Credentials{thief.peer(), thief.peer()}));
}

}  // namespace
}  // namespace swarm::net
