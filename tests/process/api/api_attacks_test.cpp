// Strangers send an API requests that are malformed, too large, cut off or slow, while an honest
// user reads streams; attacks.py has the strangers. An API with TLS and one without are attacked at
// the same time, because most of the time goes by until deadlines.
#include "tests/process/api/api_attacks_bed.hpp"

#include <sstream>
#include <thread>

namespace swarm::test {
namespace {

TEST_F(ApiAttacksTest, EachBadRequestGetsItsErrorAndStreamsGoOn) {
    const std::unique_ptr<Program> plain = start_api({});
    const std::unique_ptr<Program> secret = start_api({"--tls"});
    std::ostringstream of_secret;
    std::thread other([&] { run("attacks.py", *secret, "", of_secret); });
    run("attacks.py", *plain, "", std::cout);
    other.join();
    std::cout << of_secret.str();
}

}  // namespace
}  // namespace swarm::test
