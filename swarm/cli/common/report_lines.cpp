#include "swarm/cli/common/report_lines.hpp"

#include <boost/json.hpp>

#include <bit>
#include <charconv>
#include <cstdint>
#include <utility>

namespace swarm::cli {
namespace {

namespace json = boost::json;

std::string to_hex(std::uint64_t value) {
    char digits[16];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, 16);
    return {digits, end};
}

std::string to_hex(double value) {
    return to_hex(std::bit_cast<std::uint64_t>(value));
}

std::string to_hex(const PeerId& peer) {
    std::string text;
    for (const std::uint64_t word : peer.words) {
        text += (text.empty() ? "" : ".") + to_hex(word);
    }
    return text;
}

json::object to_object(const Listening& listening) {
    return {{"kind", "listening"}, {"address", listening.address}, {"join", listening.join}};
}

json::object to_object(const PastLoss& past) {
    return {{"kind", "past"}, {"step", past.step}, {"loss", to_hex(past.loss)}};
}

json::object to_object(const node::StepCommitted& step) {
    return {
        {"kind", "step"},
        {"step", step.step},
        {"loss", to_hex(step.loss)},
        {"gradient_norm", to_hex(step.gradient_norm)},
        {"took_ns", step.took.count()},
        {"expected", step.expected},
        {"counted", step.counted},
        {"replayed", step.replayed},
        {"fenced", step.fenced},
        {"wire_bytes", step.wire_bytes ? json::value(*step.wire_bytes) : nullptr},
        {"codecs", step.codecs}};
}

json::object to_object(const StagesCut& cut) {
    return {
        {"kind", "split"},
        {"step", cut.step},
        {"layers_per_stage", json::value_from(cut.layers_per_stage)}};
}

json::object to_object(const HeldOutFound& found) {
    json::array texts;
    for (const HeldOutFound::Text& text : found.texts) {
        const auto bits = text.bits_per_byte;
        texts.push_back(
            {{"name", text.name},
             {"loss", to_hex(text.loss)},
             {"bits_per_byte", bits ? json::value(to_hex(*bits)) : json::value(nullptr)}}
        );
    }
    return {
        {"kind", "held_out"},
        {"step", found.step},
        {"loss", to_hex(found.loss)},
        {"best", found.is_best ? 1 : 0},
        {"texts", std::move(texts)}};
}

json::object to_object(const PatienceOver& over) {
    return {{"kind", "patience_over"}, {"step", over.step}, {"reason", over.reason}};
}

json::object to_object(const node::StepSkipped& skip) {
    return {
        {"kind", "skip"},
        {"step", skip.step},
        {"reason", skip.reason},
        {"took_ns", skip.took.count()}};
}

json::object to_object(const node::ShareLost& lost) {
    return {
        {"kind", "share_lost"},
        {"peer", to_hex(lost.peer)},
        {"stage", lost.stage.value},
        {"microbatches", lost.microbatches}};
}

json::object to_object(const node::WorkCounted& share) {
    return {
        {"kind", "share"},
        {"step", share.step},
        {"peer", to_hex(share.peer)},
        {"stage", share.stage.value},
        {"microbatches", share.microbatches},
        {"units_per_s", to_hex(share.units_per_s)}};
}

json::object to_object(const node::PeerChanged& changed) {
    return {
        {"kind", "peer"},
        {"peer", to_hex(changed.peer)},
        {"stage", changed.stage.value},
        {"change", static_cast<std::uint32_t>(changed.change)},
        {"reason", changed.reason},
        {"peers_per_stage", json::value_from(changed.peers_per_stage)}};
}

json::object to_object(const node::RunFinished& finished) {
    return {
        {"kind", "finished"},
        {"gen", finished.version.gen},
        {"step", finished.version.step},
        {"weights_sha256", swarm::to_hex(finished.weights_sha256)}};
}

json::object to_object(const node::RunFailed& failed) {
    return {{"kind", "failed"}, {"exit_code", failed.exit_code}, {"text", failed.text}};
}

/// Reads fields of one object; after the first missing or wrong field, good() is false.
class Fields {
 public:
    explicit Fields(const json::object& object) : object_(object) {}

