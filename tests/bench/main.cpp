// swarm-bench: the figures that the documents promise, measured on this machine. For developers;
// never installed. A figure taken under foreign load is withheld: null in the file.
#include "tests/bench/allreduce/allreduce.hpp"
#include "tests/bench/codec.hpp"
#include "tests/bench/command_line.hpp"
#include "tests/bench/decode.hpp"
#include "tests/bench/gpu_codec.hpp"
#include "tests/bench/kernels.hpp"
#include "tests/bench/link.hpp"
#include "tests/bench/machine_load.hpp"
#include "tests/bench/pick.hpp"
#include "tests/bench/pipeline.hpp"
#include "tests/bench/quality/quality.hpp"
#include "tests/bench/result_file.hpp"
#include "tests/bench/served.hpp"
#include "tests/bench/square_cube.hpp"
#include "tests/bench/threads.hpp"
#include "tests/bench/world.hpp"
#include "tests/golden/model_file.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

namespace bench = swarm::bench;
using Figures = std::vector<std::pair<std::string, double>>;  // by key of the JSON file

constexpr std::size_t kSimulatedPeers = 1000;
constexpr std::uint32_t kThreadsBeside = 2;  // one, in the bench of threads

/// The median of each figure over so many runs.
Figures medians(const std::function<Figures()>& measure, std::size_t count) {
    std::vector<Figures> runs;
    for (std::size_t run = 0; run < count; ++run) {
        runs.push_back(measure());
    }
    Figures result = runs.front();
    for (std::size_t figure = 0; figure < result.size(); ++figure) {
        std::vector<double> values;
        for (const Figures& one : runs) {
            values.push_back(one[figure].second);
        }
        std::sort(values.begin(), values.end());
        result[figure].second = values[count / 2];
    }
    return result;
}

Figures pick_figures() {
    const bench::PickFigures figures = bench::measure_pick();
    return {{"ns_per_pick", std::max(figures.iwrr_ns, figures.expected_finish_ns)}};
}

Figures sim_figures() {
    return {{"events_per_s", bench::measure_world(kSimulatedPeers).events_per_s}};
}

Figures link_figures() {
    const bench::LinkFigures figures = bench::measure_link();
    return {{"ratio", figures.framed_to_raw}, {"heartbeat_p99_ms", figures.heartbeat_p99_ms}};
}

/// The program lies beside this one. Its processes are ours: their load is not foreign.
Figures pipeline_figures() {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const auto figures = bench::measure_pipeline(here / "swarm");
    if (!figures) {
        std::fprintf(stderr, "%s\n", figures.error().detail.c_str());
        std::exit(1);
    }
    return {{"ratio", figures->ratio}, {"cpu_ratio", figures->cpu_ratio}};
}

boost::json::object codec_parts(std::size_t runs) {
    const bench::PartsRow parts = bench::measure_parts(runs);
    std::printf(
        "parts of a reduction, %s: %.2f bytes per element; pack %.0f MB/s, unpack %.0f MB/s\n",
        parts.data.c_str(),
        parts.bytes_per_element,
        parts.pack_mb_per_s,
        parts.unpack_mb_per_s
    );
    return {
        {"data", parts.data},
        {"bytes_per_element", parts.bytes_per_element},
        {"pack_mb_per_s", parts.pack_mb_per_s},
        {"unpack_mb_per_s", parts.unpack_mb_per_s}};
}

boost::json::array codec_transfers() {
    boost::json::array transfers;
    for (const bench::TransferRow& row : bench::measure_transfers()) {
        std::printf(
            "4 MiB over loopback TLS, %-13s: %.2f GB/s of fp32, %.2f of none\n",
            row.codec.c_str(),
            row.bytes_per_s / 1e9,
            row.over_none
        );
        transfers.push_back(
            {{"codec", row.codec},
             {"gb_per_s", row.bytes_per_s / 1e9},
             {"over_none", row.over_none}}
        );
    }
    return transfers;
}

