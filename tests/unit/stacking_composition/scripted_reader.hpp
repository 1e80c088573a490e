// A reader whose scores come from a table: after token t it gives the logits of row t.
#pragma once

#include "stacking/composition/text_reader.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace stacking::composition::test {

class ScriptedReader final : public TextReader {
 public:
    explicit ScriptedReader(std::vector<std::vector<float>> table, std::uint32_t context = 64)
        : table_(std::move(table)), context_(context) {}

    [[nodiscard]] std::uint32_t vocabulary() const override {
        return static_cast<std::uint32_t>(table_.front().size());
    }

    [[nodiscard]] std::uint32_t context() const override { return context_; }

    swarm::Result<> begin(std::uint32_t tokens) override {
        EXPECT_LE(tokens, context_);
        reserved_ = tokens;
        read_ = 0;
        return {};
    }

    swarm::Result<std::vector<float>> read(std::span<const TokenId> tokens, Wanted wanted)
        override {
        read_ += static_cast<std::uint32_t>(tokens.size());
        EXPECT_LE(read_, reserved_);
        std::vector<float> out;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (wanted == Wanted::AfterEach || i + 1 == tokens.size()) {
                const auto& row = table_[tokens[i]];
                out.insert(out.end(), row.begin(), row.end());
            }
        }
        return out;
    }

 private:
    std::vector<std::vector<float>> table_;
    std::uint32_t context_;
    std::uint32_t reserved_ = 0;
    std::uint32_t read_ = 0;
};

}  // namespace stacking::composition::test
