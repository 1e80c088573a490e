#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/data/data.hpp"
#include "swarm/cli/data/data_report.hpp"
#include "swarm/cli/data/data_tokenizer.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/data/data_set.hpp"
#include "swarm/data/samples.hpp"

#include <cstddef>
#include <iostream>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

Result<data::DataSet> open_shown(const DataShowOptions& options) {
    using data::Check;
    SWARM_TRY(
        auto set,
        data::DataSet::open(options.folder, options.check ? Check::Everything : Check::Headers)
    );
    if (!options.model.empty()) {
        SWARM_TRY(const OpenModel model, open_model(options.model));
        SWARM_TRY(set.check_fits(model.source.architecture().model.vocabulary));
    }
    return set;
}

/// Decodes with the tokenizer of the data, if it is still there and the same.
class SampleDecoder {
 public:
    SampleDecoder(const std::string& folder, const data::Manifest& manifest, Console& console) {
        auto opened = open_kept_tokenizer(folder, manifest.tokenizer, manifest.end_token);
        if (!opened) {
            console.warn("no text, only ids: " + opened.error().detail);
        } else if (opened->encoder.digest != manifest.tokenizer_digest) {
            console.warn(
                "no text, only ids: the tokenizer " + manifest.tokenizer +
                " is another one than that of the data"
            );
        } else {
            decode_ = std::move(opened->decode);
        }
    }

    [[nodiscard]] std::string text_of(const std::vector<std::uint32_t>& ids) const {
        if (decode_) {
            if (auto text = decode_(ids)) {
                return *std::move(text);
            }
        }
        std::string list;
        for (const std::uint32_t id : ids) {
            list += (list.empty() ? "" : " ") + std::to_string(id);
        }
        return list;
    }

    /// Puts [[ and ]] around what counts for no loss. The first token counts as the one behind it:
    /// it is no target.
    [[nodiscard]] std::string marked_text_of(const std::vector<std::uint32_t>& tokens) const {
        std::string text;
        const auto counts = [&](std::size_t i) {
            return counts_for_loss(tokens[i == 0 && tokens.size() > 1 ? 1 : i]);
        };
        for (std::size_t begin = 0; begin < tokens.size();) {
            std::size_t end = begin;
            std::vector<std::uint32_t> part;
            for (; end < tokens.size() && counts(end) == counts(begin); ++end) {
                part.push_back(token_id(tokens[end]));
            }
            text += counts(begin) ? text_of(part) : "[[" + text_of(part) + "]]";
            begin = end;
        }
        return text;
    }

 private:
    std::function<Result<std::string>(std::span<const std::uint32_t>)> decode_;
};

Result<std::vector<ShownSample>> draw(const DataSampleOptions& options, Console& console) {
    SWARM_TRY(const auto set, data::DataSet::open(options.folder, data::Check::Headers));
    SWARM_TRY(const auto samples, data::Samples::make(set, options.context, options.seed));
    const SampleDecoder decoder(options.folder, set.manifest(), console);
    std::vector<ShownSample> drawn;
    for (std::uint64_t i = 0; i < options.samples; ++i) {
        ShownSample sample;
        sample.number = options.from + i;
        sample.place = samples.place(sample.number);
        sample.source = set.manifest().sources[sample.place.source].name;
        sample.ids.resize(std::size_t{options.context} + 1);
        SWARM_TRY(samples.read(sample.number, sample.ids));
        sample.text = stacking::tokenizers::to_utf8(decoder.marked_text_of(sample.ids));
        drawn.push_back(std::move(sample));
    }
    return drawn;
}

}  // namespace

int show_data(const DataShowOptions& options) {
    Console console;
    const auto set = open_shown(options);
    if (!set) {
        return end_with(console, set.error());
    }
    std::cout << printable(data_text(set->manifest(), set->digest())) << std::flush;
    if (!options.json_file.empty() &&
        !write_text(console, options.json_file, data_json(set->manifest(), set->digest()))) {
        return kRunFailed;
    }
    return kDone;
}

int sample_data(const DataSampleOptions& options) {
    Console console;
    const auto drawn = draw(options, console);
    if (!drawn) {
        return end_with(console, drawn.error());
    }
    std::cout << printable(samples_text(*drawn)) << std::flush;
    if (!options.json_file.empty() &&
        !write_text(console, options.json_file, samples_json(*drawn))) {
        return kRunFailed;
    }
    return kDone;
}

}  // namespace swarm::cli
