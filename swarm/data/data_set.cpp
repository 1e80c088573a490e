#include "swarm/data/data_set.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace swarm::data {
namespace {

Error set_error(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

}  // namespace

Result<DataSet> DataSet::open(const std::filesystem::path& folder, Check check) {
    SWARM_TRY(auto read, read_manifest(folder));
    DataSet set;
    set.manifest_ = std::move(read.manifest);
    set.digest_ = read.digest;
    for (std::uint32_t i = 0; i < set.manifest_.sources.size(); ++i) {
        SWARM_TRY(set.open_source(folder, i, check));
    }
    return set;
}

Result<> DataSet::open_source(
    const std::filesystem::path& folder, std::uint32_t source, Check check
) {
    const ManifestSource& wanted = manifest_.sources[source];
    std::vector<Shard> shards;
    std::uint64_t tokens = 0;
    for (std::uint32_t i = 0; i < wanted.shards.size(); ++i) {
        SWARM_TRY(Shard shard, Shard::open(folder / shard_name(wanted.name, i)));
        const ShardHeader& header = shard.header();
        if (shard.digest() != wanted.shards[i] || header.first_token != tokens) {
            return set_error(
                ErrorCode::Mismatch,
                shard.path().string() + " is not the shard that the manifest names; build again"
            );
        }
        if (check == Check::Everything) {
            SWARM_TRY(shard.verify(manifest_.vocabulary));
        }
        tokens += header.tokens;
        shards.push_back(std::move(shard));
    }
    if (tokens != wanted.tokens) {
        return set_error(
            ErrorCode::Malformed,
            "source " + wanted.name + " has " + std::to_string(tokens) + " tokens, not the " +
                std::to_string(wanted.tokens) + " of the manifest; build again"
        );
    }
    shards_.push_back(std::move(shards));
    return {};
}

Result<> DataSet::check_fits(std::uint32_t vocabulary) const {
    if (manifest_.vocabulary <= vocabulary) {
        return {};
    }
    return set_error(
        ErrorCode::Mismatch,
        "the data was built with the tokenizer " + manifest_.tokenizer + ", which has " +
            std::to_string(manifest_.vocabulary) + " tokens; the model has " +
            std::to_string(vocabulary) + ": build the data with the model's own tokenizer"
    );
}

Result<> DataSet::read(std::size_t source, std::uint64_t first, std::span<std::uint32_t> ids)
    const {
    SWARM_ASSERT(source < shards_.size());
    const std::uint64_t tokens = manifest_.sources[source].tokens;
    SWARM_ASSERT(first <= tokens && ids.size() <= tokens - first);
    const std::vector<Shard>& shards = shards_[source];
    const auto behind = std::upper_bound(
        shards.begin(),
        shards.end(),
        first,
        [](std::uint64_t token, const Shard& shard) { return token < shard.header().first_token; }
    );
    // At least the first shard begins at or before the token, unless no token is asked for.
    for (auto shard = behind == shards.begin() ? behind : behind - 1; !ids.empty(); ++shard) {
        SWARM_ASSERT(shard != shards.end());
        const std::uint64_t at = first - shard->header().first_token;
        const auto some =
            ids.first(std::min<std::uint64_t>(ids.size(), shard->header().tokens - at));
        shard->read(at, some);
        for (const std::uint32_t id : some) {
            const bool may_be_flagged = shard->header().no_loss_tokens > 0;
            if ((may_be_flagged ? token_id(id) : id) >= manifest_.vocabulary) {
                return set_error(
                    ErrorCode::Malformed, shard->path().string() + " is damaged; build again"
                );
            }
        }
        first += some.size();
        ids = ids.subspan(some.size());
    }
    return {};
}

}  // namespace swarm::data
