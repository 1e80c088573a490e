#include "swarm/cli/generate/generate.hpp"

#include "stacking/generator.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "stacking/tokenizers/stop_texts.hpp"
#include "stacking/tokenizers/tokenizer_file.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/generate_alone.hpp"
#include "swarm/cli/answer/remote_answer.hpp"
#include "swarm/cli/common/client_process.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/owners/owner_check.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/standard_output.hpp"
#include "swarm/protocol/limits.hpp"

#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

using stacking::tokenizers::ModelTokenizer;
using stacking::tokenizers::SpecialTokens;

constexpr std::size_t kPromptBytesMax = 16 << 20;  // maximum from standard input
constexpr std::uint32_t kBytes = 256;              // the vocabulary where a token is a byte

/// A text by the peers of a run, from the question to its last token.
class Generation {
 public:
    Generation(const GenerateOptions& options, Console& console)
        : options_(options), console_(console), stops_(options.stops), process_(console) {}

    int run() {
        if (const Result<> started = start(); !started) {
            return end_with(console_, started.error());
        }
        process_.run();
        return process_.finish();
    }

 private:
    Result<> start() {
        stacking::Generator::Options generator;
        generator.coordinator_address = options_.join;
        generator.first_contact_within = options_.wait;
        generator.patience = options_.wait;
        generator.tokenizer_sha256 = std::nullopt;
        if (!options_.tokenizer_file.empty()) {
            SWARM_TRY(
                std::string file, read_file(options_.tokenizer_file, protocol::kTokenizerBytesMax)
            );
            SWARM_TRY(read_tokenizer(std::move(file), options_.tokenizer_file));
            generator.tokenizer_sha256 = tokenizer_sha256_;
        }
        ClientProcess::Options process;
        process.towards = options_.join;
        process.first_contact = make_owner_check(options_.owner, console_);
        process.swarm_key_file = options_.swarm_key_file;
        process.on_report = [this](const node::Report& report) { on_report(report); };
        SWARM_TRY(process_.start(
            std::move(process), std::make_unique<stacking::Generator>(std::move(generator))
        ));
        return tokenizer_ ? ask() : Result<>{};
    }

    /// `origin` stands before an error.
    Result<> read_tokenizer(std::string file, const std::string& origin) {
        tokenizer_sha256_ = to_hex(sha256(std::as_bytes(std::span(file))));
        auto made = stacking::tokenizers::parse_tokenizer_file(std::move(file));
        if (!made) {
            const Error& error = made.error();
            return Error{error.code, error.reaction, origin + ": " + error.detail};
        }
        tokenizer_ = std::move(*made);
        return {};
    }

    /// Asks for the text, once the tokens of the run are known.
    Result<> ask() {
        std::vector<std::uint32_t> prompt;
        if (tokenizer_) {
            SWARM_TRY(prompt, tokenizer_->encode(options_.prompt, SpecialTokens::AsText));
        } else {
            for (const char letter : options_.prompt) {
                prompt.push_back(static_cast<unsigned char>(letter));
            }
        }
        process_.ask({node::GenerateRequest{
            1,
            std::move(prompt),
            options_.tokens,
            options_.temperature,
            options_.seed,
            options_.top_p,
            options_.top_k}});
        return {};
    }

    Result<> ask_with(std::string tokenizer) {
        if (!tokenizer.empty()) {
            SWARM_TRY(read_tokenizer(std::move(tokenizer), "the run's tokenizer"));
        }
        return ask();
    }

    void on_report(const node::Report& report) {
        if (const auto* const token = std::get_if<node::TokenGenerated>(&report)) {
            take(*token);
        } else if (const auto* const tokenizer = std::get_if<node::TokenizerKnown>(&report)) {
            if (const Result<> asked = ask_with(tokenizer->file); !asked) {
                process_.end(end_with(console_, asked.error()));
            }
        } else if (const auto* const failed = std::get_if<node::GenerationFailed>(&report)) {
            console_.error(failed->reason);
            process_.end(kRunFailed);
        }
    }

    std::string bytes_of(std::uint32_t token) const {
        if (tokenizer_) {
            Result<std::string> bytes = tokenizer_->decode(std::span(&token, 1));
            return bytes ? std::move(*bytes) : "";
        }
        return token < kBytes ? std::string(1, static_cast<char>(token)) : "";
    }

    /// A token that is a byte is written as it is, but to people; a character of several tokens is
    /// written whole.
    void write(const std::string& bytes) {
        if (output_is_terminal()) {
            std::cout << printable(stream_.push(bytes)) << std::flush;
        } else {
            std::cout << (tokenizer_ ? stream_.push(bytes) : bytes) << std::flush;
        }
    }

    void take(const node::TokenGenerated& token) {
        if (!std::exchange(begun_, true)) {
            std::cout << (output_is_terminal() ? printable(options_.prompt) : options_.prompt);
        }
        write(stops_.push(bytes_of(token.token)));
        if (token.last || stops_.is_found()) {
            write(stops_.finish());
            const std::string rest = stream_.finish();
            std::cout << (output_is_terminal() ? printable(rest) : rest) << std::endl;
            process_.end(kDone);
        } else if (!output_is_taken()) {
            process_.end(kRunFailed);
        }
    }

    const GenerateOptions& options_;
    Console& console_;
    std::optional<ModelTokenizer> tokenizer_;  // that of the run; none: its tokens are bytes
    std::string tokenizer_sha256_;
    stacking::tokenizers::StopTexts stops_;
    stacking::tokenizers::Utf8Stream stream_;
    bool begun_ = false;
    ClientProcess process_;
};

}  // namespace

int generate(const GenerateOptions& given) {
    Console console;
    GenerateOptions options = given;
    if (options.prompt == "-") {
        Result<std::string> text = read_standard_input(kPromptBytesMax);
        if (!text) {
            return end_with(console, text.error());
        }
        options.prompt = std::move(*text);
    }
    if (options.model.empty() && options.stack.empty()) {
        return Generation(options, console).run();
    }
    return options.join.empty() ? generate_alone(options, console)
                                : generate_remote(options, console);
}

}  // namespace swarm::cli
