#include "tests/bench/result_file.hpp"

#include <boost/json/serialize.hpp>

#include <fstream>

namespace swarm::bench {

Result<> write_text(const std::string& file, const std::string& text) {
    if (file.empty()) {
        return {};
    }
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "cannot write " + file + ": does its folder exist, and is there room?"};
    }
    return {};
}

Result<> write_json(const std::string& file, const boost::json::object& report) {
    return file.empty() ? Result<>() : write_text(file, boost::json::serialize(report) + "\n");
}

}  // namespace swarm::bench
