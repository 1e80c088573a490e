#include "tests/process/power_cut/disk_model.hpp"

#include "swarm/base/rng.hpp"
#include "tests/process/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <utility>

namespace swarm::test {

namespace fs = std::filesystem;

std::vector<RecordedCall> read_record(const fs::path& file) {
    const std::string bytes = read_text(file);
    std::vector<RecordedCall> calls;
    for (std::size_t at = 0; at + sizeof(CallHeader) <= bytes.size();) {
        CallHeader header;
        std::memcpy(&header, bytes.data() + at, sizeof header);
        at += sizeof header;
        RecordedCall call{header.kind, header.fd, header.number, {}, {}};
        call.path = bytes.substr(at, header.path_bytes);
        call.data = bytes.substr(at + header.path_bytes, header.data_bytes);
        at += header.path_bytes + header.data_bytes;
        calls.push_back(std::move(call));
    }
    return calls;
}

Tree read_tree(const fs::path& root) {
    Tree tree;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
        const std::string name = entry.path().lexically_relative(root).string();
        if (entry.is_directory()) {
            tree[name + "/"];
        } else {
            tree[name] = read_text(entry.path());
        }
    }
    return tree;
}

void make_tree(const Tree& tree, const fs::path& root) {
    for (const auto& [name, content] : tree) {  // a folder comes before what is in it
        if (name.ends_with('/')) {
            fs::create_directory(root / name.substr(0, name.size() - 1));
        } else {
            std::ofstream(root / name, std::ios::binary) << content;
            const bool is_secret = name.ends_with(".pem");
            fs::permissions(root / name, is_secret ? fs::perms(0600) : fs::perms(0644));
        }
    }
}

/// Draws what is kept.
class DiskModel::Drawing {
 public:
    explicit Drawing(std::uint64_t seed) : rng_(seed, 0) {}

    bool keeps(Names names) {
        return names == Names::Drawn ? rng_.below(2) == 0 : names == Names::Kept;
    }

    std::string content_of(const Node& file, Contents contents) {
        if (contents == Contents::Drawn) {
            contents =
                static_cast<Contents>(rng_.below(static_cast<std::uint64_t>(Contents::Drawn)));
        }
        const std::string& now = file.content;
        const std::string& synced = file.synced;
        switch (contents) {
            case Contents::Lost:
                return synced;
            case Contents::Halved:
                return now.starts_with(synced)
                           ? now.substr(0, synced.size() + (now.size() - synced.size()) / 2)
                           : now.substr(0, now.size() / 2);
            case Contents::Zeros: {
                std::string text = now.starts_with(synced) ? synced : std::string();
                text.resize(now.size(), '\0');
                return text;
            }
            default:
                return now;
        }
    }

 private:
    Rng rng_;
};

DiskModel::DiskModel(fs::path root) : root_path_(std::move(root)), root_(new Node) {
    root_->is_folder = true;
}

std::vector<std::string> DiskModel::parts_of(const std::string& path) const {
    const fs::path below = fs::path(path).lexically_normal().lexically_relative(root_path_);
    std::vector<std::string> parts;
    for (const fs::path& part : below) {
        if (!part.empty() && part != ".") {
            parts.push_back(part.string());
        }
    }
    return parts;
}

DiskModel::NodePtr DiskModel::find(const std::vector<std::string>& parts) const {
    NodePtr node = root_;
    for (const std::string& part : parts) {
        const auto found = node->names.find(part);
        if (found == node->names.end()) {
            return nullptr;
        }
        node = found->second;
    }
    return node;
}

DiskModel::NodePtr DiskModel::folder_of(std::vector<std::string> parts) const {
    parts.pop_back();
    return find(parts);
}

void DiskModel::change(const NodePtr& folder, const Change& change) {
    ASSERT_NE(folder, nullptr) << "a call of the record names a folder that is not there";
    for (const auto& [name, node] : change) {
        if (node == nullptr) {
            folder->names.erase(name);
        } else {
            folder->names[name] = node;
        }
    }
    folder->unsynced.push_back(change);
}

