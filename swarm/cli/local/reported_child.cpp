#include "swarm/cli/local/reported_child.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>

#include <fstream>
#include <unistd.h>
#include <utility>

namespace swarm::cli {

namespace asio = boost::asio;

ReportedChild::ReportedChild(asio::io_context& io, Child child, OnReport on_report, OnEnd on_end)
    : child_(std::move(child)),
      on_report_(std::move(on_report)),
      on_end_(std::move(on_end)),
      pipe_(io, ::dup(child_.reports())) {
    read();
}

void ReportedChild::read() {
    pipe_.async_read_some(
        asio::buffer(piece_),
        [this](const boost::system::error_code& error, std::size_t count) {
            if (error == asio::error::operation_aborted) {
                return;  // this object is gone
            }
            if (error) {
                on_end_(child_.wait());
                return;
            }
            buffer_.append(piece_.data(), count);
            take_lines();
            read();
        }
    );
}

void ReportedChild::take_lines() {
    std::size_t begin = 0;
    for (;;) {
        const std::size_t end = buffer_.find('\n', begin);
        if (end == std::string::npos) {
            break;
        }
        const std::string_view line = std::string_view(buffer_).substr(begin, end - begin);
        if (const std::optional<TrainReport> report = parse_report(line)) {
            on_report_(*report);
        }
        begin = end + 1;
    }
    buffer_.erase(0, begin);
}

std::string last_line(const std::filesystem::path& log_file) {
    std::ifstream in(log_file);
    std::string last;
    for (std::string line; std::getline(in, line);) {
        if (!line.empty()) {
            last = line;
        }
    }
    constexpr std::string_view kMark = "swarm: ";
    return last.starts_with(kMark) ? last.substr(kMark.size()) : last;
}

}  // namespace swarm::cli
