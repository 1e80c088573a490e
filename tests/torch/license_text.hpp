// A text to train on, and the Llama stages that read it.
#pragma once

#include "stages/torch/make_llama.hpp"
#include "tests/places.hpp"

#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

namespace stages::test {

inline swarm::run::Corpus license_text() {
    std::ifstream in(swarm::test::source_dir() + "/LICENSE", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::unique_ptr<StageCompute> make_llama(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
) {
    return std::move(*torch_backend::make_llama_compute(config, layout));
}

}  // namespace stages::test
