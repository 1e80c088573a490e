#include "stacking/tokenizers/jinja/arguments.hpp"

#include <algorithm>

namespace stacking::tokenizers::jinja {

Result<BoundArguments> BoundArguments::bind(
    std::string_view function, const Arguments& given, std::initializer_list<std::string_view> names
) {
    BoundArguments bound;
    bound.function_ = function;
    bound.names_.assign(names.begin(), names.end());
    bound.values_.resize(names.size());
    if (given.positional.size() > names.size()) {
        return failure(
            bound.function_ + "() takes at most " + std::to_string(names.size()) + " arguments"
        );
    }
    for (std::size_t i = 0; i < given.positional.size(); ++i) {
        bound.values_[i] = given.positional[i];
    }
    for (const auto& [name, value] : given.named) {
        const auto found = std::find(bound.names_.begin(), bound.names_.end(), name);
        const auto place = static_cast<std::size_t>(found - bound.names_.begin());
        if (found == bound.names_.end() || bound.values_[place]) {
            return failure(
                bound.function_ + "() has no argument '" + name + "', or it is there twice"
            );
        }
        bound.values_[place] = value;
    }
    return bound;
}

Result<Value> BoundArguments::need(std::size_t place) const {
    return values_[place] ? Result<Value>(*values_[place])
                          : failure(function_ + "() wants '" + names_[place] + "'");
}

Result<std::int64_t> BoundArguments::integer(std::size_t place, std::int64_t fallback) const {
    if (!values_[place]) {
        return fallback;
    }
    const auto number = values_[place]->as_integer();
    return number ? Result<std::int64_t>(*number)
                  : failure(function_ + "() wants an integer as '" + names_[place] + "'");
}

Result<const Text*> BoundArguments::text(std::size_t place) const {
    const Value* const value = find(place);
    if (value == nullptr || value->is_none()) {
        return static_cast<const Text*>(nullptr);
    }
    return value->text() != nullptr
               ? Result<const Text*>(value->text())
               : failure(function_ + "() wants a text as '" + names_[place] + "'");
}

}  // namespace stacking::tokenizers::jinja
