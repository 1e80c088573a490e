#include "stages/torch/intra_op_threads.hpp"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <string>

namespace stages::torch_backend {
namespace {

/// LibTorch's warnings go to stderr, as before, but for one of which nobody can make use: the first
/// product of a gradient on a GPU finds no context on its thread, and then takes the right one.
class Warnings final : public c10::WarningHandler {
 public:
    void process(const c10::Warning& warning) override {
        if (warning.msg().find("no current CUDA context") == std::string::npos) {
            c10::WarningHandler::process(warning);
        }
    }
};

}  // namespace

void compute_on(std::uint32_t threads) {
    thread_local std::uint32_t is_set = 0;
    if (is_set != threads) {
        at::set_num_threads(static_cast<int>(threads));
        static Warnings warnings;
        c10::WarningUtils::set_warning_handler(&warnings);
        is_set = threads;
    }
}

}  // namespace stages::torch_backend
