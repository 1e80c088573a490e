#include "stacking/sessions/device_call.hpp"

#include "stacking/row_coding.hpp"
#include "stages/compute/top_tokens.hpp"

#include <algorithm>
#include <cmath>

namespace stacking::sessions {
namespace {

/// Rows of the frame whose logits are needed: those that judge the text, then those after which a
/// token is drawn. Only the last hop, and a hop where the token may exit, need logits.
std::vector<std::uint32_t> logit_rows(const CallPiece& piece, const StageShape& shape) {
    std::vector<std::uint32_t> rows;
    if (!piece.is_last && (piece.exit_threshold > 1 || !shape.gives_logits)) {
        return rows;
    }
    for (const Judged& judged : piece.judged) {
        rows.push_back(judged.row);
    }
    for (std::uint32_t row = piece.frame.rows - piece.frame.draws(); row < piece.frame.rows;
         ++row) {
        if (rows.empty() || rows.back() < row) {
            rows.push_back(row);
        }
    }
    return rows;
}

/// `logits`: those of the rows that logit_rows() names.
void judge(CallPiece& piece, std::span<const float> logits, std::uint32_t vocabulary) {
    for (std::size_t i = 0; i < piece.judged.size(); ++i) {
        Judged& judged = piece.judged[i];
        const auto row = logits.subspan(i * vocabulary, vocabulary);
        judged.log_probability = stages::log_probability(row, judged.token);
        piece.spoiled = piece.spoiled || !std::isfinite(judged.log_probability);
    }
    const std::size_t draws = logits.empty() ? 0 : piece.frame.draws();
    for (std::size_t i = 0; i < draws; ++i) {
        const std::size_t from_end = (draws - i) * vocabulary;
        const auto at = logits.subspan(logits.size() - from_end, vocabulary);
        std::vector<float> row(at.begin(), at.end());
        piece.changes.at(i).apply(row);
        piece.found.push_back(stages::top_tokens(row, piece.top));
        piece.spoiled = piece.spoiled || (piece.is_last && piece.found.back().empty());
    }
}

}  // namespace

StageInput DeviceCall::Input::view() const {
    return of_tokens ? StageInput(std::span<const TokenId>(tokens))
                     : StageInput(std::span<const float>(values));
}

DeviceCall::Input DeviceCall::read(
    SessionCompute& compute, const composition::BridgedInput* bridge
) {
    Input input;
    for (const CallPiece& piece : pieces) {
        compute.truncate(piece.cache, piece.frame.position);
        for (std::uint32_t i = 0; i < piece.frame.rows; ++i) {
            input.rows.push_back({piece.cache, piece.frame.position + i});
        }
        const RowFrame& frame = piece.frame;
        input.tokens.insert(input.tokens.end(), frame.tokens.begin(), frame.tokens.end());
        input.values.insert(input.values.end(), frame.values.begin(), frame.values.end());
    }
    if (bridge != nullptr) {
        input.values = bridge->read(input.tokens, std::move(input.values));
    }
    input.of_tokens = pieces.front().key.second == 0;
    return input;
}

void DeviceCall::run(SessionCompute& compute, const composition::BridgedInput* bridge) {
    const Input input = read(compute, bridge);
    const auto out = compute.run_layers(input.rows, input.view());
    failed = !out || out->size() != input.rows.size() * compute.shape().width;
    if (!failed) {
        split(*out, compute);
    }
}

void DeviceCall::begin(
    SessionCompute& compute, ExpertTrunk& trunk, const composition::BridgedInput* bridge
) {
    const Input input = read(compute, bridge);
    std::vector<const LackingExperts*> of_rows;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        of_rows.insert(of_rows.end(), pieces[i].frame.rows, &lacking[i]);
    }
    auto step = trunk.begin(input.rows, input.view(), of_rows);
    failed = step.has_error();
    if (!failed) {
        take(std::move(*step), compute);
    }
}

void DeviceCall::go_on(
    SessionCompute& compute, ExpertTrunk& trunk, std::span<const std::vector<float>> outputs
) {
    take(trunk.go_on(outputs), compute);
}

void DeviceCall::take(TrunkStep step, SessionCompute& compute) {
    stop.reset();
    if (auto* const waits = std::get_if<ExpertStop>(&step)) {
        stop = std::move(*waits);
    } else {
        split(std::get<std::vector<float>>(step), compute);
    }
}

/// Gives each piece its part of the outputs: codes its rows for the next hop, and scores those rows
/// whose scores somebody wants.
void DeviceCall::split(std::span<const float> outputs, SessionCompute& compute) {
    const StageShape shape = compute.shape();
    std::vector<float> asked;  // rows of all pieces, so that the head reads its weights once
    std::size_t first = 0;
    for (CallPiece& piece : pieces) {
        const std::size_t width = shape.width;
        const auto own = outputs.subspan(first, piece.frame.rows * width);
        first += own.size();
        for (const std::uint32_t row : logit_rows(piece, shape)) {
            const auto one = own.subspan(row * width, width);
            asked.insert(asked.end(), one.begin(), one.end());
        }
        if (!piece.is_last) {
            auto coded = encode_rows(*piece.codec, width, own);
            piece.spoiled = coded.has_error();
            piece.coded = piece.spoiled ? std::vector<std::byte>() : std::move(*coded);
        }
    }
    const std::vector<float> logits = asked.empty() ? asked : compute.logits(asked);
    std::span<const float> left = logits;
    for (CallPiece& piece : pieces) {
        const std::size_t count = logit_rows(piece, shape).size() * shape.vocabulary;
        judge(piece, left.first(count), shape.vocabulary);
        left = left.subspan(count);
    }
}

}  // namespace stacking::sessions
