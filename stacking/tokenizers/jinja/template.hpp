// A chat template, compiled: a small interpreter of the part of Jinja that chat templates use, with
// the environment that transformers gives them (trim_blocks, lstrip_blocks, loop controls, tojson
// without HTML, raise_exception, strftime_now, generation blocks, nothing mutable but namespaces).
// Invariant: the text is what Jinja 3.1 makes of the same template and data, or an error; a
// template ends within the bounds of limits.hpp and reaches nothing but its variables.
// Threading: const and any thread. Errors: Malformed and Unsupported (with the line), TooLarge;
// Mismatch: the template refuses the data, and says why. Reject.
#pragma once

#include "stacking/tokenizers/jinja/value.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace boost::json {
class value;
}

namespace stacking::tokenizers::jinja {

using Variables = std::vector<std::pair<std::string, Value>>;

class Template {
 public:
    static Result<Template> compile(std::string_view text);

    /// `now_s`: seconds since 1970 by the clock of the place, for strftime_now().
    /// REQUIRES: texts of `variables` are UTF-8.
    [[nodiscard]] Result<Text> render(const Variables& variables, std::int64_t now_s) const;

 private:
    struct Tree;

    explicit Template(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}

    std::shared_ptr<const Tree> tree_;
};

/// Makes a value of JSON. Its texts are of `origin`, the keys of its objects, too. Errors:
/// TooLarge; Malformed: an integer of more than 63 bits.
Result<Value> from_json(const boost::json::value& json, Origin origin);

}  // namespace stacking::tokenizers::jinja
