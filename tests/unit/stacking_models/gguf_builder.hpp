// Writes GGUF v3 files for tests, valid and invalid ones.
// Invariant: bytes() is the file that the calls so far describe, counts included.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::models::test {

enum class Gguf : std::uint32_t {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64
};

class Bytes {
 public:
    template <class T>
    Bytes& add(T value) {
        const auto raw = std::as_bytes(std::span(&value, 1));
        bytes_.insert(bytes_.end(), raw.begin(), raw.end());
        return *this;
    }

    Bytes& text(std::string_view text) {
        add(std::uint64_t{text.size()});
        const auto raw = std::as_bytes(std::span(text));
        bytes_.insert(bytes_.end(), raw.begin(), raw.end());
        return *this;
    }

    Bytes& append(const Bytes& other) {
        bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
        return *this;
    }

    Bytes& add_all(std::span<const std::byte> raw) {
        bytes_.insert(bytes_.end(), raw.begin(), raw.end());
        return *this;
    }

    void align(std::size_t alignment) {
        bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    }

    [[nodiscard]] const std::vector<std::byte>& get() const { return bytes_; }

    [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
    std::vector<std::byte> bytes_;
};

class GgufBuilder {
 public:
    template <class T>
    GgufBuilder& key(std::string_view name, Gguf type, T value) {
        begin_key(name, type);
        metadata_.add(value);
        return *this;
    }

    GgufBuilder& u32(std::string_view name, std::uint32_t value) {
        return key(name, Gguf::U32, value);
    }

    GgufBuilder& f32(std::string_view name, float value) { return key(name, Gguf::F32, value); }

    GgufBuilder& text(std::string_view name, std::string_view value) {
        begin_key(name, Gguf::String);
        metadata_.text(value);
        return *this;
    }

    GgufBuilder& texts(std::string_view name, const std::vector<std::string>& values) {
        begin_array(name, Gguf::String, values.size());
        for (const std::string& value : values) {
            metadata_.text(value);
        }
        return *this;
    }

    GgufBuilder& numbers(std::string_view name, const std::vector<std::int32_t>& values) {
        begin_array(name, Gguf::I32, values.size());
        for (const std::int32_t value : values) {
            metadata_.add(value);
        }
        return *this;
    }

    /// Adds a value in the bytes that follow its type in the file.
    GgufBuilder& raw(std::string_view name, Gguf type, const Bytes& value) {
        begin_key(name, type);
        metadata_.append(value);
        return *this;
    }

    /// `sizes`: contiguous dimension first, the order of the file.
    GgufBuilder& tensor(
        std::string_view name,
        const std::vector<std::uint64_t>& sizes,
        std::uint32_t type,
        const Bytes& data
    ) {
        data_.align(kAlignment);
        add_entry(name, sizes, type, data_.size());
        data_.append(data);
        return *this;
    }

    GgufBuilder& f32_tensor(
        std::string_view name,
        const std::vector<std::uint64_t>& sizes,
        std::span<const float> values
    ) {
        Bytes data;
        data.add_all(std::as_bytes(values));
        return tensor(name, sizes, 0, data);
    }

    /// Adds an entry of the table without data.
    void add_entry(
        std::string_view name,
        const std::vector<std::uint64_t>& sizes,
        std::uint32_t type,
        std::uint64_t offset
    ) {
        table_.text(name).add(static_cast<std::uint32_t>(sizes.size()));
        for (const std::uint64_t size : sizes) {
            table_.add(size);
        }
        table_.add(type).add(offset);
        ++tensors_;
    }

    std::optional<std::uint64_t> claimed_tensors;
    std::optional<std::uint64_t> claimed_keys;
    std::uint32_t version = 3;

    [[nodiscard]] std::vector<std::byte> bytes() const {
        Bytes file;
        file.add(std::uint32_t{0x46554747}).add(version);
        file.add(claimed_tensors.value_or(tensors_)).add(claimed_keys.value_or(keys_));
        file.append(metadata_).append(table_);
        file.align(kAlignment);
        file.append(data_);
        return file.get();
    }

 private:
    static constexpr std::size_t kAlignment = 32;

    void begin_key(std::string_view name, Gguf type) {
        metadata_.text(name).add(type);
        ++keys_;
    }

    void begin_array(std::string_view name, Gguf type, std::uint64_t count) {
        begin_key(name, Gguf::Array);
        metadata_.add(type).add(count);
    }

    Bytes metadata_;
    Bytes table_;
    Bytes data_;
    std::uint64_t keys_ = 0;
    std::uint64_t tensors_ = 0;
};

}  // namespace stacking::models::test
