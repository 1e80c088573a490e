// Files, encoders and builds for the tests of swarm/data.
// Threading: one thread. Errors: a file that cannot be written fails the test.
#pragma once

#include "swarm/data/build.hpp"
#include "swarm/data/data_set.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>
#include <zlib.h>
#include <zstd.h>

namespace swarm::data::test {

namespace fs = std::filesystem;

inline std::string read_bytes(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return std::move(text).str();
}

inline void write_bytes(const fs::path& path, std::string_view bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(out.flush()) << path;
}

/// One member of a gzip file.
inline std::string gzip(std::string_view text) {
    z_stream deflate{};
    EXPECT_EQ(::deflateInit2(&deflate, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string packed(text.size() + 1024, '\0');
    std::string input(text);
    deflate.next_in = reinterpret_cast<Bytef*>(input.data());
    deflate.avail_in = static_cast<uInt>(input.size());
    deflate.next_out = reinterpret_cast<Bytef*>(packed.data());
    deflate.avail_out = static_cast<uInt>(packed.size());
    EXPECT_EQ(::deflate(&deflate, Z_FINISH), Z_STREAM_END);
    packed.resize(deflate.total_out);
    ::deflateEnd(&deflate);
    return packed;
}

/// One frame of zstd.
inline std::string zstd(std::string_view text) {
    std::string packed(::ZSTD_compressBound(text.size()), '\0');
    packed.resize(::ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    return packed;
}

/// Token i is byte i, and 256 ends a document.
inline Encoder byte_encoder(std::uint32_t vocabulary = 257) {
    Encoder encoder{"bytes", sha256({}), vocabulary, 256};
    encoder.encode = [](std::string_view text, TextPlace) {
        std::vector<std::uint32_t> ids;
        for (const char letter : text) {
            ids.push_back(static_cast<unsigned char>(letter));
        }
        return Result<std::vector<std::uint32_t>>(std::move(ids));
    };
    return encoder;
}

/// Returns all documents of a source, each of which must end with the end token.
inline std::vector<std::string> documents_of(const DataSet& data, std::size_t source) {
    std::vector<std::uint32_t> ids(data.manifest().sources[source].tokens);
    EXPECT_TRUE(data.read(source, 0, ids));
    std::vector<std::string> documents(1);
    for (const std::uint32_t id : ids) {
        if (id == data.manifest().end_token) {
            documents.emplace_back();
        } else {
            documents.back().push_back(static_cast<char>(id));
        }
    }
    EXPECT_EQ(documents.back(), "");
    documents.pop_back();
    return documents;
}

/// The files of a folder by name, with their bytes.
inline std::map<std::string, std::string> files_of(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        files[entry.path().filename().string()] = read_bytes(entry.path());
    }
    return files;
}

class DataBed : public testing::Test {
 protected:
    [[nodiscard]] fs::path input(const std::string& name) const {
        return folder.path() / "in" / name;
    }

    [[nodiscard]] fs::path output(const std::string& name = "out") const {
        return folder.path() / name;
    }

    void write(const std::string& name, std::string_view bytes) const {
        write_bytes(input(name), bytes);
    }

    /// One source, "prose", of these paths, with small shards.
    [[nodiscard]] static DataFile data_of(std::vector<std::string> paths) {
        DataFile data;
        data.tokenizer = "bytes";
        data.shard_tokens = kShardTokensLeast;
        data.sources.push_back({"prose", std::move(paths)});
        return data;
    }

    [[nodiscard]] Result<Built> build(
        const DataFile& data, const BuildEvents& events = {}, const std::string& to = "out"
    ) const {
        return build_data(data, byte_encoder(), {folder.path() / "in", output(to)}, events);
    }

    static std::string json_line(const std::string& text) {
        return R"({"text":")" + text + "\"}\n";
    }

    swarm::test::TemporaryFolder folder;
};

}  // namespace swarm::data::test
