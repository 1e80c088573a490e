// The keys of the table [eval]: a part of the list in config_fields.hpp. Private to swarm/run.
// Threading: pure.
#pragma once

#include "swarm/run/run_file/key.hpp"

#include <cstdint>

namespace swarm::run {

// A thousand microbatches tell the loss of a text to far below the noise of training.
inline constexpr std::uint32_t kHeldOutBatchesMax = 1024;

template <class Eval, class Visitor>
void visit_eval(Eval& eval, Visitor& visit) {
    visit(
        {"eval",
         "texts",
         "Held-out texts, or folders of swarm data build, whose loss the peers compute while they "
         "train; relative to the folder of the run file."},
        eval.texts,
        TextList{"paths, in quotes; or empty"}
    );
    visit(
        {"eval",
         "every_steps",
         "Steps between two evaluations; one more follows the last step."},
        eval.every_steps,
        Whole{1, kAnyHigh}
    );
    visit(
        {"eval", "batches", "Microbatches of each text per evaluation, spread evenly over it."},
        eval.batches,
        Whole{1, kHeldOutBatchesMax}
    );
    visit(
        {"eval",
         "patience",
         "Evaluations in a row without a better mean loss after which the run ends; 0 ends it at "
         "its last step only."},
        eval.patience,
        Whole{}
    );
}

}  // namespace swarm::run
