// A run of two stages on machines of strangers, with default flags: one family of addresses or two,
// no default route, one or two peers behind a router. Each start is decided within 10 s: the run
// trains, or says who cannot reach whom. Peers have new ids at each start, so that either may have
// the smaller one. SWARM_NETWORK_STARTS sets the number of starts; ./swarm.sh test --long makes 20.
#include "tests/process/networks/network_lab.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace swarm::test {
namespace {

constexpr std::chrono::seconds kDecidedWithin(10);

class NetworksTest : public testing::Test {
 protected:
    void SetUp() override {
        if (!NetworkLab::is_possible()) {
            GTEST_SKIP() << "this system lets nobody make network namespaces (issue 32)";
        }
        lab_.emplace();
    }

    static int starts() {
        const char* const text = std::getenv("SWARM_NETWORK_STARTS");
        return text ? std::atoi(text) : 1;
    }

    /// Starts a coordinator and its peers. An empty `join` is the line that the coordinator prints.
    void start(const Machine& owner, const std::vector<Machine*>& peers, std::string join = "") {
        peers_.clear();
        owner_.reset();
        folder_.emplace();
        owner_ = std::make_unique<Program>(
            std::vector<std::string>{
                "train",
                "--model",
                "oracle",
                "--stages",
                "2",
                "--steps",
                "2",
                "--dir",
                (folder_->path() / "run").string()},
            folder_->path(),
            "swarm",
            owner.network()
        );
        ASSERT_TRUE(owner_->wait_for_text("--join ", kDecidedWithin)) << owner_->err();
        if (join.empty()) {
            const std::string said = owner_->err();
            const std::size_t begin = said.find("--join ") + 7;
            join = said.substr(begin, said.find_first_of(" \n", begin) - begin);
        }
        for (const Machine* const machine : peers) {
            peers_.push_back(std::make_unique<Program>(
                std::vector<std::string>{"serve", "--join", join},
                folder_->path(),
                "swarm",
                machine->network()
            ));
        }
    }

    void expect_trained() {
        EXPECT_EQ(owner_->wait(kDecidedWithin), 0) << owner_->err() << said_by_peers();
    }

    [[nodiscard]] std::string said_by_peers() const {
        std::string said;
        for (const auto& peer : peers_) {
            said += "\n-- peer:\n" + peer->err();
        }
        return said;
    }

    std::optional<NetworkLab> lab_;
    std::optional<TemporaryFolder> folder_;
    std::unique_ptr<Program> owner_;
    std::vector<std::unique_ptr<Program>> peers_;
};

TEST_F(NetworksTest, TrainOnOneFamilyAndOnBoth) {
    for (const Families families : {Families::Ipv4, Families::Ipv6, Families::Both}) {
        const Machine& owner = lab_->add_public(families);
        Machine& one = lab_->add_public(families);
        Machine& two = lab_->add_public(families);
        for (int i = 0; i < starts(); ++i) {
            start(owner, {&one, &two});
            expect_trained();
        }
    }
}

TEST_F(NetworksTest, TrainWherePeersOfEitherFamilyMeetOneOfBoth) {
    const Machine& owner = lab_->add_public(Families::Both);
    Machine& both = lab_->add_public(Families::Both);
    Machine& ipv6 = lab_->add_public(Families::Ipv6);
    for (int i = 0; i < starts(); ++i) {
        start(owner, {&both, &ipv6}, "[fd99::2]:7117");
        expect_trained();
    }
}

TEST_F(NetworksTest, TrainWithoutADefaultRoute) {
    const Machine& owner = lab_->add_public(Families::Both, false);
    Machine& one = lab_->add_public(Families::Both, false);
    Machine& two = lab_->add_public(Families::Ipv4, false);
    for (int i = 0; i < starts(); ++i) {
        start(owner, {&one, &two});
        expect_trained();
    }
}

TEST_F(NetworksTest, TrainOnOneMachineByEachNameOfItself) {
    Machine& machine = lab_->add_public(Families::Both);
    for (const char* join : {"localhost:7117", "[::1]:7117", "127.0.0.1:7117"}) {
        for (int i = 0; i < starts(); ++i) {
            start(machine, {&machine, &machine}, join);
            expect_trained();
        }
    }
}

TEST_F(NetworksTest, TrainWithOnePeerBehindARouterWhicheverIdIsSmaller) {
    const Machine& owner = lab_->add_public(Families::Ipv4);
    Machine& reachable = lab_->add_public(Families::Ipv4);
    const auto home = lab_->add_home(1);
    for (int i = 0; i < starts() + 1; ++i) {
        start(owner, {home[0], &reachable});
        expect_trained();
    }
}

TEST_F(NetworksTest, TrainWithTwoPeersBehindOneRouter) {
    const Machine& owner = lab_->add_public(Families::Ipv4);
    const auto home = lab_->add_home(2);
    for (int i = 0; i < starts(); ++i) {
        start(owner, home);
        expect_trained();
    }
}

TEST_F(NetworksTest, TwoPeersBehindTwoRoutersAreToldWhomTheyCannotReach) {
    const Machine& owner = lab_->add_public(Families::Ipv4);
    const std::vector<Machine*> peers{lab_->add_home(1)[0], lab_->add_home(1)[0]};
    for (int i = 0; i < starts(); ++i) {
        start(owner, peers);
        for (const auto& peer : peers_) {
            EXPECT_TRUE(peer->wait_for_text("no link for 5 s; this peer dials", kDecidedWithin))
                << said_by_peers();
        }
        EXPECT_TRUE(owner_->wait_for_text("cannot reach each other, and there", kDecidedWithin))
            << owner_->err();
    }
}

TEST_F(NetworksTest, AThirdPeerLetsTwoBehindTwoRoutersTrain) {
    const Machine& owner = lab_->add_public(Families::Ipv4);
    Machine& reachable = lab_->add_public(Families::Ipv4);
    const std::vector<Machine*> peers{lab_->add_home(1)[0], lab_->add_home(1)[0], &reachable};
    for (int i = 0; i < starts(); ++i) {
        start(owner, peers);
        expect_trained();
    }
}

TEST_F(NetworksTest, TheDoctorSaysWhoCanBeReached) {
    const Machine& owner = lab_->add_public(Families::Ipv4);
    start(owner, {});
    const std::string said = owner_->err();
    const std::size_t begin = said.find("--join ") + 7;
    const std::string join = said.substr(begin, said.find_first_of(" \n", begin) - begin);
    const auto doctor = [&](const Machine& machine) {
        Program program({"doctor", "--join", join}, folder_->path(), "swarm", machine.network());
        EXPECT_EQ(program.wait(kDecidedWithin), 0) << program.out();
        return program.out();
    };
    const std::string open = doctor(lab_->add_public(Families::Ipv4));
    EXPECT_NE(open.find(" and reaches it at "), std::string::npos) << open;
    const std::string hidden = doctor(*lab_->add_home(1)[0]);
    EXPECT_NE(hidden.find(", the address of a router"), std::string::npos) << hidden;
    EXPECT_NE(hidden.find("forward TCP port "), std::string::npos) << hidden;
}

}  // namespace
}  // namespace swarm::test