boost::json::object to_json(const bench::CodecRow& row) {
    return {
        {"codec", row.codec},
        {"path", row.path},
        {"tensor_bytes", row.tensor_bytes},
        {"encode_over_memcpy", row.encode_over_memcpy},
        {"decode_over_memcpy", row.decode_over_memcpy},
        {"decode_add_over_memcpy", row.decode_add_over_memcpy},
        {"gb_per_s", row.gb_per_s}};
}

/// Adds rows of the path cuda; without a GPU a line says why there are none.
void add_gpu_rows(boost::json::array& rows, std::size_t runs) {
    const auto measured = bench::measure_gpu_codecs(runs);
    if (!measured) {
        std::printf("cuda: no device (%s)\n", measured.error().detail.c_str());
        return;
    }
    for (const auto& [row, launches] : *measured) {
        std::printf(
            "%-25s %-6s %2zu MiB: encode %.2f, decode %.2f, decode + add %.2f of a copy on the "
            "GPU; %.1f empty launches; %.1f GB/s\n",
            row.codec.c_str(),
            row.path.c_str(),
            row.tensor_bytes >> 20,
            row.encode_over_memcpy,
            row.decode_over_memcpy,
            row.decode_add_over_memcpy,
            launches,
            row.gb_per_s
        );
        boost::json::object object = to_json(row);
        object["encode_launches"] = launches;
        rows.push_back(std::move(object));
    }
}

/// Ratios of CPU time, taken in turns: nothing is withheld, the foreign load stands beside them.
boost::json::object measure_codecs(const std::string& state_file, std::size_t runs) {
    const bench::LoadMeter load;
    boost::json::array rows;
    for (const std::size_t bytes : {bench::kCodecBytes, bench::kCodecBytesLarge}) {
        for (const bench::CodecRow& row : bench::measure_codecs(bytes, runs)) {
            std::printf(
                "%-25s %-6s %2zu MiB: encode %.2f, decode %.2f, decode + add %.2f of memcpy; "
                "%.1f GB/s\n",
                row.codec.c_str(),
                row.path.c_str(),
                row.tensor_bytes >> 20,
                row.encode_over_memcpy,
                row.decode_over_memcpy,
                row.decode_add_over_memcpy,
                row.gb_per_s
            );
            rows.push_back(to_json(row));
        }
    }
    add_gpu_rows(rows, runs);
    const auto planes = bench::measure_planes(state_file, std::min<std::size_t>(runs, 5));
    if (!planes) {
        std::fprintf(stderr, "%s\n", planes.error().detail.c_str());
        std::exit(1);
    }
    std::printf(
        "byte planes, %s: %.3f times smaller; pack %.0f MB/s, unpack %.0f MB/s\n",
        planes->data.c_str(),
        planes->ratio,
        planes->pack_mb_per_s,
        planes->unpack_mb_per_s
    );
    boost::json::object parts = codec_parts(std::min<std::size_t>(runs, 5));
    boost::json::array transfers = codec_transfers();
    return {
        {"name", "codec"},
        {"runs", runs},
        {"foreign_load", load.foreign().value_or(0)},
        {"rows", std::move(rows)},
        {"reduce_parts", std::move(parts)},
        {"transfers", std::move(transfers)},
        {"byte_planes",
         {{"data", planes->data},
          {"ratio", planes->ratio},
          {"pack_mb_per_s", planes->pack_mb_per_s},
          {"unpack_mb_per_s", planes->unpack_mb_per_s}}}};
}

/// Figures of turns with another program: nothing is withheld, the foreign load stands beside them.
boost::json::object decode_report(bench::DecodeOptions options, std::size_t runs) {
    const bench::LoadMeter load;
    if (options.model.empty()) {
        options.model = swarm::golden::smollm2_file();
    }
    const auto measured = bench::measure_decode(options, runs);
    if (!measured) {
        std::fprintf(stderr, "%s\n", measured.error().detail.c_str());
        std::exit(1);
    }
    boost::json::array rows = bench::tell(*measured);
    const double foreign = load.foreign().value_or(0);
    if (foreign > bench::kForeignLoadMax) {
        std::printf("foreign load (%.0f %%): compare ratios of CPU time\n", 100 * foreign);
    }
    return {
        {"name", "decode"},
        {"runs", runs},
        {"foreign_load", foreign},
        {"model", options.model.string()},
        {"threads", options.threads},
        {"prompt", options.prompt},
        {"tokens", options.tokens},
        {"texts", options.texts},
        {"beside", options.beside},
        {"rows", std::move(rows)}};
}

