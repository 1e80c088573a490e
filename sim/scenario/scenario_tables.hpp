// Reads the tables of a scenario file, each into its struct, with the bounds of each key.
// Invariant: a key of the file is the name of the field that it fills.
// Private to sim/scenario. Errors: the document keeps the first.
#pragma once

#include "sim/scenario/table_reader.hpp"

#include <vector>

namespace sim {

// A table that is null is absent and leaves the defaults.
void read_pipeline(const toml::table* table, Document& document, Pipeline& pipeline);
void read_regions(const toml::table* table, Document& document, Regions& regions);
void read_churn(const toml::table* table, Document& document, Churn& churn);
void read_faults(const toml::table* table, Document& document, Faults& faults);

/// REQUIRES: the regions, which groups name, were read before.
void read_groups(
    const std::vector<const toml::table*>& tables, Document& document, Scenario& scenario
);
/// REQUIRES: everything else was read before: a plan names peers, and ends before the calm.
void read_plan(
    const std::vector<const toml::table*>& tables, Document& document, Scenario& scenario
);

}  // namespace sim
