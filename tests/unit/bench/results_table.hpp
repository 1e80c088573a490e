// Reads the tables of tests/bench/RESULTS.md: the rows of figures, the names of machines and the
// marks that the file defines before it uses them.
// A table of figures has the columns claim, number, command, commit and machine.
// Errors: a fault is one sentence that begins with the line it is about. Threading: pure functions.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace swarm::test {

struct ResultRow {
    std::size_t line = 0;  // counts from 1
    std::string mark;      // without its brackets; empty: the claim begins with none
    std::string claim;
    std::string number;
    std::string command;               // without its backquotes
    std::vector<std::string> commits;  // one, or several where a figure sums up several runs
    std::string machine;               // without its backquotes
};

struct ResultTables {
    std::vector<ResultRow> rows;
    std::set<std::string> machines;
    std::set<std::string> marks;
    /// Lines of `sh` blocks, which make the inputs of commands. Only line and command are filled.
    std::vector<ResultRow> preparations;
    std::vector<std::string> faults;
};

/// Finds these faults: a row without five cells, an empty cell, more than one figure in a row, a
/// word that is no commit, a machine or mark that the file does not define, and a claim that
/// another row makes, too.
ResultTables read_results(const std::string& markdown);

/// Tells whether the cell is one figure: a word that stands for one, or one number and its unit.
bool is_one_figure(const std::string& cell);

}  // namespace swarm::test
