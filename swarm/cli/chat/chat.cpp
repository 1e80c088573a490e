#include "swarm/cli/chat/chat.hpp"

#include "swarm/cli/chat/conversation.hpp"
#include "swarm/cli/chat/line_input.hpp"
#include "swarm/cli/chat/partner.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/standard_output.hpp"
#include "swarm/net/event_loop.hpp"

#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

namespace swarm::cli {
namespace {

class Chat {
 public:
    explicit Chat(const GenerateOptions& options)
        : options_(options),
          conversation_(options.system),
          is_typed_(::isatty(STDIN_FILENO) != 0) {}

    int run() {
        auto found = find_partner(options_, loop_, [this] { return is_pressed(); }, console_);
        if (!found) {
            return end_with(console_, found.error());
        }
        partner_ = std::move(*found);
        loop_.on_signal([this](int number) { signal_ = number; });
        if (is_typed_) {
            std::cerr << "/help shows the commands.\n";
        }
        while (!exit_code_) {
            if (is_typed_) {
                std::cerr << "> " << std::flush;
            }
            const std::optional<std::string> line = input_.next([this] { return is_pressed(); });
            if (line) {
                take(*line);
            } else if (!is_pressed()) {
                std::cerr << (is_typed_ ? "\n" : "");
                end(kDone);
            } else if (is_typed_) {
                std::cerr << "\nCtrl-D or /end ends.\n";
            }
            take_press();
        }
        return *exit_code_;
    }

 private:
    [[nodiscard]] bool is_pressed() const { return signal_ != 0; }

    /// Ctrl-C stops what goes on; it ends the program if nobody is there to say what comes next.
    void take_press() {
        const int number = std::exchange(signal_, 0);
        if (number != 0 && (number != SIGINT || !is_typed_)) {
            end(after_signal(number));
        }
    }

    void take(const std::string& line) {
        const Conversation::Step step = conversation_.take(line);
        switch (step.kind) {
            case Conversation::Kind::Nothing:
                break;
            case Conversation::Kind::Ask:
                ask();
                break;
            case Conversation::Kind::Tell:
                std::cerr << step.text << '\n';
                break;
            case Conversation::Kind::Save:
                save(step.text);
                break;
            case Conversation::Kind::End:
                end(kDone);
                break;
        }
    }

    void save(const std::string& file) {
        if (write_text(console_, file, conversation_.to_json())) {
            std::cerr << "saved to " << file << '\n';
        } else if (!is_typed_) {
            end(kRunFailed);
        }
    }

    void ask() {
        Result<std::string> answered = partner_->answer(conversation_.messages());
        if (!output_is_taken()) {
            return end(kRunFailed);
        }
        if (answered) {
            return conversation_.add_answer(std::move(*answered));
        }
        conversation_.drop_question();
        const int exit_code = end_with(console_, answered.error());
        if (!is_typed_) {
            end(exit_code);
        } else if (answered.error().code == ErrorCode::TooLarge) {
            std::cerr << "/new begins a new conversation, /undo takes a question back.\n";
        }
    }

    void end(int exit_code) { exit_code_ = exit_code_.value_or(exit_code); }

    const GenerateOptions& options_;
    Console console_;
    Conversation conversation_;
    net::EventLoop loop_;
    LineInput input_{loop_};
    bool is_typed_;
    int signal_ = 0;  // number of the signal that came and was not heeded yet
    std::unique_ptr<Partner> partner_;
    std::optional<int> exit_code_;
};

}  // namespace

int chat(const ChatOptions& options) {
    return Chat(options.generate).run();
}

}  // namespace swarm::cli
