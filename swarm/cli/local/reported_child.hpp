// A `swarm train` child and the stream of its reports.
// Invariant: on_end comes once, after the last report, because the pipe ends with the child.
// Threading: the loop's thread. Errors: a line that is no report is skipped.
#pragma once

#include "swarm/cli/common/report_lines.hpp"
#include "swarm/cli/local/child.hpp"

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

/// Returns the last line that a child has logged, for the one line about the child.
std::string last_line(const std::filesystem::path& log_file);

}  // namespace swarm::cli
