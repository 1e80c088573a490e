#include "swarm/http/answer_text.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace swarm::http {
namespace {

constexpr unsigned kUnauthorised = 401;

std::string_view reason_of(unsigned status) {
    constexpr std::array<std::pair<unsigned, std::string_view>, 26> kReasons{{
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    }};
    const auto* const found = std::find_if(kReasons.begin(), kReasons.end(), [&](const auto& row) {
        return row.first == status;
    });
    return found == kReasons.end() ? "" : found->second;
}

std::string field(std::string_view name, std::string_view value) {
    return std::string(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::string text_of(const AnswerHead& head, std::time_t now) {
    std::string text = "HTTP/1.1 " + std::to_string(head.status) + " ";
    text.append(reason_of(head.status)).append("\r\n");
    text += field("Date", date_of(now));
    if (head.framing != Framing::None) {
        text += field("Content-Type", head.content_type);
    }
    if (head.framing == Framing::Length) {
        text += field("Content-Length", std::to_string(head.length));
    } else if (head.framing == Framing::Chunks) {
        text += field("Transfer-Encoding", "chunked");
    }
    if (!head.keeps_alive) {
        text += field("Connection", "close");
    } else if (head.is_http_1_0) {
        text += field("Connection", "keep-alive");
    }
    if (head.status == kUnauthorised) {
        text += field("WWW-Authenticate", "Bearer");
    }
    if (head.retry_after) {
        text += field("Retry-After", std::to_string(head.retry_after->count()));
    }
    // Nothing here outlives a moment, and a proxy that collects bytes would hold a stream up.
    text += field("Cache-Control", "no-store");
    text += field("X-Accel-Buffering", "no");
    text += field("X-Content-Type-Options", "nosniff");
    return text.append(head.fields).append("\r\n");
}

std::string text_of(const Refusal& refusal, std::time_t now) {
    const std::string body = json_of(refusal);
    AnswerHead head;
    head.status = refusal.status;
    head.content_type = "application/json";
    head.length = body.size();
    head.keeps_alive = false;
    head.retry_after = refusal.retry_after;
    return text_of(head, now) + body;
}

std::string date_of(std::time_t time) {
    constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr std::array kMonths = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    constexpr int kFirstYear = 1900;
    std::tm parts{};
    SWARM_ASSERT(::gmtime_r(&time, &parts) != nullptr);
    std::array<char, 64> text{};
    const int size = std::snprintf(
        text.data(),
        text.size(),
        "%s, %02d %s %04d %02d:%02d:%02d GMT",
        kDays.at(static_cast<std::size_t>(parts.tm_wday)),
        parts.tm_mday,
        kMonths.at(static_cast<std::size_t>(parts.tm_mon)),
        parts.tm_year + kFirstYear,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec
    );
    return {text.data(), static_cast<std::size_t>(size)};
}

std::string chunk_of(std::string_view bytes) {
    SWARM_ASSERT(!bytes.empty());
    std::array<char, 24> size{};
    const int digits = std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
    std::string text(size.data(), static_cast<std::size_t>(digits));
    return text.append(bytes).append("\r\n");
}

}  // namespace swarm::http
