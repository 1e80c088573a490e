#include "swarm/http/request_reader.hpp"

#include "swarm/base/check.hpp"
#include "swarm/http/request_target.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

namespace swarm::http {
namespace {

namespace beast = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
/// Old clients send an empty line behind a body; RFC 9112 (2.2) asks to skip one at least.
constexpr std::size_t kBlankLinesMax = 2;
/// All that is still to come of a chunked body has its last chunk, "0" and two line ends. Boost
/// 1.81 asserts that it sees so much of it when it looks at that chunk again (basic_parser.ipp).
constexpr std::size_t kLastChunkBytes = 5;
constexpr int kHttp10 = 10;

std::string_view view(string_view text) {
    return {text.data(), text.size()};
}

bool equal_texts(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return std::tolower(static_cast<unsigned char>(x)) ==
               std::tolower(static_cast<unsigned char>(y));
    });
}

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Refusal bad_request(std::string message) {
    return {400, "bad_request", std::move(message)};
}

Refusal too_large() {
    return {413, "request_too_large", "the body is larger than this server takes"};
}

Refusal head_too_large() {
    return {431, "head_too_large", "the request line and the fields are larger than 16 KiB"};
}

Refusal refusal_of(const error_code& error) {
    using Kind = beast::error;
    if (error == Kind::header_limit) {
        return head_too_large();
    }
    if (error == Kind::bad_version) {
        return {505, "http_version", "this server speaks HTTP/1.1 and HTTP/1.0"};
    }
    if (error == Kind::bad_method || error == Kind::bad_target) {
        return bad_request("the request line is malformed");
    }
    if (error == Kind::bad_chunk || error == Kind::bad_chunk_extension) {
        return bad_request("the body is not chunked as its head says");
    }
    if (error == Kind::bad_content_length || error == Kind::multiple_content_length ||
        error == Kind::bad_transfer_encoding) {
        return bad_request("the fields contradict each other about the length of the body");
    }
    return bad_request("the request is malformed");
}

/// Says whether a byte may follow another one in a head. A line ends with CR LF and in no other
/// way, and begins with no white space: the old folding hides fields from whoever reads first.
std::optional<Refusal> judge_byte(char before, char byte) {
    if (byte == '\n' ? before != '\r' : before == '\r') {
        return bad_request("a line of the head does not end with CR LF");
    }
    if ((byte == ' ' || byte == '\t') && before == '\n') {
        return bad_request("a line of the head begins with white space");
    }
    const auto code = static_cast<unsigned char>(byte);
    const bool is_control = (code < 0x20 && byte != '\r' && byte != '\n' && byte != '\t');
    if (is_control || code == 0x7F) {
        return bad_request("the head has a control character");
    }
    return std::nullopt;
}

}  // namespace

/// Beast's parser, with the fields that matter taken out of it.
class RequestReader::Parser final : public beast::basic_parser<true> {
 public:
    Parser(const Limits& limits, std::string& body) : limits_(limits), body_(body) {
        header_limit(static_cast<std::uint32_t>(limits.head_bytes_max));
        body_limit(boost::none);  // Beast may count a chunk twice when its line comes in pieces
        eager(false);             // one step at a time, each with kLastChunkBytes at least
    }

    [[nodiscard]] const RequestHead& head() const { return head_; }

    [[nodiscard]] const std::optional<Refusal>& refusal() const { return refusal_; }

 private:
    void on_request_impl(
        beast::verb, string_view method, string_view target, int version, error_code& error
    ) override {
        head_.method = view(method);
        head_.is_http_1_0 = version == kHttp10;
        if (head_.method == "OPTIONS" && target == "*") {
            target = "/";
        }
        Result<Target> parsed = http::parse_target(view(target));
        if (!parsed) {
            return refuse(bad_request(parsed.error().detail), error);
        }
        head_.path = std::move(parsed->path);
        head_.query = std::move(parsed->query);
    }

    void on_response_impl(int, string_view, int, error_code&) override {}

    void on_field_impl(beast::field name, string_view, string_view value, error_code& error)
        override {
        if (++fields_ > limits_.fields_max) {
            return refuse({431, "too_many_fields", "the request has too many fields"}, error);
        }
        if (!is_whole_) {  // fields behind a chunked body say nothing
            take_field(name, view(value), error);
        }
    }

    void take_field(beast::field name, std::string_view value, error_code& error) {
        switch (name) {
            case beast::field::host:
                return take_once(name, head_.host, value, error);
            case beast::field::origin:
                return take_once(name, head_.origin, value, error);
            case beast::field::authorization:
                return take_once(name, head_.authorization, value, error);
            case beast::field::access_control_request_method:
                return take_once(name, head_.requested_method, value, error);
            case beast::field::access_control_request_headers:
                return take_once(name, head_.requested_headers, value, error);
            case beast::field::content_length:
                if (std::exchange(has_length_, true) || !is_number(value)) {
                    refuse(bad_request("Content-Length is no number, or there are two"), error);
                }
                return;
            case beast::field::transfer_encoding:
                has_coding_ = true;
                if (!equal_texts(value, "chunked")) {
                    refuse({501, "transfer_coding", "the one transfer coding is chunked"}, error);
                }
                return;
            case beast::field::content_encoding:
                if (!value.empty() && !equal_texts(value, "identity")) {
                    refuse(
                        {415, "content_coding", "send the body without a content coding"}, error
                    );
                }
                return;
            case beast::field::expect:
                head_.expects_continue = equal_texts(value, "100-continue");
                if (!head_.expects_continue) {
                    refuse({417, "expectation", "the one expectation is 100-continue"}, error);
                }
                return;
            default:
                return;
        }
    }

