#include "tests/golden/table.hpp"

#include "tests/places.hpp"

#include <fstream>
#include <sstream>
#include <utility>

namespace sim::golden {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) {
        cells.push_back(cell);
    }
    return cells;
}

}  // namespace

Table read_table(const std::string& path) {
    std::ifstream file(swarm::test::source_dir() + "/" + path);
    std::vector<std::string> columns;
    std::map<std::string, std::vector<double>> rows;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') {
            continue;
        }
        std::vector<std::string> cells = cells_of(line);
        if (columns.empty()) {
            columns.assign(cells.begin() + 1, cells.end());
            continue;
        }
        std::vector<double>& row = rows[cells.front()];
        for (std::size_t i = 1; i < cells.size(); ++i) {
            row.push_back(std::stod(cells[i]));
        }
    }
    return {std::move(columns), std::move(rows)};
}

}  // namespace sim::golden
