#include "swarm/cli/answer/open_stack.hpp"

#include "stacking/composition/bridged_reader.hpp"
#include "stacking/composition/ensemble.hpp"
#include "stacking/llama/llama_sessions.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::composition::Bridge;
using stacking::composition::BridgedReader;
using stacking::composition::Ensemble;
using stacking::composition::LayerSpan;
using stacking::composition::ModelReader;
using stacking::composition::StackFile;
using stacking::composition::StackMode;
using stacking::composition::TextReader;
using stacking::llama::LlamaSessions;
using stacking::llama::WeightChoice;

constexpr std::uint64_t kStackBytesMax = 1U << 20;
constexpr std::uint64_t kTextBytesMax = 64U << 20;
constexpr std::uint64_t kBridgeBytesMax = 1ULL << 30;

Error refused(std::string what) {
    return {ErrorCode::Mismatch, Reaction::Reject, std::move(what)};
}

/// The gate: refuses a stack that was measured and predicts worse than its best member.
Result<> pass_gate(const StackFile& stack, Console& console) {
    const auto verdict = judge(stack);
    if (!verdict) {
        console.warn("the stack was not measured: swarm stack measure says whether it pays");
        return {};
    }
    if (verdict->passes()) {
        return {};
    }
    char losses[96];
    std::snprintf(
        losses, sizeof losses, "%.4f nats per token, %.4f by ", verdict->stack, verdict->best_member
    );
    return Error{
        ErrorCode::Mismatch,
        Reaction::Reject,
        "the stack predicts worse than its best member alone: " + std::string(losses) +
            alone_text(stack, verdict->best)};
}

}  // namespace

std::string located_member(const fs::path& stack, const std::string& model) {
    std::error_code ignored;
    const fs::path beside = stack.parent_path() / model;
    return fs::exists(beside, ignored) ? beside.string() : model;
}

Result<StackFile> read_stack(const fs::path& file) {
    SWARM_TRY(const std::string text, read_file(file, kStackBytesMax));
    return stacking::composition::parse_stack(text, file.string());
}

Result<Bridge> read_bridge(const fs::path& file) {
    SWARM_TRY(const std::string bytes, read_file(file, kBridgeBytesMax));
    Result<Bridge> bridge = Bridge::parse(std::as_bytes(std::span(bytes)));
    if (!bridge) {
        return Error{
            bridge.error().code,
            bridge.error().reaction,
            file.string() + ": " + bridge.error().detail};
    }
    return bridge;
}

bool ends_before_head(
    const stacking::composition::StackMember& member,
    const stacking::models::Architecture& architecture
) {
    const auto& layers = member.layers;
    const bool has_tied = architecture.tied_embeddings && (!layers || layers->first == 0);
    return layers && layers->last + 1 < architecture.model.layers && !has_tied;
}

Result<std::vector<ServedPart>> parts_of_stack(const fs::path& file) {
    SWARM_TRY(const StackFile stack, read_stack(file));
    std::vector<ServedPart> parts;
    for (const auto& member : stack.members) {
        ServedPart one{located_member(file, member.model)};
        if (const auto& layers = member.layers) {
            one.layers = std::to_string(layers->first) + "-" + std::to_string(layers->last);
        }
        if (!parts.empty() && !stack.bridge.empty()) {
            one.bridge = (file.parent_path() / stack.bridge).string();
        }
        const bool is_last = &member == &stack.members.back();
        auto found = std::ranges::find(parts, one);
        if (found == parts.end()) {
            parts.push_back(std::move(one));
            found = std::prev(parts.end());
        }
        if (is_last && stack.mode == StackMode::Chain && member.layers) {
            SWARM_TRY(const OpenModel model, open_model(found->model));
            found->exits = ends_before_head(member, model.source.architecture());
        }
    }
    return parts;
}

Result<> write_stack(const fs::path& file, const StackFile& stack) {
    const std::string text = to_toml(stack);
    return write_durably(file, std::as_bytes(std::span(text)), "name another file");
}

Result<OpenStack> OpenStack::open(const fs::path& path, StackFile file, WeightChoice choice) {
    std::vector<OpenModel> members;
    std::optional<stacking::tokenizers::ModelTokenizer> tokenizer;
    for (const auto& member : file.members) {
        SWARM_TRY(OpenModel model, open_model(located_member(path, member.model)));
        const std::uint32_t layers = model.source.architecture().model.layers;
        if (member.layers && member.layers->last >= layers) {
            return refused(
                member.model + " has the layers 0 to " + std::to_string(layers - 1) + ", not " +
                std::to_string(member.layers->last)
            );
        }
        SWARM_TRY(auto own, open_tokenizer(model));
        if (tokenizer && !own.has_tokens_of(*tokenizer)) {
            return refused(
                member.model + " has another tokenizer than " + file.members.front().model +
                "; members of a stack share one"
            );
        }
        if (!tokenizer) {
            tokenizer = std::move(own);
        }
        members.push_back(std::move(model));
    }
    SWARM_TRY(MemberPriors priors, MemberPriors::read(path, file));
    return OpenStack(
        path, std::move(file), std::move(members), std::move(*tokenizer), std::move(priors), choice
    );
}

Result<std::vector<stacking::TokenId>> OpenStack::read_tokens(const std::string& file) const {
    SWARM_TRY(const std::string text, read_file(file, kTextBytesMax));
    auto tokens = tokenizer_.encode(text, stacking::tokenizers::SpecialTokens::AsText);
    if (!tokens) {
        return Error{
            tokens.error().code, tokens.error().reaction, file + ": " + tokens.error().detail};
    }
    return std::move(*tokens);
}

