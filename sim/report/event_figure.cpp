#include "sim/report/axis.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/plot.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace sim {
namespace {

constexpr int kColumns = 400;
constexpr std::size_t kTextsPerTick = 4;

struct Column {
    std::size_t count = 0;
    std::string text;  // texts of the first few
};

using Columns = std::map<int, Column>;

Columns columns_of(const std::vector<const Note*>& notes, double seconds_max) {
    Columns columns;
    for (const Note* note : notes) {
        const double share = std::clamp(note->at_s / seconds_max, 0.0, 1.0);
        Column& column = columns[static_cast<int>(std::lround(share * (kColumns - 1)))];
        if (column.count++ < kTextsPerTick) {
            column.text += (column.text.empty() ? "" : "; ") + seconds_text(note->at_s) +
                           (note->text.empty() ? "" : ": " + note->text);
        }
    }
    return columns;
}

std::string row(
    NoteKind kind, const std::string& id, const std::vector<const Note*>& notes, double seconds_max
) {
    const std::string many = count_text(notes.size());
    const std::string name(to_text(kind));
    std::string out = "<div class=\"events-row\"><span>" + name + "</span>" +
                      "<svg viewBox=\"0 0 " + std::to_string(kColumns) +
                      " 10\" preserveAspectRatio=\"none\" role=\"img\" tabindex=\"0\" "
                      "aria-labelledby=\"" +
                      id + "\"><title id=\"" + id + "\">" + many + " times " + name +
                      ", first at " + seconds_text(notes.front()->at_s) + ", last at " +
                      seconds_text(notes.back()->at_s) + "</title>";
    for (const auto& [at, column] : columns_of(notes, seconds_max)) {
        const bool more = column.count > kTextsPerTick;
        out += "<rect class=\"event " + class_of_kind(kind) + "\" x=\"" + std::to_string(at) +
               "\" y=\"0\" width=\"1.5\" height=\"10\"><title>" +
               escaped(column.text + (more ? "; and more" : "")) + "</title></rect>";
    }
    return out + "</svg><span class=\"count\">" + many + "</span></div>";
}

}  // namespace

std::string event_figure(const std::vector<Note>& notes, double seconds_max) {
    std::map<std::string_view, std::vector<const Note*>> by_name;
    for (const Note& note : notes) {
        if (std::isfinite(note.at_s)) {
            by_name[to_text(note.kind)].push_back(&note);
        }
    }
    std::string out =
        "<figure class=\"plot\" id=\"events\"><figcaption><h2>Events</h2><p>One row per kind, one "
        "tick per event; the ticks' titles say more.</p></figcaption>";
    if (by_name.empty()) {
        return out +
               "<p class=\"no-data\">Nothing happened: no fault, move or newcomer.</p>"
               "</figure>\n";
    }
    const double width = seconds_max > 0 ? seconds_max : 1;
    std::size_t number = 0;
    for (const auto& [name, of_kind] : by_name) {
        out += row(of_kind.front()->kind, "events-" + std::to_string(number++), of_kind, width);
    }
    out += "<div class=\"events-row\"><span></span><div class=\"x\" aria-hidden=\"true\">";
    for (const Tick& tick : time_ticks(width)) {
        out += "<span style=\"left:" + number_text(100 * tick.at / width) + "%\">" +
               escaped(tick.text) + "</span>";
    }
    return out + "</div><span></span></div></figure>\n";
}

}  // namespace sim
