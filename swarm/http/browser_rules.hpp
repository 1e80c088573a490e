// Rules for pages of other servers that ask here through the browser of a user. A browser sends
// Origin with every request that a page of another server causes, so CORS that is off is kept here,
// and not merely hidden from the page. A page can also give its own name this machine's address;
// then Host has that name.
// Threading: any. Cost: linear in the fields.
#pragma once

#include "swarm/http/refusal.hpp"
#include "swarm/http/request_reader.hpp"

#include <optional>
#include <string>

namespace swarm::http {

class BrowserRules {
 public:
    /// The names by which a request may call this server.
    enum class Names { Any, OfThisMachine };

    /// `allowed_origin`: "https://page.example", or "*" for all; empty: no page but our own.
    explicit BrowserRules(std::string allowed_origin) : allowed_(std::move(allowed_origin)) {}

    [[nodiscard]] std::optional<Refusal> judge(const RequestHead& head, Names names) const;

    /// Says whether it is a browser's question what a page may ask. It comes without a key.
    [[nodiscard]] bool is_preflight(const RequestHead& head) const;

    /// Returns the fields, with a line end behind each, with which the browser shows the page an
    /// answer; none for a page that is not allowed, or none at all.
    [[nodiscard]] std::string fields(const RequestHead& head) const;
    [[nodiscard]] std::string preflight_fields(const RequestHead& head) const;

 private:
    [[nodiscard]] bool allows(const std::string& origin) const;

    std::string allowed_;
};

}  // namespace swarm::http
