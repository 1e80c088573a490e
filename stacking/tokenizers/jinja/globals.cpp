#include "stacking/tokenizers/jinja/globals.hpp"

#include "stacking/tokenizers/jinja/arguments.hpp"
#include "stacking/tokenizers/jinja/operators.hpp"
#include "stacking/tokenizers/jinja/printing.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>

namespace stacking::tokenizers::jinja {
namespace {

constexpr std::array<std::string_view, 6> kGlobals = {
    "range", "dict", "namespace", "joiner", "raise_exception", "strftime_now"};
constexpr std::string_view kJoinerCall = "joiner()";
constexpr std::string_view kUsed = "used";

Value make_function(std::string_view name, Value self = {}) {
    Callable function{Callable::Kind::Global, std::string(name), std::move(self)};
    return std::make_shared<const Callable>(std::move(function));
}

Result<Value> make_range(Context& context, const Arguments& given) {
    std::array<std::int64_t, 3> numbers{0, 0, 1};
    const std::size_t count = given.positional.size();
    if (count < 1 || count > 3 || !given.named.empty()) {
        return failure("range() wants one to three integers");
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto number = given.positional[i].as_integer();
        if (!number) {
            return failure("range() wants integers, not '" + given.positional[i].type_name() + "'");
        }
        numbers[count == 1 ? 1 : i] = *number;
    }
    const auto [begin, end, step] = numbers;
    if (step == 0) {
        return failure("the step of range() is 0");
    }
    List list{{}, List::Kind::Range};
    list.printed = "range(" + std::to_string(begin) + ", " + std::to_string(end) +
                   (step == 1 ? "" : ", " + std::to_string(step)) + ")";
    for (std::int64_t at = begin; step > 0 ? at < end : at > end;) {
        if (list.items.size() == kRangeMax) {
            return beyond_bound("range() of more than " + std::to_string(kRangeMax) + " numbers");
        }
        list.items.emplace_back(at);
        if (__builtin_add_overflow(at, step, &at)) {
            break;
        }
    }
    list.weight += list.items.size();
    SWARM_TRY(context.charge(list.weight));
    return Value(std::make_shared<const List>(std::move(list)));
}

/// Reads the arguments of dict(): pairs or a dict, then names.
Result<std::vector<Dict::Entry>> read_entries(Context& context, const Arguments& given) {
    std::vector<Dict::Entry> entries;
    if (given.positional.size() > 1) {
        return failure("dict() and namespace() take one value, and names");
    }
    if (!given.positional.empty() && given.positional.front().dict() != nullptr) {
        entries = given.positional.front().dict()->entries;
        SWARM_TRY(context.charge(entries.size()));
    } else if (!given.positional.empty()) {
        SWARM_TRY(const auto pairs, elements_of(context, given.positional.front()));
        for (const Value& pair : pairs->items) {
            SWARM_TRY(context.charge(1));
            SWARM_TRY(const auto parts, elements_of(context, pair));
            if (parts->items.size() != 2) {
                return failure("dict() wants pairs");
            }
            entries.emplace_back(parts->items[0], parts->items[1]);
        }
    }
    for (const auto& [name, value] : given.named) {
        entries.emplace_back(make_text(name), value);
    }
    SWARM_TRY(context.charge_keys(entries));
    return entries;
}

Result<Value> make_namespace(Context& context, const Arguments& given) {
    SWARM_TRY(auto entries, read_entries(context, given));
    Namespace* const names = context.make_namespace();
    for (auto& [key, value] : entries) {
        if (key.text() == nullptr || key.text()->bytes().starts_with('_')) {
            return failure("a namespace wants names that do not begin with _");
        }
        names->set(key.text()->bytes(), std::move(value));
    }
    return Value(names);
}

Result<Value> make_joiner(Context& context, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("joiner", given, {"sep"}));
    SWARM_TRY(const Text* const between, bound.text(0));
    Namespace* const state = context.make_namespace();
    state->set("between", between == nullptr ? make_text(", ") : *bound.find(0));
    return make_function(kJoinerCall, Value(state));
}

Result<Value> raise_exception(Context& context, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("raise_exception", given, {"message"}));
    SWARM_TRY(const Value message, bound.need(0));
    SWARM_TRY(const Text text, paid_text(context, message));
    const std::string line = one_line(text.bytes());
    return raised_by_template(line.empty() ? "the chat template refuses the conversation" : line);
}

