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

void DeviceCall::run(SessionCompute& compute, const composition::BridgedInput* bridge) {
    std::vector<SessionRow> session_rows;
    std::vector<TokenId> tokens;
    std::vector<float> values;
    for (const CallPiece& piece : pieces) {
        compute.truncate(piece.cache, piece.frame.position);
        for (std::uint32_t i = 0; i < piece.frame.rows; ++i) {
            session_rows.push_back({piece.cache, piece.frame.position + i});
        }
        tokens.insert(tokens.end(), piece.frame.tokens.begin(), piece.frame.tokens.end());
        values.insert(values.end(), piece.frame.values.begin(), piece.frame.values.end());
    }
    if (bridge != nullptr) {
        values = bridge->read(tokens, std::move(values));
    }
    const StageInput input = pieces.front().key.second == 0
                                 ? StageInput(std::span<const TokenId>(tokens))
                                 : StageInput(std::span<const float>(values));
    const auto out = compute.run_layers(session_rows, input);
    failed = !out || out->size() != session_rows.size() * compute.shape().width;
    if (!failed) {
        split(*out, compute);
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
