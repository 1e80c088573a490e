// The keys of the table [optimizer]: a part of the list in config_fields.hpp. Private to swarm/run.
// Threading: pure.
#pragma once

#include "swarm/run/run_file/key.hpp"

#include <cstdint>

namespace swarm::run {

// More than any model was trained on, and far below 2^63.
inline constexpr std::uint64_t kWarmupTokensMax = 1'000'000'000'000'000;

template <class Optimizer, class Visitor>
void visit_schedule(Optimizer& optimizer, Visitor& visit) {
    visit(
        {"optimizer", "learning_rate", "Learning rate of AdamW after the warm-up."},
        optimizer.learning_rate,
        Real{0, 100}
    );
    visit(
        {"optimizer", "warmup_steps", "Steps in which the learning rate rises from 0 in a line."},
        optimizer.warmup_steps,
        Whole{}
    );
    visit(
        {"optimizer",
         "warmup_tokens",
         "Tokens in which the learning rate rises from 0 in a line; where they are given, "
         "warmup_steps is 0."},
        optimizer.warmup_tokens,
        Whole{0, kWarmupTokensMax}
    );
    visit(
        {"optimizer",
         "schedule",
         "Way of the learning rate after the warm-up: on a cosine or in a line to "
         "final_learning_rate, at rest until a last fall in a line (wsd), or always at rest."},
        optimizer.schedule,
        one_of(optimizer.schedule)
    );
    visit(
        {"optimizer",
         "decay_steps",
         "Steps of the last fall of schedule wsd; 0 stands for a tenth of the run, and other "
         "schedules take only 0."},
        optimizer.decay_steps,
        Whole{}
    );
    visit(
        {"optimizer",
         "final_learning_rate",
         "Learning rate of the last step, to which the schedule falls; constant does not read "
         "it."},
        optimizer.final_learning_rate,
        Real{0, 100}
    );
}

template <class Optimizer, class Visitor>
void visit_adamw(Optimizer& optimizer, Visitor& visit) {
    visit(
        {"optimizer",
         "beta1",
         "Share of AdamW's mean of gradients that a step keeps.",
         NewValue::Asked},
        optimizer.beta1,
        Fraction{}
    );
    visit(
        {"optimizer",
         "beta2",
         "Share of AdamW's mean of squared gradients that a step keeps.",
         NewValue::Asked},
        optimizer.beta2,
        Fraction{}
    );
    visit(
        {"optimizer",
         "epsilon",
         "Number that AdamW adds to the divisor of an update.",
         NewValue::Asked},
        optimizer.epsilon,
        Real{1e-30, 1}
    );
    visit(
        {"optimizer",
         "weight_decay",
         "Weight decay of matrices; vectors have none.",
         NewValue::Asked},
        optimizer.weight_decay,
        Fraction{}
    );
    visit(
        {"optimizer",
         "no_decay",
         "Groups of tensors without weight decay: vectors (norms, bias) never have any.",
         NewValue::Asked},
        optimizer.no_decay,
        TextList{"embed, head, norms, bias, attn, mlp, experts, router and layers.N, in quotes; or "
                 "empty"}
    );
    visit(
        {"optimizer",
         "clip_norm",
         "Norm above which the gradient of the whole model is scaled down."},
        optimizer.clip_norm,
        Real{1e-12, 1e12}
    );
}

}  // namespace swarm::run
