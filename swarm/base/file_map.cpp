#include "swarm/base/file_map.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace swarm {
namespace {

/// A map as the handler of SIGBUS sees it. It is lock-free, as a handler must be.
struct Place {
    std::atomic<bool> taken{false};
    std::atomic<std::uintptr_t> begin{0};  // 0: there is no map
    std::atomic<std::uintptr_t> end{0};    // end of the last page
    std::atomic<bool> torn{false};
};

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

std::array<Place, FileMap::kMapsMax> places;
std::atomic<std::size_t> places_used{0};  // places from this one on were never taken
std::uintptr_t page_bytes = 0;
struct sigaction former {};

std::uintptr_t page_of(std::uintptr_t address) {
    return address / page_bytes * page_bytes;
}

/// Puts zeros in the place of the page, and of all behind it. Returns false for an address that is
/// in no map.
bool fill_with_zeros(std::uintptr_t address) {
    for (std::size_t i = 0; i < places_used; ++i) {
        Place& place = places[i];
        const std::uintptr_t end = place.end;
        if (place.begin == 0 || address < place.begin || address >= end) {
            continue;
        }
        place.torn = true;
        const std::uintptr_t page = page_of(address);
        return ::mmap(
                   reinterpret_cast<void*>(page),
                   end - page,
                   PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                   -1,
                   0
               ) != MAP_FAILED;
    }
    return false;
}

void on_bus_error(int number, siginfo_t* info, void* context) {
    const int code = errno;
    const bool is_fault = info->si_code > 0;  // not sent by a process
    if (is_fault && fill_with_zeros(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
        errno = code;
        return;
    }
    if ((former.sa_flags & SA_SIGINFO) != 0) {
        former.sa_sigaction(number, info, context);
    } else if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) {
        former.sa_handler(number);
    } else {
        ::signal(number, SIG_DFL);
        ::raise(number);
    }
}

void handle_bus_errors() {
    page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action {};

    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &former);
}

/// Returns kMapsMax when all places are taken.
std::size_t take_place() {
    std::size_t place = 0;
    while (place < places.size() && places[place].taken.exchange(true)) {
        ++place;
    }
    std::size_t used = places_used;
    while (place < places.size() && used <= place &&
           !places_used.compare_exchange_weak(used, place + 1)) {
    }
    return place;
}

}  // namespace

std::unique_ptr<FileMap> FileMap::open(int descriptor, std::size_t bytes) {
    static std::once_flag once;
    std::call_once(once, handle_bus_errors);
    const std::size_t index = bytes == 0 ? kMapsMax : take_place();
    if (index == kMapsMax) {
        return nullptr;
    }
    Place& place = places[index];
    void* const start = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (start == MAP_FAILED) {
        place.taken = false;
        return nullptr;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(start);
    place.torn = false;
    place.end = page_of(begin + bytes - 1) + page_bytes;
    place.begin = begin;
    return std::unique_ptr<FileMap>(
        new FileMap({static_cast<const std::byte*>(start), bytes}, index)
    );
}

FileMap::~FileMap() {
    Place& place = places[place_];
    place.begin = 0;
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    place.taken = false;
}

bool FileMap::is_whole() const {
    return !places[place_].torn;
}

void FileMap::fetch(std::size_t from, std::size_t count) const {
    const std::size_t end = std::min(from + count, bytes_.size());
    const std::size_t first = from / page_bytes * page_bytes;
    if (first < end) {
        auto* const at = const_cast<std::byte*>(bytes_.data()) + first;
        ::madvise(at, end - first, MADV_WILLNEED);
    }
}

void FileMap::forget(std::size_t from, std::size_t count) const {
    // Pages in part belong to neighbours, too.
    const std::size_t first = (from + page_bytes - 1) / page_bytes * page_bytes;
    const std::size_t end = std::min(from + count, bytes_.size()) / page_bytes * page_bytes;
    if (first < end) {
        auto* const at = const_cast<std::byte*>(bytes_.data()) + first;
        ::madvise(at, end - first, MADV_DONTNEED);
    }
}

}  // namespace swarm
