// A stack's file, and its members in this process.
// Invariant: the members have one tokenizer: the same tokens under the same ids.
// Threading: one thread. Errors: those of the file and of the members' readers; Mismatch (another
// tokenizer, widths that do not fit); Reject. Memory: the weights of each member once, and in mode
// chain once more.
#pragma once

#include "stacking/kernels/packed_matrix.hpp"
#include "stacking/llama/stage_weights.hpp"
#include "stacking/stack/bridge.hpp"
#include "stacking/stack/stack_file.hpp"
#include "stacking/stack/text_reader.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/cli/console.hpp"
#include "swarm/cli/model/open_model.hpp"
#include "swarm/cli/options.hpp"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace swarm::cli {

Result<stacking::stack::StackFile> read_stack(const std::filesystem::path& file);

/// Its errors name the file.
Result<stacking::stack::Bridge> read_bridge(const std::filesystem::path& file);

/// Whole, or not at all. StorageFailed.
Result<> write_whole(const std::filesystem::path& file, std::span<const std::byte> bytes);
Result<> write_stack(const std::filesystem::path& file, const stacking::stack::StackFile& stack);

class OpenStack {
 public:
    /// Opens the members' files; their weights are read when a reader is made.
    static Result<OpenStack> open(
        const std::filesystem::path& file,
        stacking::stack::StackFile stack,
        stacking::kernels::WeightFormat format
    );

    [[nodiscard]] const stacking::stack::StackFile& file() const { return file_; }

    [[nodiscard]] const stacking::tokenizers::ModelTokenizer& tokenizer() const {
        return tokenizer_;
    }

    /// Of a text file, as plain text. Its errors name the file.
    [[nodiscard]] Result<std::vector<stacking::TokenId>> read_tokens(const std::string& file) const;

    /// For who needs it longer; then it is gone from here.
    stacking::tokenizers::ModelTokenizer take_tokenizer() { return std::move(tokenizer_); }

    [[nodiscard]] const stacking::models::ModelSource& source(std::size_t member) const {
        return members_[member].source;
    }

    /// Positions that every member can read.
    [[nodiscard]] std::uint32_t context() const;

    /// At any of them the first member's texts end.
    [[nodiscard]] const std::vector<std::uint32_t>& end_tokens() const {
        return members_.front().source.architecture().end_tokens;
    }

    /// Of zeros where none was trained.
    [[nodiscard]] Result<stacking::stack::Bridge> bridge() const;

    Result<std::unique_ptr<stacking::stack::TextReader>> member_reader(std::size_t member);
    /// All of them as the file's mode says.
    Result<std::unique_ptr<stacking::stack::TextReader>> reader();

 private:
    using Weights = std::shared_ptr<const stacking::llama::StageWeights>;

    OpenStack(
        std::filesystem::path path,
        stacking::stack::StackFile file,
        std::vector<OpenModel> members,
        stacking::tokenizers::ModelTokenizer tokenizer,
        stacking::kernels::WeightFormat format
    )
        : path_(std::move(path)),
          file_(std::move(file)),
          members_(std::move(members)),
          tokenizer_(std::move(tokenizer)),
          format_(format),
          whole_(members_.size()) {}

    Result<Weights> load(std::size_t member, bool embedding, bool head) const;
    Result<std::unique_ptr<stacking::stack::TextReader>> chain();
    Result<std::unique_ptr<stacking::stack::TextReader>> bridged();

    std::filesystem::path path_;
    stacking::stack::StackFile file_;
    std::vector<OpenModel> members_;
    stacking::tokenizers::ModelTokenizer tokenizer_;
    stacking::kernels::WeightFormat format_;
    std::vector<Weights> whole_;  // by member; null: not read yet
};

/// The stack of `options`, if it may answer: what was measured, and predicts worse than its best
/// member alone, is refused. Warns when it was not measured.
Result<OpenStack> open_to_generate(const GenerateOptions& options, Console& console);

/// A path beside the stack's file, or a name.
std::string located_member(const std::filesystem::path& stack, const std::string& model);

}  // namespace swarm::cli
