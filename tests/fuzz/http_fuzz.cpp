// Fuzzes requests of the web, head and body, from anybody. What is made of a stream of bytes must
// not depend on how it was cut, and a path that reaches a role keeps its rules.
// Input: [size of a piece u8][bytes].
#include "swarm/base/check.hpp"
#include "swarm/http/request_reader.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using swarm::http::Limits;
using swarm::http::RequestHead;
using swarm::http::RequestReader;
using Stage = RequestReader::Stage;

Limits small_limits() {
    Limits limits;
    limits.head_bytes_max = 512;
    limits.fields_max = 8;
    limits.body_bytes_max = 256;
    return limits;
}

void check(const RequestHead& head) {
    SWARM_ASSERT(head.path.starts_with('/'));
    SWARM_ASSERT(std::none_of(head.path.begin(), head.path.end(), [](unsigned char c) {
        return c < 0x20 || c == 0x7F;
    }));
    const std::string path = head.path + "/";
    SWARM_ASSERT(path.find("/../") == std::string::npos);
    SWARM_ASSERT(path.find("/./") == std::string::npos);
    SWARM_ASSERT(head.is_http_1_0 || !head.host.empty());
    for (const std::string* field : {&head.method, &head.query, &head.host, &head.origin}) {
        SWARM_ASSERT(field->find_first_of("\r\n") == std::string::npos);
    }
}

/// Returns the requests that the bytes hold, and the status of what ends them, if something does.
/// Like a connection, it keeps no more than a head's size of bytes that are not used.
std::vector<std::string> read_all(std::string_view bytes, std::size_t piece) {
    static const Limits limits = small_limits();
    RequestReader reader(limits);
    std::vector<std::string> seen;
    std::string input;
    while (!bytes.empty()) {
        const std::size_t room = limits.head_bytes_max - input.size();
        const std::size_t count = std::min({piece, room, bytes.size()});
        SWARM_ASSERT(count > 0);  // else a connection would wait for ever
        input += bytes.substr(0, count);
        bytes.remove_prefix(count);
        for (bool goes_on = true; goes_on;) {
            const Stage before = reader.stage();
            const std::size_t used = reader.read(input);
            SWARM_ASSERT(used <= input.size());
            input.erase(0, used);
            if (before == Stage::Head && reader.stage() != before &&
                reader.stage() != Stage::Refused) {
                check(reader.head());
            }
            goes_on = used > 0 || reader.stage() != before;
            if (reader.stage() == Stage::Whole) {
                SWARM_ASSERT(reader.body_bytes() <= limits.body_bytes_max);
                seen.push_back(reader.head().method + " " + reader.head().path);
                seen.push_back(reader.take_body());
                reader.next();
                goes_on = true;
            } else if (reader.stage() == Stage::Refused) {
                seen.push_back(std::to_string(reader.refusal().status));
                return seen;
            }
        }
    }
    return seen;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return -1;
    }
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    SWARM_ASSERT(read_all(bytes, data[0] + 1U) == read_all(bytes, bytes.size()));
    return 0;
}
