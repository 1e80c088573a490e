#include "swarm/cli/chat/partner.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/answer/generate_alone.hpp"
#include "swarm/cli/answer/remote_answer.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

#include <optional>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::tokenizers::ChatMessage;

class AlonePartner final : public Partner {
 public:
    AlonePartner(
        AloneModel model,
        GenerateOptions options,
        net::EventLoop& loop,
        std::function<bool()> stops,
        Console& console
    )
        : model_(std::move(model)),
          options_(std::move(options)),
          loop_(loop),
          stops_(std::move(stops)),
          console_(console) {}

    Result<std::string> answer(const std::vector<ChatMessage>& messages) override {
        options_.messages = messages;
        // The loop stands still while this thread computes, so it runs after each token.
        const auto goes_on = [this] {
            loop_.run_ready();
            return !stops_();
        };
        return answer_alone(model_, options_, goes_on, console_);
    }

 private:
    AloneModel model_;
    GenerateOptions options_;
    net::EventLoop& loop_;
    std::function<bool()> stops_;
    Console& console_;
};

class PeersPartner final : public Partner {
 public:
    PeersPartner(
        GenerateOptions options,
        net::EventLoop& loop,
        std::function<bool()> stops,
        Console& console
    )
        : options_(std::move(options)),
          loop_(loop),
          stops_(std::move(stops)),
          answer_(loop, options_, {}, console) {}

    ~PeersPartner() override {
        if (is_open_) {
            answer_.close();
        }
    }

    Result<std::string> answer(const std::vector<ChatMessage>& messages) override {
        options_.messages = messages;
        if (is_open_) {
            SWARM_TRY(answer_.ask_next());
        } else {
            SWARM_TRY(answer_.start(options_.join));
            is_open_ = true;
        }
        loop_.run_until([this] { return answer_.ended() || stops_(); });
        answer_.cancel(answer_.exit_code().value_or(kDone));
        answer_.end_text();
        if (answer_.failure()) {
            return *answer_.failure();
        }
        if (*answer_.exit_code() != kDone) {
            return Error{ErrorCode::Unreachable, Reaction::Retry, "the peers gave no answer"};
        }
        return answer_.record().text;
    }

 private:
    GenerateOptions options_;
    net::EventLoop& loop_;
    std::function<bool()> stops_;
    RemoteAnswer answer_;
    bool is_open_ = false;
};

}  // namespace

Result<std::unique_ptr<Partner>> find_partner(
    GenerateOptions options,
    net::EventLoop& loop,
    std::function<bool()> stops,
    Console& console
) {
    if (!options.join.empty()) {
        return std::unique_ptr<Partner>(
            std::make_unique<PeersPartner>(std::move(options), loop, std::move(stops), console)
        );
    }
    SWARM_TRY(AloneModel model, open_alone(options, console));
    return std::unique_ptr<Partner>(std::make_unique<AlonePartner>(
        std::move(model), std::move(options), loop, std::move(stops), console
    ));
}

}  // namespace swarm::cli
