// A `swarm train` child and the stream of its reports.
// Invariant: on_end comes once, after the last report: the pipe's end is the child's.
// Threading: the loop's thread. Errors: a line that is no report is skipped.
#pragma once

#include "swarm/cli/local/child.hpp"
#include "swarm/cli/report_lines.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>
#include <string>

namespace swarm::cli {

class ReportedChild {
 public:
    using OnReport = std::function<void(const TrainReport&)>;
    using OnEnd = std::function<void(int exit_code)>;

    ReportedChild(boost::asio::io_context& io, Child child, OnReport on_report, OnEnd on_end);

    void signal(int number) { child_.signal(number); }

 private:
    void read();
    void take_lines();

    Child child_;
    OnReport on_report_;
    OnEnd on_end_;
    std::string buffer_;
    std::array<char, 4096> piece_{};
    boost::asio::posix::stream_descriptor pipe_;
};

/// The last line that a child logged, for the one line we print about it.
std::string last_line(const std::filesystem::path& log_file);

}  // namespace swarm::cli
