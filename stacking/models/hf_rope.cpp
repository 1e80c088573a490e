#include "stacking/models/hf_rope.hpp"

#include "stacking/models/byte_source.hpp"
#include "stacking/models/limits.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace stacking::models {

namespace json = boost::json;
using swarm::ErrorCode;
using Kind = RopeScaling::Kind;

namespace {

/// The first context of a Phi-3 whose config.json lacks it.
constexpr std::uint32_t kPhi3Context = 4096;

/// The magnitude that YaRN's section 3.4 gives a factor.
double yarn_magnitude(double factor, double weight = 1) {
    return factor <= 1 ? 1.0 : 0.1 * weight * std::log(factor) + 1;
}

/// Reads "factor"; where it is absent, the contexts say it.
double read_factor(ConfigMembers& rope, const Architecture& found, std::uint32_t original) {
    const double by_context =
        original == 0 ? 1 : static_cast<double>(found.model.context) / original;
    return rope.real("factor", by_context);
}

void read_yarn(ConfigMembers& rope, const Architecture& found, RopeScaling& scaling) {
    scaling.kind = Kind::Yarn;
    scaling.factor = read_factor(rope, found, scaling.original_context);
    // A zero counts as absent, as in the reference.
    const auto real_or = [&](const char* key, double missing) {
        const double value = rope.real(key, missing);
        return value == 0 ? missing : value;
    };
    scaling.beta_fast = real_or("beta_fast", scaling.beta_fast);
    scaling.beta_slow = real_or("beta_slow", scaling.beta_slow);
    scaling.truncate = rope.boolean("truncate", true);
    const double up = rope.real("mscale", 0);
    const double down = rope.real("mscale_all_dim", 0);
    const double magnitude = up != 0 && down != 0 ? yarn_magnitude(scaling.factor, up) /
                                                        yarn_magnitude(scaling.factor, down)
                                                  : yarn_magnitude(scaling.factor);
    scaling.magnitude = rope.real("attention_factor", magnitude);
}

void read_long_rope(ConfigMembers& rope, const Architecture& found, RopeScaling& scaling) {
    scaling.kind = Kind::Divisors;
    for (const double divisor : rope.reals("short_factor", kHeadWidthMax / 2)) {
        scaling.divisors.push_back(static_cast<float>(divisor));
    }
    const double factor = read_factor(rope, found, scaling.original_context);
    const double original = scaling.original_context;
    const double magnitude =
        factor <= 1 || original <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
    scaling.magnitude = rope.real("attention_factor", magnitude);
}

/// The type of the scaling, as the family's model in transformers takes it.
std::string read_type(ConfigMembers& rope, const Family& family) {
    std::string type = rope.text("rope_type", rope.text("type", "default").c_str());
    const bool long_rope = type == "longrope" || type == "su";
    if (long_rope || (family.only_long_rope && type == "yarn")) {
        return "longrope";
    }
    if (family.only_long_rope && type != "default") {
        rope.fail(
            "rope_type is \"" + printable(type) + "\"; only default and longrope can be read",
            ErrorCode::Unsupported
        );
    }
    return type;
}

void read_scaling(
    ConfigMembers& members,
    ConfigMembers& rope,
    const Family& family,
    const Architecture& found,
    RopeScaling& scaling
) {
    const std::string type = read_type(rope, family);
    if (type == "default" || rope.fault()) {
        return;
    }
    // Phi-3 keeps the first training's context beside the object, which counts more.
    const std::uint32_t within =
        family.only_long_rope ? kPhi3Context
                              : rope.count("original_max_position_embeddings", found.model.context);
    scaling.original_context = members.count("original_max_position_embeddings", within);
    if (type == "linear") {
        scaling = {.kind = Kind::Linear, .factor = rope.real("factor", 0)};
    } else if (type == "llama3") {
        scaling.kind = Kind::Llama3;
        scaling.factor = rope.real("factor", 0);
        scaling.low_frequency_factor = rope.real("low_freq_factor", 0);
        scaling.high_frequency_factor = rope.real("high_freq_factor", 0);
    } else if (type == "yarn") {
        read_yarn(rope, found, scaling);
    } else if (type == "longrope") {
        read_long_rope(rope, found, scaling);
    } else {
        members.fail(
            "rope_type is \"" + printable(type) +
                "\"; only default, linear, llama3, yarn and longrope can be read",
            ErrorCode::Unsupported
        );
    }
}

struct Read {
    RopeScaling scaling = {};
    std::optional<double> base;
    std::optional<double> partial;
};

/// Reads one object of rotary parameters, and keeps its fault in `members`.
Read read_object(
    ConfigMembers& members,
    const json::object& object,
    const Family& family,
    const Architecture& found
) {
    ConfigMembers rope(object);
    Read read;
    read_scaling(members, rope, family, found, read.scaling);
    if (rope.find("rope_theta") != nullptr) {
        read.base = rope.real("rope_theta", 0);
    }
    if (rope.find("partial_rotary_factor") != nullptr) {
        read.partial = rope.real("partial_rotary_factor", 1);
    }
    if (rope.fault()) {
        // The detail begins with the file's name, which fail() adds again.
        const std::string& detail = rope.fault()->detail;
        members.fail(detail.substr(detail.find(": ") + 2), rope.fault()->code);
    }
    return read;
}

void set_rotary_width(
    ConfigMembers& members, double partial, const Family& family, Architecture& found
) {
    if (partial == 1) {
        return;
    }
    if (!(partial > 0 && partial < 1)) {
        members.fail("partial_rotary_factor is not between 0 and 1");
        return;
    }
    if (!family.partial_rotation) {
        members.fail(
            "partial_rotary_factor is below 1, which no " + std::string(family.name) + " has",
            ErrorCode::Unsupported
        );
        return;
    }
    // A quotient of two whole numbers times the second one may come out just below the first one.
    constexpr double kRounding = 1e-9;
    found.traits.rotary_width = static_cast<std::uint32_t>(
        std::floor(static_cast<double>(found.head_width()) * partial + kRounding)
    );
    if (found.traits.rotary_width == 0) {
        members.fail("partial_rotary_factor leaves nothing to rotate");
    }
}

/// Reads the rotation of the layers that slide.
void read_local(
    ConfigMembers& members, const json::value* object, const Family& family, Architecture& found
) {
    if (object == nullptr || object->is_null()) {
        return;
    }
    if (!object->is_object()) {
        members.fail("rope parameters are no object");
        return;
    }
    const Read local = read_object(members, object->get_object(), family, found);
    if (local.scaling != RopeScaling{} || local.partial.value_or(1) != 1) {
        members.fail("the rope of sliding_attention is scaled", ErrorCode::Unsupported);
    }
    found.traits.local_rope_base = local.base.value_or(0);
}

/// Reads "rope_scaling" or "rope_parameters"; nullopt: there is none, or a fault.
std::optional<Read> read_member(
    ConfigMembers& members, const char* key, const Family& family, Architecture& found
) {
    const json::value* const value = members.find(key);
    if (value == nullptr) {
        return std::nullopt;
    }
    const json::object* object = value->if_object();
    if (object != nullptr && object->empty()) {
        return std::nullopt;
    }
    const json::value* const whole =
        object == nullptr ? nullptr : object->if_contains("full_attention");
    const json::value* const sliding =
        object == nullptr ? nullptr : object->if_contains("sliding_attention");
    const bool by_layers = whole != nullptr || sliding != nullptr;
    if (by_layers) {
        static const json::object kNone;
        read_local(members, sliding, family, found);
        object = whole == nullptr || whole->is_null() ? &kNone : whole->if_object();
    }
    if (object == nullptr) {
        members.fail("rope parameters are no object");
        return std::nullopt;
    }
    const bool may_be = family.two_rotations && std::string_view(key) == "rope_parameters";
    if (by_layers != may_be) {
        members.fail(
            std::string(key) + (may_be ? " does not tell" : " tells") +
                " full_attention from sliding_attention",
            ErrorCode::Unsupported
        );
    }
    return read_object(members, *object, family, found);
}

}  // namespace

