// A table of published figures: a CSV file of sim/golden whose first column names the rows.
// Lines that begin with # are comments. A missing cell fails the test that asks for it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sim::golden {

class Table {
 public:
    Table(std::vector<std::string> columns, std::map<std::string, std::vector<double>> rows)
        : columns_(std::move(columns)), rows_(std::move(rows)) {}

    [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }

    [[nodiscard]] double at(const std::string& row, std::size_t column) const {
        return rows_.at(row).at(column);
    }

 private:
    std::vector<std::string> columns_;
    std::map<std::string, std::vector<double>> rows_;
};

/// `path` starts at the root of the repository.
Table read_table(const std::string& path);

}  // namespace sim::golden
