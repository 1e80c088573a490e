#include "stacking/composition/fisher_diagonal.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stacking::composition {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::StageLayout;
using swarm::run::TensorSpec;

namespace {

Error no_number(const char* what) {
    return {ErrorCode::NotFinite, Reaction::Reject, what};
}

/// The sums of squares of gradients, value by value.
class SquareSums {
 public:
    SquareSums(const StageLayout& layout, HeadMatrix head) {
        std::uint64_t elements = 0;
        for (const TensorSpec& tensor : fisher_tensors(layout, head)) {
            elements += tensor.elements();
        }
        tied_ = layout.elements() - elements;
        sums_.resize(elements);
    }

    /// Adds the squares of scale x gradient.
    void add(std::span<const float> gradient, double scale) {
        const std::span<const float> head = gradient.subspan(sums_.size());
        for (std::size_t k = 0; k < tied_; ++k) {
            const double both = static_cast<double>(gradient[k]) + static_cast<double>(head[k]);
            add_square(k, scale * both);
        }
        for (std::size_t k = tied_; k < sums_.size(); ++k) {
            add_square(k, scale * static_cast<double>(gradient[k]));
        }
    }

    /// Divides the sums by `count`.
    [[nodiscard]] Result<std::vector<float>> mean(std::size_t count) && {
        bool finite = true;
        for (float& sum : sums_) {
            finite = finite && std::isfinite(sum);
            sum = static_cast<float>(static_cast<double>(sum) / static_cast<double>(count));
        }
        if (!finite) {
            return no_number("squares of its gradients are no numbers of fp32");
        }
        return std::move(sums_);
    }

 private:
    void add_square(std::size_t k, double value) {
        sums_[k] = static_cast<float>(static_cast<double>(sums_[k]) + value * value);
    }

    std::vector<float> sums_;
    std::size_t tied_ = 0;  // values at the begin whose second use follows all others
};

}  // namespace

std::vector<FisherWindow> fisher_windows(
    std::span<const std::vector<std::uint32_t>> texts,
    std::span<const std::uint32_t> before,
    std::uint32_t context
) {
    SWARM_ASSERT(context > 0 && before.size() <= context);
    const std::size_t size = std::size_t{context} + 1;
    const std::size_t shared = before.empty() ? 1 : 0;  // tokens that two windows have
    std::vector<FisherWindow> windows;
    for (const std::vector<std::uint32_t>& text : texts) {
        for (std::size_t begin = 0; begin + shared < text.size();) {
            const std::size_t count = std::min(size - before.size(), text.size() - begin);
            FisherWindow window;
            window.targets = static_cast<std::uint32_t>(count - shared);
            window.tokens.assign(before.begin(), before.end());
            for (std::size_t i = 1; i < before.size(); ++i) {
                window.tokens[i] |= swarm::kNoLossFlag;
            }
            const auto first = text.begin() + static_cast<std::ptrdiff_t>(begin);
            window.tokens.insert(
                window.tokens.end(), first, first + static_cast<std::ptrdiff_t>(count)
            );
            window.tokens.resize(size, swarm::kNoLossFlag);  // token 0, which nothing before reads
            windows.push_back(std::move(window));
            begin += count - shared;
        }
    }
    return windows;
}

std::vector<TensorSpec> fisher_tensors(const StageLayout& layout, HeadMatrix head) {
    std::vector<TensorSpec> tensors = layout.tensors;
    if (head == HeadMatrix::Tied) {
        SWARM_ASSERT(tensors.size() > 1 && tensors.front().name == swarm::run::kEmbeddingTensor);
        SWARM_ASSERT(tensors.back().name == swarm::run::kHeadTensor);
        SWARM_ASSERT(tensors.front().elements() == tensors.back().elements());
        tensors.pop_back();
    }
    return tensors;
}

Result<FisherDiagonal> fisher_diagonal(
    stages::StageCompute& compute,
    const StageLayout& layout,
    HeadMatrix head,
    std::span<const FisherWindow> windows,
    const std::function<void(std::size_t)>& tell
) {
    SWARM_ASSERT(!windows.empty());
    SquareSums sums(layout, head);
    std::vector<float> gradient(layout.elements());
    double nats = 0;
    double targets = 0;
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const auto& [tokens, counted] = windows[i];
        const auto output = compute.forward_tail(nullptr, tokens, gradient);
        if (!output && output.error().code == ErrorCode::NotFinite) {
            return no_number("its loss is no number");
        }
        SWARM_TRY(output);
        const double share = counted / static_cast<double>(tokens.size() - 1);
        sums.add(gradient, share);
        nats += output->loss * counted;
        targets += counted;
        tell(i + 1);
    }
    SWARM_TRY(std::vector<float> values, std::move(sums).mean(windows.size()));
    return FisherDiagonal{std::move(values), nats / targets};
}

}  // namespace stacking::composition
