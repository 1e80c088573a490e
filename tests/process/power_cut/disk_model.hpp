// A disk after a power cut, in the strictest reading of POSIX: the content of a file is there as of
// the last fsync of the file, a name as of the last fsync of its folder, and of what came later
// anything may be there or not. Recorded calls drive it; a cut gives a folder as it may be found.
// Invariant: a rename within a folder is one change; what a folder was before the record is there.
// Threading: one thread. Errors: a call that the model does not know fails the test.
// Source: Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014.
#pragma once

#include "tests/process/power_cut/recorded_call.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace swarm::test {

struct RecordedCall {
    CallKind kind = CallKind::Say;
    int fd = -1;
    std::uint64_t number = 0;
    std::string path;
    std::string data;
};

std::vector<RecordedCall> read_record(const std::filesystem::path& file);

/// The part of the changes that were not synced which a cut leaves.
enum class Names { Lost, Kept, Drawn };
enum class Contents { Lost, Kept, Halved, Zeros, Drawn };

struct Cut {
    Names names = Names::Lost;
    Contents contents = Contents::Lost;
    std::uint64_t seed = 0;  // for what is drawn
};

/// Files by their path below the root; a folder ends with '/'.
using Tree = std::map<std::string, std::string>;

/// Returns the files below a folder of the real disk.
Tree read_tree(const std::filesystem::path& root);
/// Makes the files below the folder, which is empty.
void make_tree(const Tree& tree, const std::filesystem::path& root);

class DiskModel {
 public:
    /// `root` is an empty folder, which is on disk.
    explicit DiskModel(std::filesystem::path root);

    void apply(const RecordedCall& call);

    /// Returns what may be found after a power cut at this moment.
    [[nodiscard]] Tree after(const Cut& cut) const;

    /// Returns what is there while the power is on.
    [[nodiscard]] Tree now() const { return after({Names::Kept, Contents::Kept}); }

 private:
    struct Node;
    using NodePtr = std::shared_ptr<Node>;
    using Change = std::map<std::string, NodePtr>;  // names of one folder; null: the name is gone

    struct Node {
        bool is_folder = false;
        std::string content;
        std::string synced;  // content as of the last fsync
        std::map<std::string, NodePtr> names;
        std::map<std::string, NodePtr> synced_names;
        std::vector<Change> unsynced;  // in the order of the calls
    };

    struct OpenFile {
        NodePtr node;
        std::uint64_t position = 0;
        bool appends = false;
    };

    class Drawing;

    /// Returns the parts of a path below the root.
    [[nodiscard]] std::vector<std::string> parts_of(const std::string& path) const;
    /// Returns the node at the path; null: there is none.
    [[nodiscard]] NodePtr find(const std::vector<std::string>& parts) const;
    [[nodiscard]] NodePtr folder_of(std::vector<std::string> parts) const;
    void change(const NodePtr& folder, const Change& change);
    void open(const RecordedCall& call);
    void write(const RecordedCall& call);
    void sync(int fd);
    void rename(const RecordedCall& call);
    void add_to(
        Tree& tree, const Node& folder, const std::string& at, const Cut& cut, Drawing& draw
    ) const;

    std::filesystem::path root_path_;
    NodePtr root_;
    std::map<int, OpenFile> open_;
};

}  // namespace swarm::test
