// Ends a text before the first of some stop texts. A stop text may be spread over several tokens,
// so bytes that may begin one are held back until they are known to be text.
// Invariant: the result does not depend on how the bytes were cut. Of several stop texts the one
// that ends first counts; of two that end together, the longer one.
// Threading: one thread. Errors: none. Bound: less than the longest stop text is held.
// Cost: O(bytes x stop texts x length of a stop text).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stacking::tokenizers {

class StopTexts {
 public:
    /// Without stop texts all bytes pass. Empty stop texts are left out.
    explicit StopTexts(std::vector<std::string> stops);

    /// Returns the bytes that stand before every stop text; nothing once one was found.
    std::string push(std::string_view bytes);

    /// Ends the text: returns the bytes that are held back, which begin no stop text after all.
    std::string finish();

    /// Whether a stop text has come.
    [[nodiscard]] bool is_found() const { return found_; }

 private:
    std::vector<std::string> stops_;
    std::string held_;
    bool found_ = false;
};

}  // namespace stacking::tokenizers
