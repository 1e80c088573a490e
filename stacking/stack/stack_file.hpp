// A stack as its owner describes it, and what was measured of it: STACK.toml.
//   name = "two-authors"
//   mode = "ensemble"          # or "chain", or "bridge" (stack/README.md)
//   bridge = "two.safetensors" # of mode bridge, from `swarm stack train`; relative to STACK.toml
//   [[member]]                 # a file, a folder or a name; relative to STACK.toml
//   model = "runs/austen"      # and prior = 1.0, layers = "0-5" (all)
//   [[seam]]                   # written by `swarm stack measure`; losses in nats per token
//   text = "emma.txt"          # of which so many tokens were predicted:
//   tokens = 4096
//   members = [1.21, 1.93]     # each alone
//   stack = 1.23
// Errors: Usage (Reject), one line with file and line: unknown keys, numbers out of bounds.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::stack {

enum class StackMode : std::uint8_t { Ensemble, Chain, Bridge };

/// "ensemble", "chain", "bridge"
std::string_view to_text(StackMode mode);
std::optional<StackMode> parse_mode(std::string_view text);

/// Layers of a member, the last one among them.
struct LayerSpan {
    std::uint32_t first = 0;
    std::uint32_t last = 0;

    friend bool operator==(const LayerSpan&, const LayerSpan&) = default;
};

/// "3-7"
std::optional<LayerSpan> parse_layers(std::string_view text);

struct StackMember {
    std::string model;
    double prior = 1;
    std::optional<LayerSpan> layers{};  // none: all

    friend bool operator==(const StackMember&, const StackMember&) = default;
};

struct Seam {
    std::string text;
    std::uint64_t tokens = 0;
    std::vector<double> members;  // nats per token
    double stack = 0;

    friend bool operator==(const Seam&, const Seam&) = default;
};

struct StackFile {
    std::string name = "stack";
    StackMode mode = StackMode::Ensemble;
    std::string bridge;  // empty: not trained, which is the second member alone
    std::vector<StackMember> members;
    std::vector<Seam> seams;

    friend bool operator==(const StackFile&, const StackFile&) = default;
};

swarm::Result<StackFile> parse_stack(std::string_view toml, const std::string& file);
/// parse_stack() of it gives an equal one.
std::string to_toml(const StackFile& stack);

/// The gate: over all texts that were measured, in nats per token, the stack must not predict worse
/// than its best member does alone, but for rounding.
struct Verdict {
    double stack = 0;
    double best_member = 0;
    std::size_t best = 0;  // its index

    static constexpr double kRounding = 1e-6;

    [[nodiscard]] bool passes() const { return stack <= best_member + kRounding; }
};

/// nullopt when nothing was measured.
std::optional<Verdict> judge(const StackFile& stack);

}  // namespace stacking::stack