/// The calendar of Gregory, by the days since 1970 (H. Hinnant, "chrono-compatible algorithms").
std::tm calendar_of(std::int64_t seconds) {
    constexpr std::int64_t kDay = 86'400;
    const std::int64_t days = (seconds >= 0 ? seconds : seconds - kDay + 1) / kDay;
    const std::int64_t rest = seconds - days * kDay;
    const std::int64_t shifted = days + 719'468;
    const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
    const std::int64_t of_era = shifted - era * 146'097;
    const std::int64_t year_of_era =
        (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
    const std::int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t month = (5 * of_year + 2) / 153;  // 0: March
    std::tm date{};
    date.tm_mday = static_cast<int>(of_year - (153 * month + 2) / 5 + 1);
    date.tm_mon = static_cast<int>(month < 10 ? month + 2 : month - 10);
    const std::int64_t year = year_of_era + era * 400 + (date.tm_mon <= 1 ? 1 : 0);
    date.tm_year = static_cast<int>(year - 1900);
    date.tm_hour = static_cast<int>(rest / 3600);
    date.tm_min = static_cast<int>(rest / 60 % 60);
    date.tm_sec = static_cast<int>(rest % 60);
    date.tm_wday = static_cast<int>(((days + 4) % 7 + 7) % 7);
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    date.tm_yday = static_cast<int>(of_year >= 306 ? of_year - 306 : of_year + (leap ? 60 : 59));
    return date;
}

/// Appends what a conversion letter stands for. Returns false for one that is not known.
bool append_date(std::string& text, std::string_view conversion, const std::tm& date) {
    constexpr std::string_view kKnown = "aAbBcCdDeFgGhHIjklmMnpPrRStTuUVwWxXyY";
    const char letter = conversion.back();
    if (letter == 'z' || letter == 'Z') {
        return true;  // a date of Python's that knows no zone has none
    }
    if (letter == 'f') {
        text += "000000";
        return true;
    }
    if (kKnown.find(letter) == std::string_view::npos) {
        return false;
    }
    char out[128];
    text.append(out, std::strftime(out, sizeof out, std::string(conversion).c_str(), &date));
    return true;
}

Result<Value> strftime_now(Context& context, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("strftime_now", given, {"format"}));
    SWARM_TRY(const Text* const format, bound.text(0));
    constexpr std::int64_t kYears = 9'000LL * 366 * 86'400;
    if (format == nullptr || format->size() > kDateBytesMax) {
        return failure(
            "strftime_now() wants a format of at most " + std::to_string(kDateBytesMax) + " bytes"
        );
    }
    SWARM_TRY(context.charge(1 + format->size()));
    const std::tm date = calendar_of(std::clamp<std::int64_t>(context.now_s(), 0, kYears));
    // A conversion by conversion, because widths such as %999d would let strftime() write much.
    Text text;
    const std::string_view bytes = format->bytes();
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t percent = std::min(bytes.find('%', at), bytes.size());
        text.append(*format, at, percent - at);
        at = percent;
        const std::size_t length = bytes.substr(at).starts_with("%-") ? 3 : 2;
        if (at + length > bytes.size()) {
            text.append(*format, at, bytes.size() - at);
            break;
        }
        std::string part;
        if (bytes[at + 1] == '%') {
            part = "%";
        } else if (!append_date(part, bytes.substr(at, length), date)) {
            text.append(*format, at, 1);  // the rest of what is not known follows as it is
            ++at;
            continue;
        }
        text.append(part, format->origin_at(at));
        at += length;
    }
    SWARM_TRY(context.charge_text(0, text));
    return Value(std::move(text));
}

Result<Value> call_joiner(const Callable& joiner, const Arguments& given) {
    SWARM_TRY(BoundArguments::bind("joiner()", given, {}));
    Namespace& state = *joiner.self.names();
    if (state.find(kUsed) == nullptr) {
        state.set(kUsed, Value(true));
        return make_text("");
    }
    return *state.find("between");
}

}  // namespace

std::optional<Value> find_global(std::string_view name) {
    static const std::map<std::string_view, Value> functions = [] {
        std::map<std::string_view, Value> all;
        for (const std::string_view known : kGlobals) {
            all.emplace(known, make_function(known));
        }
        return all;
    }();
    const auto found = functions.find(name);
    return found == functions.end() ? std::nullopt : std::optional(found->second);
}

Result<Value> call_global(Context& context, const Callable& function, const Arguments& given) {
    if (function.name == "range") {
        return make_range(context, given);
    }
    if (function.name == "dict") {
        SWARM_TRY(auto entries, read_entries(context, given));
        return make_dict(std::move(entries));
    }
    if (function.name == "namespace") {
        return make_namespace(context, given);
    }
    if (function.name == "joiner") {
        return make_joiner(context, given);
    }
    if (function.name == "raise_exception") {
        return raise_exception(context, given);
    }
    return function.name == kJoinerCall ? call_joiner(function, given)
                                        : strftime_now(context, given);
}

}  // namespace stacking::tokenizers::jinja
