// The name under which the callers that make chats know Bpe.
// Threading, errors, cost: those of Bpe.
#pragma once

#include "stacking/tokenizers/bpe.hpp"

namespace stacking::tokenizers {

using ByteBpe = Bpe;

}  // namespace stacking::tokenizers
