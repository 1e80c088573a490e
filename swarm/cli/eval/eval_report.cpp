#include "swarm/cli/eval/eval_report.hpp"

#include "swarm/cli/terminal/printable.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cmath>
#include <cstdio>

namespace swarm::cli {
namespace {

namespace json = boost::json;

double quotient(double number, double by) {
    return by > 0 ? number / by : 0;
}

json::value finite_or_null(double value) {
    return std::isfinite(value) ? json::value(value) : json::value(nullptr);
}

json::object exit_as_json(const ExitFigures& one) {
    return {
        {"probability", one.threshold},
        {"tokens", json::array(one.tokens.begin(), one.tokens.end())},
        {"loss", finite_or_null(one.loss())}};
}

json::array exits_as_json(const std::vector<ExitFigures>& exits) {
    json::array list;
    for (const ExitFigures& one : exits) {
        list.push_back(exit_as_json(one));
    }
    return list;
}

constexpr double kPercent = 0.01;

/// The exits that keep to the cost.
std::optional<ExitFigures> found_exits(std::optional<double> exit_cost, const TextFigures& text) {
    return most_early(text.tried, text.loss(), kPercent * exit_cost.value_or(0));
}

json::value found_as_json(std::optional<double> exit_cost, const TextFigures& text) {
    const auto found = found_exits(exit_cost, text);
    return found ? json::value(exit_as_json(*found)) : json::value(nullptr);
}

json::object text_as_json(const TextFigures& text) {
    return {
        {"tokens", text.tokens},
        {"bytes", text.bytes},
        {"loss", finite_or_null(text.loss())},
        {"bits_per_byte", finite_or_null(text.bits_per_byte())},
        {"perplexity", finite_or_null(text.perplexity())},
        {"seconds", text.seconds},
        {"tokens_per_s", text.tokens_per_s()},
        {"exits", exits_as_json(text.exits)}};
}

json::object all_as_json(const EvalFigures& figures) {
    const TextFigures all = sum_of(figures.texts);
    json::object object = text_as_json(all);
    object["exit_found"] = found_as_json(figures.exit_cost, all);
    return object;
}

template <class... Values>
std::string eval_line(const char* format, Values... values) {
    char line[160];
    std::snprintf(line, sizeof line, format, values...);
    return line;
}

unsigned long long wide(std::uint64_t number) {
    return number;
}

}  // namespace

double TextFigures::loss() const {
    return quotient(nats, static_cast<double>(tokens));
}

double TextFigures::bits_per_byte() const {
    return quotient(nats / std::log(2.0), static_cast<double>(bytes));
}

double TextFigures::perplexity() const {
    return std::exp(loss());
}

double TextFigures::tokens_per_s() const {
    return quotient(static_cast<double>(tokens), seconds);
}

TextFigures sum_of(const std::vector<TextFigures>& texts) {
    TextFigures all{.name = "all"};
    for (const TextFigures& text : texts) {
        all.bytes += text.bytes;
        all.tokens += text.tokens;
        all.nats += text.nats;
        all.seconds += text.seconds;
        all.lost += text.lost;
        all.finished = all.finished && text.finished;
        add_exits(all.exits, text.exits);
        add_exits(all.tried, text.tried);
    }
    return all;
}

double TaskFigures::share() const {
    return quotient(static_cast<double>(right), static_cast<double>(items));
}

double TaskFigures::standard_error() const {
    return std::sqrt(quotient(share() * (1 - share()), static_cast<double>(items)));
}

std::string text_heading() {
    return "    tokens       bytes  nats/token  bits/byte  perplexity  tokens/s  text\n";
}

std::string to_row(const TextFigures& text) {
    return eval_line(
               "%10llu  %10llu  %10.4f  %9.4f  %10.4g  %8.1f  ",
               wide(text.tokens),
               wide(text.bytes),
               text.loss(),
               text.bits_per_byte(),
               text.perplexity(),
               text.tokens_per_s()
           ) +
           printable(text.name) + (text.finished ? "" : " (so far)") + "\n";
}

std::string exit_table(
    const std::vector<std::uint32_t>& exits_at,
    std::optional<double> exit_cost,
    const TextFigures& text
) {
    if (text.exits.empty() && text.tried.empty()) {
        return "";
    }
    std::string table = "   exit at";
    for (const std::uint32_t layers : exits_at) {
        table += eval_line("%11s %-3u", "behind", layers);
    }
    table += "       at end  nats/token     change\n";
    std::vector<ExitFigures> rows = text.exits;
    const auto found = found_exits(exit_cost, text);
    if (found) {
        rows.push_back(*found);
    }
    for (const ExitFigures& one : rows) {
        table += eval_line("%10.4g", one.threshold);
        for (std::size_t place = 0; place < one.tokens.size(); ++place) {
            table += eval_line("%11.1f %%  ", 100 * one.share(place));
        }
        const double change = quotient(one.loss() - text.loss(), text.loss());
        table += eval_line("%10.4f  %+8.2f %%\n", one.loss(), 100 * change);
    }
    if (found) {
        table += eval_line(
            "--exit %.4g lets most tokens leave early for at most %+.4g %%: %.1f %%\n",
            found->threshold,
            *exit_cost,
            100 * found->early()
        );
    } else if (exit_cost) {
        table += eval_line("no --exit of 0.01 to 0.99 keeps the change to %+.4g %%\n", *exit_cost);
    }
    return table;
}

std::string task_heading() {
    return "     items       right       share  std. err.    guessing  task\n";
}

std::string to_row(const TaskFigures& task) {
    return eval_line(
               "%10llu  %10llu  %8.1f %%  %7.1f %%  %8.1f %%  ",
               wide(task.items),
               wide(task.right),
               100 * task.share(),
               100 * task.standard_error(),
               100 * task.task->guessing()
           ) +
           std::string(task.task->name) + (task.finished() ? "" : " (so far)") + "\n";
}

std::string to_json(const EvalFigures& figures) {
    json::array texts;
    for (const TextFigures& text : figures.texts) {
        json::object one = text_as_json(text);
        one["text"] = text.name;
        one["lost"] = text.lost;
        one["finished"] = text.finished;
        texts.push_back(std::move(one));
    }
    json::array tasks;
    for (const TaskFigures& task : figures.tasks) {
        tasks.push_back(json::object{
            {"task", task.task->name},
            {"items", task.items},
            {"right", task.right},
            {"share", task.share()},
            {"standard_error", task.standard_error()},
            {"guessing", task.task->guessing()},
            {"seconds", task.seconds},
            {"finished", task.finished()}});
    }
    const bool any = !figures.texts.empty();
    const json::object document{
        {"model", figures.model},
        {"adapter", figures.adapter.empty() ? json::value(nullptr) : json::value(figures.adapter)},
        {"weights", figures.weights},
        {"stages", figures.stages},
        {"path",
         figures.path.empty() ? json::value(nullptr)
                              : json::value(json::array(figures.path.begin(), figures.path.end()))},
        {"context", any ? json::value(figures.context) : json::value(nullptr)},
        {"stride", any ? json::value(figures.stride) : json::value(nullptr)},
        {"exits_at", json::array(figures.exits_at.begin(), figures.exits_at.end())},
        {"exit_cost", figures.exit_cost ? json::value(*figures.exit_cost) : json::value(nullptr)},
        {"texts", std::move(texts)},
        {"all", any ? json::value(all_as_json(figures)) : json::value(nullptr)},
        {"tasks", std::move(tasks)},
        {"interrupted", figures.interrupted}};
    return json::serialize(document) + "\n";
}

}  // namespace swarm::cli
