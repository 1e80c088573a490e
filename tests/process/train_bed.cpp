#include "tests/process/train_bed.hpp"

namespace swarm::test {

std::string weights_of(const Program& program) {
    const std::string out = program.out();
    const std::size_t at = out.rfind("sha256 ");
    return at == std::string::npos ? "" : out.substr(at, out.find('\n', at) - at);
}

std::vector<std::string> TrainBed::train(std::vector<std::string> more) const {
    const std::vector<std::string> first{
        "train", "--listen", address, "--dir", directory.string(), "--log-every", "0s"};
    more.insert(more.begin(), first.begin(), first.end());
    return more;
}

std::string TrainBed::single_weights(const std::string& stages, const std::string& steps) {
    Program single(
        {"train",
         "--single",
         "--model",
         "oracle",
         "--stages",
         stages,
         "--steps",
         steps,
         "--dir",
         (folder.path() / "single").string()},
        folder.path()
    );
    EXPECT_EQ(single.wait(std::chrono::seconds(60)), 0) << single.err();
    return weights_of(single);
}

void TrainBed::start_peers(int count, const std::string& service_ms) {
    for (int i = 0; i < count; ++i) {
        peers.push_back(std::make_unique<Program>(
            std::vector<std::string>{
                "serve", "--join", address, "--listen", "127.0.0.1:0", "--service-ms", service_ms},
            folder.path()
        ));
    }
}

}  // namespace swarm::test