    [[nodiscard]] bool good() const { return good_; }

    bool is_null(const char* key) {
        const json::value* const value = object_.if_contains(key);
        good_ = good_ && value != nullptr;
        return value != nullptr && value->is_null();
    }

    std::string text(const char* key) {
        const json::value* const value = object_.if_contains(key);
        if (value == nullptr || !value->is_string()) {
            good_ = false;
            return {};
        }
        return {value->get_string().data(), value->get_string().size()};
    }

    template <class Number>
    Number number(const char* key) {
        const json::value* const value = object_.if_contains(key);
        boost::system::error_code error;
        const Number number = value == nullptr ? 0 : value->to_number<Number>(error);
        good_ = good_ && value != nullptr && !error;
        return number;
    }

    double real(const char* key) { return std::bit_cast<double>(hex(text(key))); }

    PeerId peer(const char* key) {
        PeerId peer;
        const std::string all = text(key);
        std::string_view rest = all;
        for (std::uint64_t& word : peer.words) {
            const std::size_t dot = std::min(rest.find('.'), rest.size());
            word = hex(rest.substr(0, dot));
            rest.remove_prefix(std::min(dot + 1, rest.size()));
        }
        return peer;
    }

    Digest digest(const char* key) {
        Digest digest;
        const std::string all = text(key);
        good_ = good_ && all.size() == 2 * digest.bytes.size();
        for (std::size_t i = 0; good_ && i < digest.bytes.size(); ++i) {
            digest.bytes[i] = static_cast<std::byte>(hex(std::string_view(all).substr(2 * i, 2)));
        }
        return digest;
    }

    /// Calls read(Fields&) for each object of a list.
    template <class Read>
    void each(const char* key, const Read& read) {
        const json::value* const value = object_.if_contains(key);
        const json::array* const array = value == nullptr ? nullptr : value->if_array();
        good_ = good_ && array != nullptr;
        for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
            if (const json::object* const object = (*array)[i].if_object()) {
                Fields fields(*object);
                read(fields);
                good_ = good_ && fields.good();
            } else {
                good_ = false;
            }
        }
    }

    std::vector<std::uint32_t> numbers(const char* key) {
        std::vector<std::uint32_t> numbers;
        const json::value* const value = object_.if_contains(key);
        const json::array* const array = value == nullptr ? nullptr : value->if_array();
        good_ = good_ && array != nullptr;
        for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
            boost::system::error_code error;
            numbers.push_back((*array)[i].to_number<std::uint32_t>(error));
            good_ = good_ && !error;
        }
        return numbers;
    }

 private:
    std::uint64_t hex(std::string_view digits) {
        std::uint64_t value = 0;
        const char* const end = digits.data() + digits.size();
        const auto [at, error] = std::from_chars(digits.data(), end, value, 16);
        good_ = good_ && error == std::errc{} && at == end;
        return value;
    }

    const json::object& object_;
    bool good_ = true;
};

node::StepCommitted read_step(Fields& from) {
    node::StepCommitted step;
    step.step = from.number<std::uint64_t>("step");
    step.loss = from.real("loss");
    step.gradient_norm = from.real("gradient_norm");
    step.took = Duration(from.number<std::int64_t>("took_ns"));
    step.expected = from.number<std::uint32_t>("expected");
    step.counted = from.number<std::uint32_t>("counted");
    step.replayed = from.number<std::uint32_t>("replayed");
    step.fenced = from.number<std::uint32_t>("fenced");
    if (!from.is_null("wire_bytes")) {
        step.wire_bytes = from.number<std::uint64_t>("wire_bytes");
    }
    step.codecs = from.text("codecs");
    return step;
}

