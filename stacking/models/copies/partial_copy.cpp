#include "stacking/models/copies/partial_copy.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"
#include "swarm/base/write_error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace stacking::models {

namespace fs = std::filesystem;
using swarm::Error;
using swarm::ErrorCode;
using swarm::FileDescriptor;
using swarm::Reaction;
using swarm::Result;
using swarm::protocol::kChunkBytes;
using swarm::protocol::kFileChunksMax;
using swarm::protocol::kManifestBytesMax;

namespace {

constexpr const char* kManifestName = "swarm.manifest";
constexpr const char* kChunksName = "swarm.chunks";
constexpr const char* kLayersName = "swarm.layers";
constexpr const char* kElsewhere = "name another cache in SWARM_DEPS";

/// Bytes that a copy leaves to others on its disk.
constexpr std::uint64_t kRoomToSpare = 64ULL << 20;

thread_local MissingChunks* watching = nullptr;

Result<std::vector<std::byte>> read_all(const fs::path& path, std::uint64_t bytes_max) {
    SWARM_TRY(const std::string text, read_text(path, bytes_max));
    const auto bytes = std::as_bytes(std::span(text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
}

/// One byte per chunk: '1' where it is there.
void read_present(const fs::path& folder, PresentChunks& chunks) {
    const auto list = read_text(folder / kChunksName, kFileChunksMax);
    if (list && list->size() == chunks.present.size()) {
        for (std::size_t i = 0; i < list->size(); ++i) {
            chunks.present[i] = (*list)[i] == '1';
        }
    }
}

/// A file of a copy.
class BytesWithHoles final : public ByteSource {
 public:
    BytesWithHoles(
        std::unique_ptr<ByteSource> file,
        std::uint32_t number,
        std::shared_ptr<const PresentChunks> chunks,
        std::string path
    )
        : file_(std::move(file)),
          number_(number),
          chunks_(std::move(chunks)),
          path_(std::move(path)) {}

    [[nodiscard]] std::uint64_t size() const override { return file_->size(); }

    [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> bytes) const override {
        SWARM_TRY(check_there(offset, bytes.size()));
        return file_->read(offset, bytes);
    }

    [[nodiscard]] Result<std::span<const std::byte>> view(
        std::uint64_t offset, std::size_t count, std::vector<std::byte>& room
    ) const override {
        SWARM_TRY(check_there(offset, count));
        return file_->view(offset, count, room);
    }

    [[nodiscard]] Result<> check_there(std::uint64_t offset, std::uint64_t count) const override {
        if (offset <= size() && count <= size() - offset && !is_there(offset, offset + count)) {
            return Error{
                ErrorCode::NotFound,
                Reaction::Reject,
                path_ +
                    " is a part of a model's file, taken from peers, and lacks some of what "
                    "is needed here; serve with --join, which takes it, or use the whole model"};
        }
        return {};
    }

    [[nodiscard]] Result<> check_views() const override { return file_->check_views(); }

    void fetch(std::uint64_t offset, std::uint64_t count) const override {
        file_->fetch(offset, count);
    }

    void forget(std::uint64_t offset, std::uint64_t count) const override {
        file_->forget(offset, count);
    }

 private:
    /// Notes all chunks that are missing in the range.
    [[nodiscard]] bool is_there(std::uint64_t at, std::uint64_t end) const {
        const std::uint32_t first = chunks_->manifest.first_chunk(number_);
        bool all = true;
        while (at < end) {
            const auto chunk = first + static_cast<std::uint32_t>(at / kChunkBytes);
            const std::uint64_t known_upto = end_of_begin_at(at);
            if (!chunks_->present[chunk] && known_upto > at) {
                at = known_upto;
                continue;
            }
            if (!chunks_->present[chunk]) {
                MissingChunks::note(chunk);
                all = false;
            }
            at = (at / kChunkBytes + 1) * kChunkBytes;
        }
        return all;
    }

    /// Where the known beginning of a tensor ends that has this byte; 0 without one.
    [[nodiscard]] std::uint64_t end_of_begin_at(std::uint64_t at) const {
        const auto& begins = chunks_->manifest.begins;
        auto found = std::upper_bound(
            begins.begin(),
            begins.end(),
            std::pair(number_, at),
            [](const auto& place, const TensorBegin& begin) {
                return place < std::pair(begin.file, begin.offset);
            }
        );
        if (found == begins.begin() || (--found)->file != number_) {
            return 0;
        }
        const std::uint64_t end = found->offset + found->bytes.size();
        return end > at ? end : 0;
    }

    std::unique_ptr<ByteSource> file_;
    std::uint32_t number_;
    std::shared_ptr<const PresentChunks> chunks_;
    std::string path_;
};

Result<> write_at(
    int file, std::uint64_t offset, std::span<const std::byte> bytes, const fs::path& path
) {
    while (!bytes.empty()) {
        const ssize_t count =
            ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return swarm::write_error(path, errno, kElsewhere);
        }
        bytes = bytes.subspan(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
    return {};
}

/// False: the file has no such bytes, or cannot be read.
bool read_at(const fs::path& path, std::uint64_t offset, std::span<std::byte> bytes) {
    const FileDescriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    while (in.is_open() && !bytes.empty()) {
        const ssize_t count =
            ::pread(in.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (count <= 0 && !(count < 0 && errno == EINTR)) {
            return false;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        offset += static_cast<std::uint64_t>(std::max<ssize_t>(count, 0));
    }
    return in.is_open();
}

Result<FileDescriptor> open_to_write(const fs::path& path) {
    FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file.is_open()) {
        return swarm::write_error(path, errno, kElsewhere);
    }
    return file;
}

}  // namespace

MissingChunks::MissingChunks() : around_(std::exchange(watching, this)) {}

MissingChunks::~MissingChunks() {
    watching = around_;
}

void MissingChunks::note(std::uint32_t chunk) {
    if (watching != nullptr) {
        watching->chunks_.insert(chunk);
    }
}

Result<PartialCopy> PartialCopy::resume(
    const fs::path& folder, std::span<const std::byte> manifest
) {
    SWARM_TRY(FileManifest names, FileManifest::decode(manifest));
    PartialCopy copy(folder, std::make_shared<PresentChunks>(std::move(names)));
    const auto there = manifest_of_copy(folder);
    if (there && std::ranges::equal(*there, manifest)) {
        SWARM_TRY(copy.check_present());
    } else {
        SWARM_TRY(copy.begin(manifest));
    }
    return copy;
}

Result<> PartialCopy::begin(std::span<const std::byte> manifest) {
    std::error_code ignored;
    fs::remove(folder_ / kManifestName, ignored);  // first: without it the folder is no copy
    fs::remove_all(folder_, ignored);
    SWARM_TRY(swarm::make_folder(folder_, kElsewhere));
    // The list and the manifest come before the files, which are never there without them.
    const std::string none(chunks_->present.size(), '0');
    SWARM_TRY(
        swarm::write_durably(folder_ / kChunksName, std::as_bytes(std::span(none)), kElsewhere)
    );
    SWARM_TRY(swarm::write_durably(folder_ / kManifestName, manifest, kElsewhere));
    for (const ManifestFile& file : chunks_->manifest.files) {
        const fs::path path = folder_ / file.name;
        SWARM_TRY(const FileDescriptor out, open_to_write(path));
        if (::ftruncate(out.get(), static_cast<off_t>(file.size)) != 0) {
            return swarm::write_error(path, errno, kElsewhere);
        }
    }
    for (const TensorBegin& begin : chunks_->manifest.begins) {
        const fs::path path = folder_ / chunks_->manifest.files[begin.file].name;
        SWARM_TRY(const FileDescriptor out, open_to_write(path));
        SWARM_TRY(write_at(out.get(), begin.offset, begin.bytes, path));
    }
    return swarm::sync_folder(folder_, kElsewhere);
}

Result<> PartialCopy::check_present() {
    read_present(folder_, *chunks_);
    std::vector<std::byte> bytes;
    for (std::uint32_t chunk = 0; chunk < chunks_->present.size(); ++chunk) {
        if (has(chunk)) {
            const FileRange place = manifest().place_of(chunk);
            bytes.resize(place.bytes);
            const fs::path path = folder_ / manifest().files[place.file].name;
            chunks_->present[chunk] = read_at(path, place.offset, bytes) &&
                                      swarm::sha256(bytes) == manifest().chunks[chunk];
        }
    }
    // A file that is gone or has another size is made anew, as holes.
    for (const ManifestFile& file : manifest().files) {
        SWARM_TRY(const FileDescriptor out, open_to_write(folder_ / file.name));
        if (::ftruncate(out.get(), static_cast<off_t>(file.size)) != 0) {
            return swarm::write_error(folder_ / file.name, errno, kElsewhere);
        }
    }
    for (const TensorBegin& begin : manifest().begins) {
        const fs::path path = folder_ / manifest().files[begin.file].name;
        SWARM_TRY(const FileDescriptor out, open_to_write(path));
        SWARM_TRY(write_at(out.get(), begin.offset, begin.bytes, path));
    }
    return sync();
}

std::uint32_t PartialCopy::present() const {
    return static_cast<std::uint32_t>(
        std::count(chunks_->present.begin(), chunks_->present.end(), true)
    );
}

Result<> PartialCopy::put(std::uint32_t chunk, std::span<const std::byte> bytes) {
    if (chunk >= manifest().chunks.size() || swarm::sha256(bytes) != manifest().chunks[chunk]) {
        return Error{
            ErrorCode::Malformed,
            Reaction::RetryElsewhere,
            "chunk " + std::to_string(chunk) + " has another hash than the manifest says"};
    }
    const FileRange place = manifest().place_of(chunk);
    const fs::path path = folder_ / manifest().files[place.file].name;
    SWARM_TRY(const FileDescriptor out, open_to_write(path));
    SWARM_TRY(write_at(out.get(), place.offset, bytes, path));
    chunks_->present[chunk] = true;
    return {};
}

Result<> PartialCopy::check_room(std::span<const std::uint32_t> chunks) const {
    std::uint64_t wanted = kRoomToSpare;
    for (const std::uint32_t chunk : chunks) {
        wanted += has(chunk) ? 0 : manifest().place_of(chunk).bytes;
    }
    std::error_code code;
    const fs::space_info space = fs::space(folder_, code);
    if (!code && space.available < wanted) {
        return Error{
            ErrorCode::StorageFailed,
            Reaction::Fatal,
            folder_.string() + " has room for " + std::to_string(space.available >> 20) +
                " MiB; the layers need " + std::to_string(wanted >> 20) + "; make room there, or " +
                kElsewhere};
    }
    return {};
}

Result<> PartialCopy::sync() {
    for (const ManifestFile& file : manifest().files) {
        SWARM_TRY(const FileDescriptor out, open_to_write(folder_ / file.name));
        if (::fdatasync(out.get()) != 0) {
            return swarm::write_error(folder_ / file.name, errno, kElsewhere);
        }
    }
    std::string list;
    for (const std::atomic<bool>& present : chunks_->present) {
        list += present ? '1' : '0';
    }
    return swarm::write_durably(folder_ / kChunksName, std::as_bytes(std::span(list)), kElsewhere);
}

Result<> PartialCopy::remember(std::uint32_t first_layer, std::uint32_t end_layer) {
    const std::string text = std::to_string(first_layer) + " " + std::to_string(end_layer) + "\n";
    return swarm::write_durably(folder_ / kLayersName, std::as_bytes(std::span(text)), kElsewhere);
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> PartialCopy::remembered() const {
    constexpr std::uint64_t kTextMax = 64;
    const auto text = read_text(folder_ / kLayersName, kTextMax);
    std::pair<std::uint32_t, std::uint32_t> layers;
    if (!text || std::sscanf(text->c_str(), "%u %u", &layers.first, &layers.second) != 2 ||
        layers.first >= layers.second) {
        return std::nullopt;
    }
    return layers;
}

fs::path PartialCopy::model() const {
    const std::string& first = manifest().files.front().name;
    return first.ends_with(".gguf") ? folder_ / first : folder_;
}

std::vector<std::uint32_t> missing_chunks(
    const ModelSource& model, const swarm::run::StageLayout& layers
) {
    const MissingChunks missing;
    std::vector<std::byte> bytes;
    for (const swarm::run::TensorSpec& wanted : layers.tensors) {
        const auto found = model.tensors().find(wanted.name);
        if (found == model.tensors().end()) {
            continue;
        }
        // These reads only let the missing chunks be noted.
        const StoredTensor& tensor = found->second;
        for (std::uint64_t at = 0; at < tensor.bytes; at += kChunkBytes) {
            bytes.resize(std::min<std::uint64_t>(kChunkBytes, tensor.bytes - at));
            const auto read = model.read_stored(tensor, at, bytes);
            static_cast<void>(read);
        }
    }
    return {missing.chunks().begin(), missing.chunks().end()};
}

Result<std::vector<std::byte>> manifest_of_copy(const fs::path& folder) {
    return read_all(folder / kManifestName, kManifestBytesMax);
}

Result<std::unique_ptr<ByteSource>> with_holes(
    const fs::path& path, std::unique_ptr<ByteSource> file
) {
    std::error_code ignored;
    const fs::path name = path.filename();
    if (name == kManifestName || name == kChunksName || name == kLayersName ||
        !fs::exists(path.parent_path() / kManifestName, ignored)) {
        return file;
    }
    SWARM_TRY(const auto bytes, manifest_of_copy(path.parent_path()));
    SWARM_TRY(FileManifest manifest, FileManifest::decode(bytes));
    const auto found = std::ranges::find(manifest.files, name.string(), &ManifestFile::name);
    if (found == manifest.files.end() || found->size != file->size()) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            path.string() +
                " lies in a folder of files that were taken from peers, and is none of "
                "them as they were; remove the folder"};
    }
    const auto number = static_cast<std::uint32_t>(found - manifest.files.begin());
    const auto chunks = std::make_shared<PresentChunks>(std::move(manifest));
    read_present(path.parent_path(), *chunks);
    return std::make_unique<BytesWithHoles>(std::move(file), number, chunks, path.string());
}

}  // namespace stacking::models
