// The filters of Jinja that chat templates use, and `tojson` as transformers defines it.
// What gives a generator in Jinja gives a list here that knows it (List::Kind::Iterator). `safe`
// does nothing, because nothing is escaped.
// Threading: one thread per Context. Errors: Unsupported (an unknown filter, by name), Malformed,
// TooLarge.
#pragma once

#include "stacking/tokenizers/jinja/context.hpp"

#include <map>
#include <string_view>

namespace stacking::tokenizers::jinja {

using FilterFunction = Result<Value> (*)(Context&, const Value&, const Arguments&);
using FilterTable = std::map<std::string_view, FilterFunction>;

/// value|name(given)
Result<Value> apply_filter(
    Context& context, std::string_view name, const Value& value, const Arguments& given
);

bool is_filter(std::string_view name);

Result<Value> round_filter(Context& context, const Value& value, const Arguments& given);

// The table's parts.
FilterTable text_filters();
FilterTable number_filters();
FilterTable sequence_filters();
FilterTable choice_filters();

}  // namespace stacking::tokenizers::jinja
