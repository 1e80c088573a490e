// STACK.toml: a stack as its owner describes it, and the losses that were measured.
//   mode = "ensemble"          # or "chain", or "bridge" (README.md); beside it name = "two"
//   bridge = "two.safetensors" # mode bridge only, from `swarm stack train`; relative to STACK.toml
//   clusters = "clusters.json" # mode ensemble, from `swarm stack clusters`: the priors of a text
//   experts = 2                # members that a text has by its clusters; 0, the default: all
//   [[member]]                 # a file, a folder or a name; relative to STACK.toml
//   model = "runs/austen"      # and prior = 1.0
//   layers = "1-5"             # from 0 on, both ends included; default: all. A chain cuts so
//   [[seam]]                   # written by `swarm stack measure`; losses in nats per token
//   text = "emma.txt"
//   members = [1.21, 1.93]     # loss of each member alone; beside them stack = 1.23, tokens = 4096
// Errors: Usage (Reject), one line with file and line: unknown keys, numbers out of bounds.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::composition {

enum class StackMode : std::uint8_t { Ensemble, Chain, Bridge };

/// Name of a mode: "ensemble", "chain" or "bridge".
std::string_view to_text(StackMode mode);
std::optional<StackMode> parse_mode(std::string_view text);

/// A range of layers of a member; `last` belongs to the range.
struct LayerSpan {
    std::uint32_t first = 0;
    std::uint32_t last = 0;

    friend bool operator==(const LayerSpan&, const LayerSpan&) = default;
};

/// Reads a range such as "3-7".
std::optional<LayerSpan> parse_layers(std::string_view text);

struct StackMember {
    std::string model;
    double prior = 1;
    std::optional<LayerSpan> layers{};  // nothing: all layers

    friend bool operator==(const StackMember&, const StackMember&) = default;
};

/// "runs/a@1-5", or "runs/a" for a member with all its layers.
std::string member_text(const StackMember& member);

/// Losses that were measured on one text.
struct Seam {
    std::string text;
    std::uint64_t tokens = 0;     // predicted tokens of the text
    std::vector<double> members;  // loss of each member alone (alone_text), nats per token
    double stack = 0;             // loss of the stack, nats per token

    friend bool operator==(const Seam&, const Seam&) = default;
};

struct StackFile {
    std::string name = "stack";
    StackMode mode = StackMode::Ensemble;
    std::string bridge;  // empty: no trained bridge; mode bridge is then the second member alone
    std::string clusters{};     // empty: the priors are those of the members
    std::uint32_t experts = 0;  // members that a text has by its clusters; 0: all
    std::vector<StackMember> members;
    std::vector<Seam> seams;

    friend bool operator==(const StackFile&, const StackFile&) = default;
};

swarm::Result<StackFile> parse_stack(std::string_view toml, const std::string& file);
/// Writes a text from which parse_stack() reads an equal stack.
std::string to_toml(const StackFile& stack);

/// Names the reader whose loss is the member's loss alone: in a chain its whole model, which a user
/// of the stack could ask instead, else the member as it is.
std::string alone_text(const StackFile& stack, std::size_t member);

/// The gate: over all measured texts the stack must not predict worse than its best member alone,
/// but for rounding.
struct Verdict {
    double stack = 0;        // nats per token
    double best_member = 0;  // nats per token
    std::size_t best = 0;    // index of the best member

    static constexpr double kRounding = 1e-6;

    [[nodiscard]] bool passes() const { return stack <= best_member + kRounding; }
};

/// Returns nullopt when nothing was measured.
std::optional<Verdict> judge(const StackFile& stack);

}  // namespace stacking::composition