void read_hf_rope(ConfigMembers& members, const Family& family, Architecture& found) {
    const std::optional<Read> old = read_member(members, "rope_scaling", family, found);
    const std::optional<Read> now = read_member(members, "rope_parameters", family, found);
    if (old && now && now->scaling != RopeScaling{} && now->scaling != old->scaling) {
        members.fail("rope_scaling and rope_parameters differ");
    }
    const Read read = old ? *old : now.value_or(Read{});
    found.traits.rope = read.scaling;
    // The newer object decides where both have a number.
    const auto first = [](const auto& one, const auto& other) { return one ? one : other; };
    const std::optional<double> base = now ? first(now->base, read.base) : read.base;
    const std::optional<double> partial = now ? first(now->partial, read.partial) : read.partial;
    found.model.rope_base = members.real("rope_theta", base.value_or(family.rope_base));
    if (base && *base != found.model.rope_base) {
        members.fail("two different values of rope_theta");
    }
    const double rotated = members.real("partial_rotary_factor", partial.value_or(1));
    if (partial && *partial != rotated) {
        members.fail("two different values of partial_rotary_factor");
    }
    set_rotary_width(members, rotated, family, found);
    if (read.scaling.kind == Kind::Divisors) {
        found.model.context = std::min(found.model.context, read.scaling.original_context);
    }
}

json::object make_hf_rope(const Architecture& architecture) {
    const RopeScaling& scaling = architecture.traits.rope;
    json::object rope{{"rope_type", "default"}, {"rope_theta", architecture.model.rope_base}};
    switch (scaling.kind) {
        case Kind::None:
            break;
        case Kind::Linear:
            rope["rope_type"] = "linear";
            rope["factor"] = scaling.factor;
            break;
        case Kind::Llama3:
            rope["rope_type"] = "llama3";
            rope["factor"] = scaling.factor;
            rope["low_freq_factor"] = scaling.low_frequency_factor;
            rope["high_freq_factor"] = scaling.high_frequency_factor;
            rope["original_max_position_embeddings"] = scaling.original_context;
            break;
        case Kind::Yarn:
            rope["rope_type"] = "yarn";
            rope["factor"] = scaling.factor;
            rope["beta_fast"] = scaling.beta_fast;
            rope["beta_slow"] = scaling.beta_slow;
            rope["truncate"] = scaling.truncate;
            rope["attention_factor"] = scaling.magnitude;
            rope["original_max_position_embeddings"] = scaling.original_context;
            break;
        case Kind::Divisors:
            rope["rope_type"] = "longrope";
            rope["short_factor"] = json::array(scaling.divisors.begin(), scaling.divisors.end());
            rope["long_factor"] = rope["short_factor"];
            rope["attention_factor"] = scaling.magnitude;
            rope["original_max_position_embeddings"] = architecture.model.context;
            break;
    }
    if (architecture.rotary_width() != architecture.head_width()) {
        rope["partial_rotary_factor"] =
            static_cast<double>(architecture.rotary_width()) / architecture.head_width();
    }
    return rope;
}

}  // namespace stacking::models
