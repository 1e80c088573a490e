// The owners that have answered at the addresses to which this user has joined, in a text file: one
// line for each, "HOST:PORT ID", and of several lines for an address the last one counts. People
// may edit it.
// Invariants: a line is added by one write and is on disk when add() returns; processes that add
// lines at once lose none; a line that is torn or not understood is passed over.
// Threading: none. Errors: StorageFailed (Fatal); NotFound for an empty path. A caller warns and
// goes on, as without the file. Cost: the file is read whole at each find().
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace swarm::cli {

class KnownOwners {
 public:
    explicit KnownOwners(std::filesystem::path file) : file_(std::move(file)) {}

    /// `address`: host:port. nullopt: nobody is known there, and the file may not be there.
    [[nodiscard]] Result<std::optional<PeerId>> find(const std::string& address) const;

    /// Makes the file and its folder, for this user alone, when there is none.
    [[nodiscard]] Result<> add(const std::string& address, const PeerId& owner) const;

    [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
    std::filesystem::path file_;  // empty: there is no folder for it
};

}  // namespace swarm::cli