Result<OpenStack::Weights> OpenStack::load(
    std::size_t member, std::optional<LayerSpan> layers, Ends ends
) const {
    const auto& source = members_[member].source;
    run::StageLayout layout = split(source.architecture(), 1).front();
    if (layers) {
        layout.first_layer = layers->first;
        layout.layers = layers->last - layers->first + 1;
    }
    layout.has_embedding = ends.embedding;
    layout.has_head = ends.head;
    using stacking::llama::Exits;
    return stacking::llama::load_stage(source, layout, choice_, Exits::None, {}, workers_.get());
}

std::unique_ptr<stacking::SessionCompute> OpenStack::sessions_of(Weights weights) const {
    // There is one session, which reserves the pages that it needs and no more.
    const LlamaSessions::Options means{
        .kv_budget_bytes = std::numeric_limits<std::size_t>::max(), .workers = workers_};
    return std::make_unique<LlamaSessions>(std::move(weights), means);
}

Result<std::unique_ptr<TextReader>> OpenStack::member_reader(std::size_t member) {
    for (std::size_t i = 0; i < member && whole_[member] == nullptr; ++i) {
        const bool same = alone_text(file_, i) == alone_text(file_, member);
        whole_[member] = same ? whole_[i] : nullptr;
    }
    if (whole_[member] == nullptr) {
        const bool in_chain = file_.mode == StackMode::Chain;
        const auto layers = in_chain ? std::nullopt : file_.members[member].layers;
        SWARM_TRY(whole_[member], load(member, layers, {}));
    }
    ModelReader::Stages stages;
    stages.push_back(sessions_of(whole_[member]));
    SWARM_TRY(auto reader, ModelReader::make(std::move(stages)));
    return std::unique_ptr<TextReader>(std::move(reader));
}

Result<std::unique_ptr<TextReader>> OpenStack::chain() {
    ModelReader::Stages stages;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const Ends ends{.embedding = i == 0, .head = i + 1 == members_.size()};
        SWARM_TRY(Weights weights, load(i, file_.members[i].layers, ends));
        stages.push_back(sessions_of(std::move(weights)));
    }
    SWARM_TRY(auto reader, ModelReader::make(std::move(stages)));
    return std::unique_ptr<TextReader>(std::move(reader));
}

Result<Bridge> OpenStack::bridge() const {
    if (file_.bridge.empty()) {
        const auto width = [this](std::size_t member) {
            return members_[member].source.architecture().model.width;
        };
        return Bridge::zero(width(0), width(1));
    }
    return read_bridge(path_.parent_path() / file_.bridge);
}

Result<std::unique_ptr<TextReader>> OpenStack::bridged() {
    SWARM_TRY(Bridge bridge, this->bridge());
    const auto& members = file_.members;
    SWARM_TRY(Weights lower, load(0, members[0].layers, {.embedding = true, .head = false}));
    SWARM_TRY(Weights upper, load(1, members[1].layers, {.embedding = false, .head = true}));
    run::StageLayout embedding = split(members_[1].source.architecture(), 1).front();
    embedding.layers = 0;
    embedding.has_head = false;
    SWARM_TRY(
        const Weights alone,
        stacking::llama::load_stage(
            members_[1].source, embedding, choice_, stacking::llama::Exits::None, {}, workers_.get()
        )
    );
    BridgedReader::Parts parts{
        .lower = sessions_of(std::move(lower)),
        .upper = sessions_of(std::move(upper)),
        .embed = [matrix = alone->embedding](
                     stacking::TokenId token, std::span<float> row
                 ) { matrix->read_row(token, row); },
        .lower_vocabulary = members_[0].source.architecture().model.vocabulary,
        .bridge = std::move(bridge)};
    SWARM_TRY(auto reader, BridgedReader::make(std::move(parts)));
    return std::unique_ptr<TextReader>(std::move(reader));
}

Result<std::unique_ptr<TextReader>> OpenStack::reader(std::span<const stacking::TokenId> text) {
    if (file_.mode == StackMode::Chain) {
        return chain();
    }
    if (file_.mode == StackMode::Bridge) {
        return bridged();
    }
    Ensemble::Members readers;
    std::vector<double> priors;
    const std::vector<double> all = priors_.of_text(text, tokenizer_);
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (all[i] > 0) {
            SWARM_TRY(std::unique_ptr<TextReader> reader, member_reader(i));
            readers.push_back(std::move(reader));
            priors.push_back(all[i]);
        }
    }
    SWARM_TRY(auto ensemble, Ensemble::make(std::move(readers), std::move(priors)));
    return std::unique_ptr<TextReader>(std::move(ensemble));
}

std::uint32_t OpenStack::context() const {
    std::uint32_t least = members_.front().source.architecture().model.context;
    for (const OpenModel& member : members_) {
        least = std::min(least, member.source.architecture().model.context);
    }
    return least;
}

Result<OpenStack> open_to_generate(const GenerateOptions& options, Console& console) {
    SWARM_TRY(StackFile file, read_stack(options.stack));
    SWARM_TRY(pass_gate(file, console));
    const WeightChoice choice = *stacking::llama::parse_weight_choice(options.weights);
    return OpenStack::open(options.stack, std::move(file), choice);
}

}  // namespace swarm::cli