boost::json::value to_json(const std::optional<double>& value) {
    return value ? boost::json::value(*value) : boost::json::value(nullptr);
}

/// Ratios of neighbours in time: nothing is withheld, the foreign load stands beside them.
boost::json::object measure_allreduce(
    std::uint32_t mib, std::size_t runs, const std::string& python
) {
    const bench::LoadMeter load;
    const auto figures = bench::measure_allreduce(mib, runs, python);
    if (!figures) {
        std::fprintf(stderr, "%s\n", figures.error().detail.c_str());
        std::exit(1);
    }
    std::printf(
        "%u x %u MiB: %.3f s, %.3f s for its %zu MiB over plain TLS\nratio_to_link: %.3f\n",
        bench::kReducers,
        mib,
        figures->seconds,
        figures->link_seconds,
        figures->mib_on_wire,
        figures->ratio_to_link
    );
    const auto print = [](const char* key, const std::optional<double>& value) {
        if (value) {
            std::printf("%s: %.3g\n", key, *value);
        }
    };
    print("gloo_seconds", figures->gloo_seconds);
    print("ratio_to_gloo", figures->ratio_to_gloo);
    print("hivemind_seconds", figures->hivemind_seconds);
    print("hivemind_to_gloo", figures->hivemind_to_gloo);
    return {
        {"name", "allreduce"},
        {"runs", runs},
        {"foreign_load", load.foreign().value_or(0)},
        {"mib", mib},
        {"mib_on_wire", figures->mib_on_wire},
        {"seconds", figures->seconds},
        {"link_seconds", figures->link_seconds},
        {"ratio_to_link", figures->ratio_to_link},
        {"gloo_seconds", to_json(figures->gloo_seconds)},
        {"ratio_to_gloo", to_json(figures->ratio_to_gloo)},
        {"hivemind_seconds", to_json(figures->hivemind_seconds)},
        {"hivemind_to_gloo", to_json(figures->hivemind_to_gloo)}};
}

Figures served_figures(const std::string& weights) {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const auto rates = bench::measure_served(here / "swarm", "smollm2", weights);
    if (!rates) {
        std::fprintf(stderr, "%s\n", rates.error().detail.c_str());
        std::exit(1);
    }
    Figures figures{{"alone_tokens_per_s", rates->alone}};
    for (std::size_t stages = 1; stages <= rates->served.size(); ++stages) {
        const double ratio = rates->served[stages - 1] / rates->alone;
        figures.emplace_back("ratio_" + std::to_string(stages), ratio);
    }
    figures.emplace_back("hop_ms", rates->added_ms_per_hop());
    return figures;
}

std::function<Figures()> threads_bench(std::uint32_t threads) {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    auto opened = bench::ThreadsBench::open(here / "swarm", swarm::golden::smollm2_file(), threads);
    const auto end_with = [](const swarm::Error& error) {
        std::fprintf(stderr, "%s\n", error.detail.c_str());
        std::exit(1);
    };
    if (!opened) {
        end_with(opened.error());
    }
    return [end_with, bench = std::make_shared<bench::ThreadsBench>(std::move(*opened))] {
        const auto figures = bench->round();
        if (!figures) {
            end_with(figures.error());
        }
        return Figures{
            {"decode_ratio", figures->decode_ratio},
            {"prompt_ratio", figures->prompt_ratio},
            {"train_ratio", figures->train_ratio},
            {"memory_ratio", figures->memory_ratio},
            {"memory_share_alone", figures->memory_share_alone},
            {"memory_share_together", figures->memory_share_together}};
    };
}

