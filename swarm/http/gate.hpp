// Decides who may ask: by keys, by what browsers say of the page behind a request, and by name.
// Threading: single strand. Errors: a Refusal. Cost: linear in the keys.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/http/api_keys.hpp"
#include "swarm/http/browser_rules.hpp"
#include "swarm/http/refusal.hpp"
#include "swarm/http/request_reader.hpp"

#include <boost/system/result.hpp>

#include <string>
#include <vector>

namespace swarm::http {

class Gate {
 public:
    Gate(std::vector<ApiKey> keys, std::vector<std::string> open_paths, std::string allowed_origin)
        : keys_(std::move(keys)),
          open_paths_(std::move(open_paths)),
          browser_rules_(std::move(allowed_origin)) {}

    /// Where the server can be reached.
    enum class Reach { ThisMachine, Everybody };

    /// Returns the user of the request: the name of its key, or its address. Takes one request of
    /// the key's limit.
    boost::system::result<std::string, Refusal> judge(
        const RequestHead& head, Reach reach, const std::string& address, TimePoint now
    );

    [[nodiscard]] const BrowserRules& browser_rules() const { return browser_rules_; }

 private:
    [[nodiscard]] bool needs_no_key(const RequestHead& head) const;

    KeyRing keys_;
    std::vector<std::string> open_paths_;
    BrowserRules browser_rules_;
};

}  // namespace swarm::http
