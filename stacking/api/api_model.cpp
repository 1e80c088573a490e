#include "stacking/api/api_model.hpp"

#include <algorithm>
#include <span>

namespace stacking::api {

std::size_t longest_token(const tokenizers::ModelTokenizer& tokenizer) {
    std::size_t longest = 0;
    for (TokenId id = 0; id < tokenizer.size(); ++id) {
        const auto bytes = tokenizer.decode(std::span(&id, 1));
        longest = std::max(longest, bytes ? bytes->size() : 0);
    }
    return longest;
}

}  // namespace stacking::api