    void on_header_impl(error_code& error) override {
        is_whole_ = true;
        head_.keeps_alive = keep_alive();
        if (has_coding_ && (has_length_ || head_.is_http_1_0)) {
            return refuse(bad_request("the length of the body is said in two ways"), error);
        }
        if (head_.host.empty() && !head_.is_http_1_0) {
            return refuse(bad_request("the field Host is missing"), error);
        }
        if (content_length().value_or(0) > limits_.body_bytes_max) {
            return refuse(too_large(), error);
        }
        head_.expects_continue = head_.expects_continue && !head_.is_http_1_0;
    }

    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}

    std::size_t on_body_impl(string_view bytes, error_code&) override {
        body_.append(bytes.data(), bytes.size());
        return bytes.size();
    }

    void on_chunk_header_impl(std::uint64_t size, string_view, error_code& error) override {
        if (size > limits_.body_bytes_max - body_.size()) {
            refuse(too_large(), error);
        }
    }

    std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code&) override {
        body_.append(bytes.data(), bytes.size());
        return bytes.size();
    }

    void on_finish_impl(error_code&) override {}

    /// A field that comes twice means two things to two programs.
    void take_once(
        beast::field name, std::string& field, std::string_view value, error_code& error
    ) {
        if (!seen_.insert(name).second) {
            return refuse(bad_request("a field that may come once comes twice"), error);
        }
        field = value;
    }

    void refuse(Refusal refusal, error_code& error) {
        refusal_ = std::move(refusal);
        error = beast::error::bad_value;
    }

    const Limits& limits_;
    std::string& body_;
    RequestHead head_;
    std::optional<Refusal> refusal_;
    std::set<beast::field> seen_;
    std::size_t fields_ = 0;
    bool is_whole_ = false;
    bool has_length_ = false;
    bool has_coding_ = false;
};

RequestReader::RequestReader(const Limits& limits) : limits_(&limits) {}

RequestReader::~RequestReader() = default;

std::size_t RequestReader::read(std::string_view bytes) {
    switch (stage_) {
        case Stage::Head:
            return read_head(bytes);
        case Stage::Body:
            return bytes.empty() ? 0 : read_body(bytes);
        default:
            return 0;
    }
}

const RequestHead& RequestReader::head() const {
    SWARM_ASSERT(parser_);
    return parser_->head();
}

void RequestReader::next() {
    SWARM_ASSERT(stage_ == Stage::Whole);
    stage_ = Stage::Head;
    parser_.reset();
    body_.clear();
    body_.shrink_to_fit();
    scanned_ = 0;
    blank_lines_ = 0;
}

std::size_t RequestReader::read_head(std::string_view bytes) {
    std::size_t used = 0;
    while (bytes.starts_with(kLineEnd) && blank_lines_ < kBlankLinesMax) {
        ++blank_lines_;
        used += kLineEnd.size();
        bytes.remove_prefix(kLineEnd.size());
        scanned_ = 0;
    }
    const std::size_t end = std::min(bytes.size(), limits_->head_bytes_max);
    for (; scanned_ < end; ++scanned_) {
        const char before = scanned_ > 0 ? bytes[scanned_ - 1] : '\n';
        if (auto refusal = judge_byte(before, bytes[scanned_])) {
            refuse(std::move(*refusal));
            return used;
        }
        if (bytes.substr(0, scanned_ + 1).ends_with(kHeadEnd)) {
            return used + parse_head(bytes.substr(0, scanned_ + 1));
        }
    }
    if (end == limits_->head_bytes_max) {
        refuse(head_too_large());
    } else if (bytes.starts_with(kLineEnd)) {
        refuse(bad_request("there are empty lines before the request"));
    }
    return used;
}

std::size_t RequestReader::parse_head(std::string_view bytes) {
    auto parser = std::make_unique<Parser>(*limits_, body_);
    error_code error;
    const std::size_t used = parser->put(boost::asio::buffer(bytes), error);
    if (parser->refusal()) {
        refuse(*parser->refusal());
    } else if (error) {
        refuse(refusal_of(error));
    } else if (used != bytes.size() || !parser->is_header_done()) {
        refuse(bad_request("the request is malformed"));
    } else {
        stage_ = parser->is_done() ? Stage::Whole : Stage::Body;
        parser_ = std::move(parser);
    }
    return bytes.size();
}

std::size_t RequestReader::read_body(std::string_view bytes) {
    const std::size_t least = parser_->chunked() ? kLastChunkBytes : 1;
    std::size_t used = 0;
    while (stage_ == Stage::Body && bytes.size() - used >= least) {
        error_code error;
        used += parser_->put(boost::asio::buffer(bytes.substr(used)), error);
        if (error == beast::error::need_more) {
            break;
        }
        if (error) {
            refuse(parser_->refusal().value_or(refusal_of(error)));
        } else if (parser_->is_done()) {
            stage_ = Stage::Whole;
        }
    }
    if (stage_ == Stage::Body && used == 0 && bytes.size() >= limits_->head_bytes_max) {
        refuse(bad_request("a line between the chunks of the body is too long"));
    }
    return used;
}

void RequestReader::refuse(Refusal refusal) {
    refusal_ = std::move(refusal);
    stage_ = Stage::Refused;
}

}  // namespace swarm::http
