#include "swarm/net/store_queue.hpp"

#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace swarm::net {
namespace {

class StoreQueueTest : public testing::Test {
 protected:
    std::vector<node::Event> run() {
        Result<std::vector<node::Event>> answers = run_batch(store_, queue_.take());
        EXPECT_TRUE(answers.has_value());
        return std::move(*answers);
    }

    test::TemporaryFolder folder_;
    FileStore store_ = *FileStore::open(folder_.path());
    StoreQueue queue_;
};

TEST_F(StoreQueueTest, IsUrgentOnceSomebodyWaitsForAnAnswer) {
    queue_.add(node::Append{{1}, "nobody waits", false});
    EXPECT_FALSE(queue_.urgent());
    queue_.add(node::Append{{2}, "somebody does", true});
    EXPECT_TRUE(queue_.urgent());
    EXPECT_EQ(queue_.take().size(), 2U);
    EXPECT_FALSE(queue_.urgent());
    EXPECT_TRUE(queue_.empty());
}

TEST_F(StoreQueueTest, AnswersDurableRequestsInOrder) {
    queue_.add(node::Append{{1}, "one", true});
    queue_.add(node::Append{{2}, "two", false});
    queue_.add(node::WriteFile{{3}, "file", {}});
    queue_.add(node::Load{});
    const std::vector<node::Event> answers = run();
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(std::get<node::Stored>(answers[0]).store, StoreId{1});
    EXPECT_EQ(std::get<node::Stored>(answers[1]).store, StoreId{3});
    const std::vector<std::string> expected{"one", "two"};
    EXPECT_EQ(std::get<node::Loaded>(answers[2]).records, expected);
}

TEST_F(StoreQueueTest, MakesALatePartWhenTheFileIsWritten) {
    const auto payload = [](char letter) {
        return node::Payload({}, std::vector(2, static_cast<std::byte>(letter)));
    };
    int made = 0;
    for (const std::uint64_t store : {1U, 2U}) {
        queue_.add(node::WriteFile{{store}, "file-" + std::to_string(store), {payload('a')}, [&] {
                                       return payload(static_cast<char>('b' + made++));
                                   }});
    }
    EXPECT_EQ(made, 0);
    EXPECT_EQ(run().size(), 2U);
    EXPECT_EQ(made, 2);
    for (const auto& [name, text] : {std::pair("file-1", "aabb"), {"file-2", "aacc"}}) {
        std::ifstream file(folder_.path() / name);
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
    }
}

TEST_F(StoreQueueTest, AnswersNobodyWhenTheDiskFails) {
    queue_.add(node::Append{{1}, "one", true});
    queue_.add(node::WriteFile{{2}, "../outside", {}});
    const auto failed = run_batch(store_, queue_.take());
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().code, ErrorCode::StorageFailed);
}

}  // namespace
}  // namespace swarm::net
