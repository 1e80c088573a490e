#include "tests/torch/reference_llama.hpp"

#include <cmath>
#include <map>
#include <string>

namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;
using NamedWeights = std::map<std::string, std::span<const double>>;

NamedWeights by_name(const swarm::run::StageLayout& whole, std::span<const double> weights) {
    NamedWeights named;
    for (const auto& tensor : whole.tensors) {
        named[tensor.name] = weights.first(tensor.elements());
        weights = weights.subspan(tensor.elements());
    }
    return named;
}

Row times(std::span<const double> matrix, const Row& x) {
    Row y(matrix.size() / x.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
        for (std::size_t j = 0; j < x.size(); ++j) {
            y[i] += matrix[i * x.size() + j] * x[j];
        }
    }
    return y;
}

Row rms_norm(const Row& x, std::span<const double> gain, double epsilon) {
    double squares = 0;
    for (const double value : x) {
        squares += value * value;
    }
    const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
    Row y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        y[i] = x[i] * scale * gain[i];
    }
    return y;
}

void add(Row& x, const Row& y) {
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] += y[i];
    }
}

/// Rotates every head of one row by its position.
void rotate(Row& x, std::size_t position, std::size_t head_width, double base) {
    const std::size_t half = head_width / 2;
    for (std::size_t head = 0; head < x.size(); head += head_width) {
        for (std::size_t j = 0; j < half; ++j) {
            const double exponent = -static_cast<double>(j) / static_cast<double>(half);
            const double angle = static_cast<double>(position) * std::pow(base, exponent);
            const double low = x[head + j];
            const double high = x[head + half + j];
            x[head + j] = low * std::cos(angle) - high * std::sin(angle);
            x[head + half + j] = high * std::cos(angle) + low * std::sin(angle);
        }
    }
}

/// Attention of one query head at position t: softmax over positions 0 to t.
void attend(
    const Row& query,
    std::size_t head,
    const Rows& keys,
    const Rows& values,
    std::size_t kv_head,
    std::size_t head_width,
    std::size_t t,
    Row& out
) {
    Row scores(t + 1);
    double sum = 0;
    for (std::size_t s = 0; s <= t; ++s) {
        for (std::size_t j = 0; j < head_width; ++j) {
            scores[s] += query[head * head_width + j] * keys[s][kv_head * head_width + j];
        }
        scores[s] = std::exp(scores[s] / std::sqrt(static_cast<double>(head_width)));
        sum += scores[s];
    }
    for (std::size_t s = 0; s <= t; ++s) {
        for (std::size_t j = 0; j < head_width; ++j) {
            out[head * head_width + j] += scores[s] / sum * values[s][kv_head * head_width + j];
        }
    }
}

void attention_block(
    const swarm::run::ModelConfig& config, const NamedWeights& w, const std::string& layer, Rows& x
) {
    const std::size_t head_width = config.width / config.heads;
    Rows queries;
    Rows keys;
    Rows values;
    for (std::size_t t = 0; t < x.size(); ++t) {
        const Row normed = rms_norm(x[t], w.at(layer + "attn_norm"), config.norm_epsilon);
        queries.push_back(times(w.at(layer + "attn.wq"), normed));
        keys.push_back(times(w.at(layer + "attn.wk"), normed));
        values.push_back(times(w.at(layer + "attn.wv"), normed));
        rotate(queries.back(), t, head_width, config.rope_base);
        rotate(keys.back(), t, head_width, config.rope_base);
    }
    for (std::size_t t = 0; t < x.size(); ++t) {
        Row mixed(config.width);
        for (std::size_t head = 0; head < config.heads; ++head) {
            const std::size_t kv_head = head / (config.heads / config.kv_heads);
            attend(queries[t], head, keys, values, kv_head, head_width, t, mixed);
        }
        add(x[t], times(w.at(layer + "attn.wo"), mixed));
    }
}

void mlp_block(
    const swarm::run::ModelConfig& config, const NamedWeights& w, const std::string& layer, Rows& x
) {
    for (Row& row : x) {
        const Row normed = rms_norm(row, w.at(layer + "mlp_norm"), config.norm_epsilon);
        Row gate = times(w.at(layer + "mlp.w1"), normed);
        const Row up = times(w.at(layer + "mlp.w3"), normed);
        for (std::size_t i = 0; i < gate.size(); ++i) {
            gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
        }
        add(row, times(w.at(layer + "mlp.w2"), gate));
    }
}

}  // namespace

std::vector<std::vector<double>> reference_logits(
    const swarm::run::ModelConfig& config,
    const swarm::run::StageLayout& whole,
    std::span<const double> weights,
    std::span<const std::uint32_t> tokens
) {
    const NamedWeights w = by_name(whole, weights);
    Rows x;
    for (const std::uint32_t token : tokens) {
        const auto row = w.at("embed.weight").subspan(token * config.width, config.width);
        x.emplace_back(row.begin(), row.end());
    }
    for (std::uint32_t i = 0; i < config.layers; ++i) {
        const std::string layer = "layers." + std::to_string(i) + ".";
        attention_block(config, w, layer, x);
        mlp_block(config, w, layer, x);
    }
    Rows logits;
    for (const Row& row : x) {
        const Row normed = rms_norm(row, w.at("head.norm"), config.norm_epsilon);
        logits.push_back(times(w.at("head.weight"), normed));
    }
    return logits;
}

double reference_loss(
    const swarm::run::RunConfig& config,
    const swarm::run::StageLayout& whole,
    std::span<const double> weights,
    std::span<const std::uint32_t> tokens
) {
    const std::size_t context = config.model.context;
    double loss = 0;
    for (std::uint32_t b = 0; b < config.batch; ++b) {
        const auto row = tokens.subspan(b * (context + 1), context + 1);
        const Rows logits = reference_logits(config.model, whole, weights, row.first(context));
        for (std::size_t t = 0; t < context; ++t) {
            double sum = 0;
            for (const double logit : logits[t]) {
                sum += std::exp(logit);
            }
            loss += std::log(sum) - logits[t][row[t + 1]];
        }
    }
    return loss / static_cast<double>(config.batch * context);
}
