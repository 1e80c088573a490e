#include "results_table.hpp"

#include <regex>
#include <sstream>

namespace swarm::test {
namespace {

constexpr std::size_t kColumns = 5;
const char* const kFigures = "claim|number|command|commit|machine";
const char* const kMachines = "machine|what it is";
const char* const kMarks = "mark|what it says";

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    const std::size_t last = text.find_last_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// The text between one pair of backquotes; any other text stays as it is.
std::string unquoted(const std::string& cell) {
    const bool quoted = cell.size() > 2 && cell.front() == '`' && cell.back() == '`';
    return quoted ? cell.substr(1, cell.size() - 2) : cell;
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) {
        parts.push_back(trimmed(part));
    }
    return parts;
}

/// The cells of "| a | b |".
std::vector<std::string> cells_of(const std::string& line) {
    std::string inside = trimmed(line).substr(1);
    if (!inside.empty() && inside.back() == '|') {
        inside.pop_back();
        return split(inside + " ", '|');
    }
    return split(inside, '|');
}

std::string joined(const std::vector<std::string>& cells) {
    std::string text;
    for (const std::string& cell : cells) {
        text += (text.empty() ? "" : "|") + cell;
    }
    return text;
}

class Reader {
 public:
    ResultTables read(const std::string& markdown) {
        std::istringstream in(markdown);
        for (std::string line; std::getline(in, line);) {
            ++line_;
            take(line);
        }
        return std::move(tables_);
    }

 private:
    void take(const std::string& line) {
        if (line.starts_with("```")) {
            in_shell_ = line == "```sh";
            return;
        }
        if (in_shell_) {
            ResultRow row;
            row.line = line_;
            row.command = trimmed(line);
            tables_.preparations.push_back(row);
            return;
        }
        if (!line.starts_with("|")) {
            header_.clear();
            return;
        }
        const std::vector<std::string> cells = cells_of(line);
        if (header_.empty()) {
            header_ = joined(cells);
        } else if (line.find_first_not_of("|-: ") != std::string::npos) {
            take_row(cells);
        }
    }

    void take_row(const std::vector<std::string>& cells) {
        if (header_ == kMachines) {
            tables_.machines.insert(unquoted(cells.front()));
        } else if (header_ == kMarks) {
            tables_.marks.insert(cells.front().substr(1, cells.front().size() - 2));
        } else if (header_ == kFigures) {
            take_figure(cells);
        } else {
            fault("the table has other columns than " + std::string(kFigures));
        }
    }

    void take_figure(const std::vector<std::string>& cells) {
        if (cells.size() != kColumns) {
            fault("the row has " + std::to_string(cells.size()) + " cells instead of 5");
            return;
        }
        ResultRow row;
        row.line = line_;
        row.claim = cells[0];
        if (row.claim.starts_with('[')) {
            const std::size_t end = row.claim.find(']');
            row.mark = row.claim.substr(1, end - 1);
        }
        row.number = cells[1];
        row.command = unquoted(cells[2]);
        row.commits = split(cells[3], ',');
        row.machine = unquoted(cells[4]);
        check(row, cells);
        tables_.rows.push_back(std::move(row));
    }

    void check(const ResultRow& row, const std::vector<std::string>& cells) {
        static const std::regex commit("[0-9a-f]{7,40}");
        for (const std::string& cell : cells) {
            if (cell.empty()) {
                fault("a cell is empty");
            }
        }
        if (!is_one_figure(row.number)) {
            fault("\"" + row.number + "\" is not one figure");
        }
        for (const std::string& one : row.commits) {
            if (!std::regex_match(one, commit)) {
                fault("\"" + one + "\" is no commit");
            }
        }
        if (!tables_.machines.contains(row.machine)) {
            fault("no machine \"" + row.machine + "\" is defined above");
        }
        if (!row.mark.empty() && !tables_.marks.contains(row.mark)) {
            fault("no mark [" + row.mark + "] is defined above");
        }
        if (!claims_.insert(row.claim).second) {
            fault("another row makes the same claim; only the newest figure stays");
        }
    }

    void fault(const std::string& what) {
        tables_.faults.push_back("line " + std::to_string(line_) + ": " + what);
    }

    ResultTables tables_;
    std::set<std::string> claims_;
    std::string header_;  // header of the table around the line; empty outside a table
    std::size_t line_ = 0;
    bool in_shell_ = false;
};

}  // namespace

bool is_one_figure(const std::string& cell) {
    static const std::regex word("equal|none|holds");
    static const std::regex number(
        "((more|less) than |at (least|most) )?[+-]?[0-9][0-9,]*(\\.[0-9]+)?( [^0-9;,]+)?"
    );
    return std::regex_match(cell, word) || std::regex_match(cell, number);
}

ResultTables read_results(const std::string& markdown) {
    return Reader().read(markdown);
}

}  // namespace swarm::test