void DiskModel::open(const RecordedCall& call) {
    const std::vector<std::string> parts = parts_of(call.path);
    if (!parts.empty() && parts.front() == "..") {
        open_.erase(call.fd);
        return;  // the folder above the root
    }
    const auto flags = static_cast<int>(call.number);
    NodePtr node = find(parts);
    if (node == nullptr && (flags & O_CREAT) != 0) {
        node = std::make_shared<Node>();
        change(folder_of(parts), {{parts.back(), node}});
    }
    ASSERT_NE(node, nullptr) << call.path << " was opened and is not known";
    if ((flags & O_TRUNC) != 0) {
        node->content.clear();
    }
    open_[call.fd] = {node, 0, (flags & O_APPEND) != 0};
}

void DiskModel::write(const RecordedCall& call) {
    const auto found = open_.find(call.fd);
    if (found == open_.end()) {
        return;  // a pipe, a socket, or a file elsewhere
    }
    OpenFile& file = found->second;
    std::string& content = file.node->content;
    const bool here = call.number == kAtPosition;
    const std::uint64_t at = !here ? call.number : (file.appends ? content.size() : file.position);
    content.resize(std::max(content.size(), at + call.data.size()));
    content.replace(at, call.data.size(), call.data);
    if (here) {
        file.position = at + call.data.size();
    }
}

void DiskModel::sync(int fd) {
    const auto found = open_.find(fd);
    if (found == open_.end()) {
        return;
    }
    Node& node = *found->second.node;
    node.synced = node.content;
    node.synced_names = node.names;
    node.unsynced.clear();
}

void DiskModel::rename(const RecordedCall& call) {
    const std::vector<std::string> from = parts_of(call.path);
    const std::vector<std::string> to = parts_of(call.data);
    const NodePtr node = find(from);
    ASSERT_NE(node, nullptr) << call.path << " was renamed and is not known";
    if (folder_of(from) == folder_of(to)) {
        change(folder_of(from), {{from.back(), nullptr}, {to.back(), node}});
    } else {
        change(folder_of(to), {{to.back(), node}});
        change(folder_of(from), {{from.back(), nullptr}});
    }
}

void DiskModel::apply(const RecordedCall& call) {
    const std::vector<std::string> parts = parts_of(call.path);
    switch (call.kind) {
        case CallKind::Open:
            return open(call);
        case CallKind::Close:
            open_.erase(call.fd);
            return;
        case CallKind::Write:
            return write(call);
        case CallKind::Truncate:
            if (const auto file = open_.find(call.fd); file != open_.end()) {
                file->second.node->content.resize(call.number);
            }
            return;
        case CallKind::Sync:
            return sync(call.fd);
        case CallKind::MakeFolder: {
            const auto folder = std::make_shared<Node>();
            folder->is_folder = true;
            return change(folder_of(parts), {{parts.back(), folder}});
        }
        case CallKind::RemoveFolder:
        case CallKind::Unlink:
            return change(folder_of(parts), {{parts.back(), nullptr}});
        case CallKind::Rename:
            return rename(call);
        case CallKind::Link: {
            const std::vector<std::string> to = parts_of(call.data);
            return change(folder_of(to), {{to.back(), find(parts)}});
        }
        case CallKind::Say:
            return;
    }
}

void DiskModel::add_to(
    Tree& tree, const Node& folder, const std::string& at, const Cut& cut, Drawing& draw
) const {
    std::map<std::string, NodePtr> names = folder.synced_names;
    for (const Change& change : folder.unsynced) {
        if (!draw.keeps(cut.names)) {
            continue;
        }
        for (const auto& [name, node] : change) {
            if (node == nullptr) {
                names.erase(name);
            } else {
                names[name] = node;
            }
        }
    }
    for (const auto& [name, node] : names) {
        if (node->is_folder) {
            tree[at + name + "/"];
            add_to(tree, *node, at + name + "/", cut, draw);
        } else {
            tree[at + name] = draw.content_of(*node, cut.contents);
        }
    }
}

Tree DiskModel::after(const Cut& cut) const {
    Tree tree;
    Drawing draw(cut.seed);
    add_to(tree, *root_, "", cut, draw);
    return tree;
}

}  // namespace swarm::test