node::PeerChanged read_change(Fields& from) {
    node::PeerChanged changed;
    changed.peer = from.peer("peer");
    changed.stage = {from.number<std::uint32_t>("stage")};
    changed.change = static_cast<node::PeerChange>(from.number<std::uint8_t>("change"));
    changed.reason = from.text("reason");
    changed.peers_per_stage = from.numbers("peers_per_stage");
    return changed;
}

HeldOutFound read_held_out(Fields& from) {
    HeldOutFound found;
    found.step = from.number<std::uint64_t>("step");
    found.loss = from.real("loss");
    found.is_best = from.number<std::uint32_t>("best") > 0;
    from.each("texts", [&](Fields& fields) {
        HeldOutFound::Text text{fields.text("name"), fields.real("loss")};
        if (!fields.is_null("bits_per_byte")) {
            text.bits_per_byte = fields.real("bits_per_byte");
        }
        found.texts.push_back(std::move(text));
    });
    return found;
}

std::optional<TrainReport> read_report(const std::string& kind, Fields& from) {
    if (kind == "listening") {
        Listening listening;
        listening.address = from.text("address");
        listening.join = from.text("join");
        return listening;
    }
    if (kind == "past") {
        PastLoss past;
        past.step = from.number<std::uint64_t>("step");
        past.loss = from.real("loss");
        return past;
    }
    if (kind == "split") {
        StagesCut cut;
        cut.step = from.number<std::uint64_t>("step");
        cut.layers_per_stage = from.numbers("layers_per_stage");
        return cut;
    }
    if (kind == "held_out") {
        return read_held_out(from);
    }
    if (kind == "patience_over") {
        PatienceOver over;
        over.step = from.number<std::uint64_t>("step");
        over.reason = from.text("reason");
        return over;
    }
    if (kind == "step") {
        return read_step(from);
    }
    if (kind == "skip") {
        node::StepSkipped skip;
        skip.step = from.number<std::uint64_t>("step");
        skip.reason = from.text("reason");
        skip.took = Duration(from.number<std::int64_t>("took_ns"));
        return skip;
    }
    if (kind == "share") {
        node::WorkCounted share;
        share.step = from.number<std::uint64_t>("step");
        share.peer = from.peer("peer");
        share.stage = {from.number<std::uint32_t>("stage")};
        share.microbatches = from.number<std::uint32_t>("microbatches");
        share.units_per_s = from.real("units_per_s");
        return share;
    }
    if (kind == "share_lost") {
        node::ShareLost lost;
        lost.peer = from.peer("peer");
        lost.stage = {from.number<std::uint32_t>("stage")};
        lost.microbatches = from.number<std::uint64_t>("microbatches");
        return lost;
    }
    if (kind == "peer") {
        return read_change(from);
    }
    if (kind == "finished") {
        node::RunFinished finished;
        finished.version.gen = from.number<std::uint32_t>("gen");
        finished.version.step = from.number<std::uint64_t>("step");
        finished.weights_sha256 = from.digest("weights_sha256");
        return finished;
    }
    if (kind == "failed") {
        return node::RunFailed{from.number<int>("exit_code"), from.text("text")};
    }
    return std::nullopt;
}

}  // namespace

std::optional<TrainReport> as_train_report(const node::Report& report) {
    return std::visit(
        [](const auto& one) -> std::optional<TrainReport> {
            if constexpr (std::is_constructible_v<TrainReport, decltype(one)>) {
                return one;
            } else {
                return std::nullopt;
            }
        },
        report
    );
}

std::string to_line(const TrainReport& report) {
    const json::object object = std::visit([](const auto& one) { return to_object(one); }, report);
    return json::serialize(object) + "\n";
}

std::optional<TrainReport> parse_report(std::string_view line) {
    boost::system::error_code error;
    const json::value value = json::parse(json::string_view(line.data(), line.size()), error);
    if (error || !value.is_object()) {
        return std::nullopt;
    }
    Fields fields(value.get_object());
    std::optional<TrainReport> report = read_report(fields.text("kind"), fields);
    return fields.good() ? report : std::nullopt;
}

}  // namespace swarm::cli
