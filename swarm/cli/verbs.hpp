// The verbs of the program. Each runs to its end and returns the exit code; what went wrong is one
// line on stderr.
// Threading: the main thread; each makes what it needs and leaves nothing behind.
#pragma once

#include "swarm/cli/options.hpp"

namespace swarm::cli {

int train(const TrainOptions& options);
int serve(const ServeOptions& options);
int directory(const DirectoryOptions& options);
int generate(const GenerateOptions& options);
int local(const LocalOptions& options);
int plan(const PlanOptions& options);
int doctor(const DoctorOptions& options);
int new_stack(const StackNewOptions& options);
int add_to_stack(const StackAddOptions& options);
int measure_stack(const StackMeasureOptions& options);
int train_stack(const StackTrainOptions& options);
int show_stack(const StackShowOptions& options);
int simulate(const SimOptions& options);
int compare_policies(const SimCompareOptions& options);
int record_scenario(const SimRecordOptions& options);
int fetch_model(const ModelFetchOptions& options);
int show_model(const ModelShowOptions& options);
int export_model(const ModelExportOptions& options);

}  // namespace swarm::cli
