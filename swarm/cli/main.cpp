#include "swarm/base/keep_freed_memory.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/verbs.hpp"

#include <csignal>
#include <exception>
#include <iostream>

namespace {

struct RunVerb {
    int operator()(const swarm::cli::TrainOptions& options) const {
        return swarm::cli::train(options);
    }

    int operator()(const swarm::cli::ServeOptions& options) const {
        return swarm::cli::serve(options);
    }

    int operator()(const swarm::cli::DirectoryOptions& options) const {
        return swarm::cli::directory(options);
    }

    int operator()(const swarm::cli::GenerateOptions& options) const {
        return swarm::cli::generate(options);
    }

    int operator()(const swarm::cli::LocalOptions& options) const {
        return swarm::cli::local(options);
    }

    int operator()(const swarm::cli::PlanOptions& options) const {
        return swarm::cli::plan(options);
    }

    int operator()(const swarm::cli::DoctorOptions& options) const {
        return swarm::cli::doctor(options);
    }

    int operator()(const swarm::cli::StackNewOptions& options) const {
        return swarm::cli::new_stack(options);
    }

    int operator()(const swarm::cli::StackAddOptions& options) const {
        return swarm::cli::add_to_stack(options);
    }

    int operator()(const swarm::cli::StackMeasureOptions& options) const {
        return swarm::cli::measure_stack(options);
    }

    int operator()(const swarm::cli::StackTrainOptions& options) const {
        return swarm::cli::train_stack(options);
    }

    int operator()(const swarm::cli::StackShowOptions& options) const {
        return swarm::cli::show_stack(options);
    }

    int operator()(const swarm::cli::SimOptions& options) const {
        return swarm::cli::simulate(options);
    }

    int operator()(const swarm::cli::SimCompareOptions& options) const {
        return swarm::cli::compare_policies(options);
    }

    int operator()(const swarm::cli::SimRecordOptions& options) const {
        return swarm::cli::record_scenario(options);
    }

    int operator()(const swarm::cli::ModelFetchOptions& options) const {
        return swarm::cli::fetch_model(options);
    }

    int operator()(const swarm::cli::ModelShowOptions& options) const {
        return swarm::cli::show_model(options);
    }

    int operator()(const swarm::cli::ModelExportOptions& options) const {
        return swarm::cli::export_model(options);
    }

    int operator()(const swarm::cli::Exit& exit) const {
        (exit.code == swarm::cli::kDone ? std::cout : std::cerr) << exit.text;
        return exit.code;
    }
};

}  // namespace

int main(int argc, char** argv) {
    swarm::keep_freed_memory();
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // beyond `ulimit -f`, write() fails as on a full disk
    try {
        return std::visit(RunVerb{}, swarm::cli::parse_command_line(argc, argv));
    } catch (const std::exception& failure) {  // out of memory, and the like
        std::cerr << "swarm: " << failure.what() << '\n';
        return swarm::cli::kRunFailed;
    }
}