/// `points`: those of this round.
Figures square_cube_figures(std::vector<bench::SquareCubePoint>& points) {
    auto measured = bench::measure_square_cube();
    if (!measured) {
        std::fprintf(stderr, "%s\n", measured.error().detail.c_str());
        std::exit(1);
    }
    points = std::move(*measured);
    Figures figures;
    for (const bench::SquareCubePoint& point : points) {
        figures.emplace_back("seconds_" + point.name(), point.compute_s);
    }
    return figures;
}

/// One measurement, printed and put into the report.
boost::json::object measure(
    const std::string& name, const std::function<Figures()>& run, std::size_t count
) {
    const bench::LoadMeter load;
    const Figures figures = medians(run, count);
    const double foreign = load.foreign().value_or(0);
    const bool skipped = foreign > bench::kForeignLoadMax;
    boost::json::object report{{"name", name}, {"runs", count}, {"foreign_load", foreign}};
    for (const auto& [key, value] : figures) {
        if (skipped) {
            report[key] = nullptr;
            std::printf("%s: skipped: foreign load (%.0f %%)\n", key.c_str(), 100 * foreign);
        } else {
            report[key] = value;
            std::printf("%s: %.4g\n", key.c_str(), value);
        }
    }
    return report;
}

boost::json::object measure_square_cubes(const bench::BenchOptions& options) {
    std::vector<bench::SquareCubePoint> points;
    auto report = measure(
        options.name, [&] { return square_cube_figures(points); }, options.runs
    );
    for (bench::SquareCubePoint& point : points) {
        const std::string name = point.name();
        if (report.at("seconds_" + name).is_null()) {
            return report;  // foreign load
        }
        point.compute_s = report.at("seconds_" + name).to_number<double>();
        const double busy = point.busy(bench::kSquareCubeLine_bytes_per_s);
        report["bytes_" + name] = point.bytes;
        report["busy_" + name] = busy;
        std::printf(
            "busy_%s: %.3f, %llu bytes\n",
            name.c_str(),
            busy,
            static_cast<unsigned long long>(point.bytes)
        );
    }
    if (!options.quality.svg_file.empty()) {
        std::ofstream svg(options.quality.svg_file);
        if (!(svg << bench::square_cube_svg(points) << std::flush)) {
            std::fprintf(stderr, "cannot write %s\n", options.quality.svg_file.c_str());
            std::exit(1);
        }
    }
    return report;
}

boost::json::object report_of(const bench::BenchOptions& options) {
    if (options.name == "codec") {
        return measure_codecs(options.state_file, options.runs);
    }
    if (options.name == "decode") {
        bench::DecodeOptions decode = options.decode;
        decode.weights = options.weights;
        decode.threads = options.threads.value_or(1);
        return decode_report(std::move(decode), options.runs);
    }
    if (options.name == "allreduce") {
        return measure_allreduce(options.mib, options.runs, options.python);
    }
    if (options.name == "threads") {
        return measure(
            options.name, threads_bench(options.threads.value_or(kThreadsBeside)), options.runs
        );
    }
    if (options.name == "square-cube") {
        return measure_square_cubes(options);
    }
    const std::string weights = options.weights.empty() ? "as-is" : options.weights;
    const std::map<std::string, std::function<Figures()>> benches{
        {"pick", pick_figures},
        {"kernels", bench::measure_kernels},
        {"sim", sim_figures},
        {"link", link_figures},
        {"pipeline", pipeline_figures},
        {"served", [&] { return served_figures(weights); }}};
    return measure(options.name, benches.at(options.name), options.runs);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::BenchCommand command = bench::parse_bench_command_line(argc, argv);
    if (const auto* const exit = std::get_if<bench::BenchExit>(&command)) {
        std::fputs(exit->text.c_str(), exit->code == 0 ? stdout : stderr);
        return exit->code;
    }
    const auto& options = std::get<bench::BenchOptions>(command);
    if (options.name == "quality") {
        return bench::measure_quality(options.quality, options.json_file);
    }
    const auto written = bench::write_json(options.json_file, report_of(options));
    if (!written) {
        std::fprintf(stderr, "%s\n", written.error().detail.c_str());
    }
    return written ? 0 : 1;
}
