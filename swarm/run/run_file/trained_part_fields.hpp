// The keys of the tables [train], [lora], [loop] and [paths]; config_fields.hpp says what such a
// list is.
// Private to swarm/run.
// Threading: pure.
#pragma once

#include "swarm/run/run_file/key.hpp"

#include <cstdint>

namespace swarm::run {

inline constexpr std::uint32_t kAdapterRankMax = 1024;
inline constexpr std::uint32_t kLoopEveryMax = 1'000'000'000;
inline constexpr std::uint32_t kPathEveryMax = 1'000'000'000;

template <class Config, class Visitor>
void visit_train(Config& config, Visitor& visit) {
    visit(
        {"train",
         "freeze",
         "Groups of tensors that stay as they are: a frozen tensor has neither moments nor sums.",
         NewValue::Never},
        config.train.freeze,
        TextList{
            "embed, head, norms, bias, attn, mlp, experts, router, layers.N and layers.N-M, in "
            "quotes; or empty"}
    );
    visit(
        {"train",
         "separate_documents",
         "Whether attention stops at the ends of documents, which stand one behind the other in a "
         "sequence; false for the oracle model.",
         NewValue::Asked},
        config.train.separate_documents,
        YesOrNo{}
    );
    visit(
        {"train",
         "document_end",
         "Token that ends a document, where train.separate_documents is true; `swarm train` fills "
         "it in from the corpus, or from the model.",
         NewValue::Asked},
        config.train.document_end,
        WholeList{"one token, or empty"}
    );
    visit(
        {"train",
         "balance",
         "Weight of the balance loss of a mixture of experts, which keeps its routers from sending "
         "all tokens to a few experts; for the kinds mixtral and qwen3_moe.",
         NewValue::Asked},
        config.train.balance,
        Real{0, 100}
    );
    visit(
        {"train",
         "exits",
         "Numbers of layers behind which the head answers, too: the loss of each such exit is "
         "trained beside that of the last layer; the head is frozen.",
         NewValue::Never},
        config.train.exits,
        WholeList{"rising numbers from 1 to model.layers - 1; or empty"}
    );
    visit(
        {"train", "exit_weight", "Factor of the loss of each exit.", NewValue::Asked},
        config.train.exit_weight,
        Real{0, 100}
    );
}

template <class Config, class Visitor>
void visit_lora_and_loop(Config& config, Visitor& visit) {
    visit(
        {"lora",
         "rank",
         "Rank of adapters (LoRA), which are trained in place of the model; 0 trains the model.",
         NewValue::Never},
        config.lora.rank,
        Whole{0, kAdapterRankMax}
    );
    visit(
        {"lora",
         "alpha",
         "Number by which the output of an adapter is multiplied, times its rank; 0 stands for "
         "twice the rank.",
         NewValue::Never},
        config.lora.alpha,
        Real{0, 1e6}
    );
    visit(
        {"lora", "on", "Matrices of each layer that get an adapter.", NewValue::Never},
        config.lora.on,
        TextList{"attn.wq, attn.wk, attn.wv, attn.wo, mlp.w1, mlp.w2 and mlp.w3, in quotes"}
    );
    visit(
        {"loop",
         "every",
         "Steps from one looped step to the next: its second pass reads the states that the first "
         "one wrote, in place of the tokens of which that one knew least, and learns there alone; "
         "0 loops none.",
         NewValue::Asked},
        config.loop.every,
        Whole{0, kLoopEveryMax}
    );
    visit(
        {"loop",
         "part",
         "Share of the positions whose tokens a looped step replaces by states.",
         NewValue::Asked},
        config.loop.part,
        Real{0, 1}
    );
}

template <class Config, class Visitor>
void visit_paths(Config& config, Visitor& visit) {
    visit(
        {"paths",
         "layers",
         "Layers that some microbatches leave out or take twice; all of them lie in one stage.",
         NewValue::Asked},
        config.paths.layers,
        WholeList{"consecutive numbers from 0 to model.layers - 1; or empty"}
    );
    visit(
        {"paths",
         "skip_every",
         "Microbatches from one that leaves paths.layers out to the next, counted over all steps; "
         "0: none does.",
         NewValue::Asked},
        config.paths.skip_every,
        Whole{0, kPathEveryMax}
    );
    visit(
        {"paths",
         "twice_every",
         "Microbatches from one that takes paths.layers twice to the next; one that is to leave "
         "them out as well leaves them out. 0: none does.",
         NewValue::Asked},
        config.paths.twice_every,
        Whole{0, kPathEveryMax}
    );
}

template <class Config, class Visitor>
void visit_trained_part(Config& config, Visitor& visit) {
    visit_train(config, visit);
    visit_lora_and_loop(config, visit);
    visit_paths(config, visit);
}

}  // namespace swarm::run
