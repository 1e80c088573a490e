#include "swarm/cli/terminal/text_table.hpp"

#include <algorithm>

namespace swarm::cli {

std::string text_table(const std::vector<TableRow>& rows, const std::set<std::size_t>& numbers) {
    std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
    for (const TableRow& row : rows) {
        for (std::size_t i = 0; i < std::min(widths.size(), row.size()); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string text;
    for (const TableRow& row : rows) {
        const std::size_t cells = std::min(widths.size(), row.size());
        for (std::size_t i = 0; i < cells; ++i) {
            const std::string space(widths[i] - row[i].size(), ' ');
            const bool is_last = i + 1 == cells;
            text += numbers.contains(i) ? space + row[i] : row[i] + (is_last ? "" : space);
            text += is_last ? "\n" : "  ";
        }
    }
    return text;
}

}  // namespace swarm::cli
