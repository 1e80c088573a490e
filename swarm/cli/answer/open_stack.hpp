// The file of a stack, and its members in this process.
// Invariant: the members share one tokenizer: the same tokens have the same ids.
// Threading: one thread. Errors: those of the file and of the readers of the members; Mismatch
// (another tokenizer, widths that do not fit); Reject. Memory: the weights of each member once, and
// in mode chain once more.
#pragma once

#include "stacking/composition/bridge.hpp"
#include "stacking/composition/stack_file.hpp"
#include "stacking/composition/text_reader.hpp"
#include "stacking/llama/stage_weights.hpp"
#include "stacking/session_compute.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/base/workers.hpp"
#include "swarm/cli/answer/generate_options.hpp"
#include "swarm/cli/answer/member_priors.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace swarm::cli {

Result<stacking::composition::StackFile> read_stack(const std::filesystem::path& file);

/// An error names the file.
Result<stacking::composition::Bridge> read_bridge(const std::filesystem::path& file);

/// Writes the whole file, or leaves what was there. StorageFailed.
Result<> write_stack(
    const std::filesystem::path& file, const stacking::composition::StackFile& stack
);

/// A model, or these layers of it, as a peer serves it.
struct ServedPart {
    std::string model;
    std::string layers{};  // "A-B"; empty: those with the fewest peers
    std::string bridge{};  // file of the bridge that leads to the model; empty: none does
    bool exits = false;    // the head comes with the layers, although they end before it

    friend bool operator==(const ServedPart&, const ServedPart&) = default;
};

/// Whether peers of these layers have the model's head only with `serve --exits`.
bool ends_before_head(
    const stacking::composition::StackMember& member,
    const stacking::models::Architecture& architecture
);

/// Returns what peers serve for the stack of this file: its members, each once.
Result<std::vector<ServedPart>> parts_of_stack(const std::filesystem::path& file);

class OpenStack {
 public:
    /// Opens the files of the members; their weights are read when a reader is made.
    static Result<OpenStack> open(
        const std::filesystem::path& file,
        stacking::composition::StackFile stack,
        stacking::llama::WeightChoice choice
    );

    [[nodiscard]] const stacking::composition::StackFile& file() const { return file_; }

    [[nodiscard]] const stacking::tokenizers::ModelTokenizer& tokenizer() const {
        return tokenizer_;
    }

    /// Reads a text file as plain text and returns its tokens. An error names the file.
    [[nodiscard]] Result<std::vector<stacking::TokenId>> read_tokens(const std::string& file) const;

    /// Moves the tokenizer out of this object, for a caller that needs it longer.
    stacking::tokenizers::ModelTokenizer take_tokenizer() { return std::move(tokenizer_); }

    [[nodiscard]] const stacking::models::ModelSource& source(std::size_t member) const {
        return members_[member].source;
    }

    /// Number of positions that every member can read.
    [[nodiscard]] std::uint32_t context() const;

    /// The texts of the first member end at any of these tokens.
    [[nodiscard]] const std::vector<std::uint32_t>& end_tokens() const {
        return members_.front().source.architecture().end_tokens;
    }

    /// Returns the trained bridge, or one of zeros when none was trained.
    [[nodiscard]] Result<stacking::composition::Bridge> bridge() const;

    /// Sets what readers made later compute with; without this, their caller's thread alone.
    void compute_with(std::shared_ptr<Workers> workers) { workers_ = std::move(workers); }

    /// Returns a reader of what alone_text() names.
    Result<std::unique_ptr<stacking::composition::TextReader>> member_reader(std::size_t member);

    [[nodiscard]] const MemberPriors& priors() const { return priors_; }

    /// Returns a reader of all members, combined by the mode of the file. An ensemble with clusters
    /// has the members that a text needs which begins so.
    Result<std::unique_ptr<stacking::composition::TextReader>> reader(
        std::span<const stacking::TokenId> text = {}
    );

 private:
    using Weights = std::shared_ptr<const stacking::llama::StageWeights>;

    OpenStack(
        std::filesystem::path path,
        stacking::composition::StackFile file,
        std::vector<OpenModel> members,
        stacking::tokenizers::ModelTokenizer tokenizer,
        MemberPriors priors,
        stacking::llama::WeightChoice choice
    )
        : path_(std::move(path)),
          file_(std::move(file)),
          members_(std::move(members)),
          tokenizer_(std::move(tokenizer)),
          priors_(std::move(priors)),
          choice_(choice),
          whole_(members_.size()) {}

    /// Ends of a model that a reader needs beside the layers.
    struct Ends {
        bool embedding = true;
        bool head = true;
    };

    /// `layers`: nothing means all.
    Result<Weights> load(
        std::size_t member, std::optional<stacking::composition::LayerSpan> layers, Ends ends
    ) const;
    [[nodiscard]] std::unique_ptr<stacking::SessionCompute> sessions_of(Weights weights) const;
    Result<std::unique_ptr<stacking::composition::TextReader>> chain();
    Result<std::unique_ptr<stacking::composition::TextReader>> bridged();

    std::filesystem::path path_;
    stacking::composition::StackFile file_;
    std::vector<OpenModel> members_;
    stacking::tokenizers::ModelTokenizer tokenizer_;
    MemberPriors priors_;
    stacking::llama::WeightChoice choice_;
    std::vector<Weights> whole_;  // by member; null: not read yet
    std::shared_ptr<Workers> workers_;
};

/// Opens the stack of `options` if it may answer. A stack that was measured and predicts worse than
/// its best member alone is refused. Warns when the stack was not measured.
Result<OpenStack> open_to_generate(const GenerateOptions& options, Console& console);

/// Returns the path of a model beside the file of the stack, or `model` when there is none.
std::string located_member(const std::filesystem::path& stack, const std::string& model);

}  // namespace swarm::cli
