#include "stacking/models/gguf_header.hpp"

#include "stacking/models/gguf_cursor.hpp"
#include "stacking/models/limits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <set>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Result;

namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint32_t kVersion = 3;
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::string_view kKeptArrays = "tokenizer.ggml.";
constexpr const char* kAlignmentKey = "general.alignment";

/// The numbers by which the file names its types of values.
enum class ValueType : std::uint32_t {
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

constexpr std::uint32_t kValueTypes = 13;

/// Least bytes that a value of each type takes in the file.
constexpr std::array<std::uint64_t, kValueTypes> kValueBytes = {
    1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

std::string name_tensor_type(std::uint32_t type) {
    static constexpr std::array<const char*, 31> kNames = {
        "F32",     "F16",    "Q4_0",    "Q4_1",  "Q4_2",   "Q4_3",  "Q5_0",  "Q5_1",
        "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
        "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
        "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16"};
    return type < kNames.size() ? kNames[type] : "type " + std::to_string(type);
}

/// Types by the numbers of the file; those that are not in the table cannot be read.
std::optional<WeightType> weight_type(std::uint32_t type) {
    struct Row {
        std::uint32_t number;
        WeightType type;
    };

    static constexpr std::array kTypes = {
        Row{0, WeightType::F32},
        Row{1, WeightType::F16},
        Row{2, WeightType::Q4_0},
        Row{3, WeightType::Q4_1},
        Row{6, WeightType::Q5_0},
        Row{7, WeightType::Q5_1},
        Row{8, WeightType::Q8_0},
        Row{10, WeightType::Q2_K},
        Row{11, WeightType::Q3_K},
        Row{12, WeightType::Q4_K},
        Row{13, WeightType::Q5_K},
        Row{14, WeightType::Q6_K},
        Row{20, WeightType::IQ4_NL},
        Row{23, WeightType::IQ4_XS},
        Row{30, WeightType::BF16}};
    for (const Row& row : kTypes) {
        if (row.number == type) {
            return row.type;
        }
    }
    return std::nullopt;
}

bool read_bool(GgufCursor& from) {
    const auto value = from.number<std::uint8_t>();
    if (value > 1) {
        from.fail(ErrorCode::Malformed, "a boolean that is neither 0 nor 1");
    }
    return value == 1;
}

ValueType read_value_type(GgufCursor& from) {
    const auto type = from.number<std::uint32_t>();
    if (type >= kValueTypes) {
        from.fail(ErrorCode::Malformed, "a value of the unknown type " + std::to_string(type));
        return ValueType::U8;
    }
    return static_cast<ValueType>(type);
}

std::uint64_t bytes_of(ValueType type) {
    return kValueBytes[static_cast<std::size_t>(type)];
}

void skip_array(GgufCursor& from, int depth);

/// Skips the entries of an array whose type and count have been read.
void skip_entries(GgufCursor& from, ValueType type, std::uint64_t count, int depth) {
    if (!from.has_room(count, bytes_of(type), "an array")) {
        return;
    }
    if (type != ValueType::String && type != ValueType::Array) {
        from.skip(count * bytes_of(type));
        return;
    }
    for (std::uint64_t i = 0; i < count && from.ok(); ++i) {
        if (type == ValueType::Array) {
            skip_array(from, depth + 1);
        } else {
            from.skip(from.number<std::uint64_t>());
        }
    }
}

void skip_array(GgufCursor& from, int depth) {
    if (depth >= kGgufArrayDepthMax) {
        from.fail(ErrorCode::TooLarge, "arrays within arrays within arrays");
        return;
    }
    const ValueType type = read_value_type(from);
    const auto count = from.number<std::uint64_t>();
    skip_entries(from, type, count, depth);
}

std::vector<std::string> read_texts(GgufCursor& from, std::uint64_t count) {
    std::vector<std::string> texts;
    for (std::uint64_t i = 0; i < count && from.ok(); ++i) {
        texts.push_back(from.text(kGgufStringBytesMax, "a string"));
    }
    return texts;
}

std::vector<std::int64_t> read_whole_numbers(GgufCursor& from, bool is_signed, std::uint64_t n) {
    std::vector<std::int64_t> numbers;
    for (std::uint64_t i = 0; i < n && from.ok(); ++i) {
        numbers.push_back(
            is_signed ? from.number<std::int32_t>()
                      : static_cast<std::int64_t>(from.number<std::uint32_t>())
        );
    }
    return numbers;
}

std::vector<float> read_reals(GgufCursor& from, std::uint64_t count) {
    std::vector<float> reals;
    for (std::uint64_t i = 0; i < count && from.ok(); ++i) {
        reals.push_back(from.number<float>());
    }
    return reals;
}

/// Reads an array, or skips it and returns nothing.
std::optional<GgufValue> read_array(GgufCursor& from, std::string_view key) {
    const ValueType type = read_value_type(from);
    const auto count = from.number<std::uint64_t>();
    const bool numbers = type == ValueType::I32 || type == ValueType::U32;
    const bool kept = numbers || type == ValueType::String || type == ValueType::F32;
    if (!key.starts_with(kKeptArrays) || !kept) {
        skip_entries(from, type, count, 1);
        return std::nullopt;
    }
    if (!from.has_room(count, bytes_of(type), "an array")) {
        return std::nullopt;
    }
    if (count > kGgufArrayMax) {
        from.fail(
            ErrorCode::TooLarge,
            printable(key) + " has " + std::to_string(count) + " entries; at most " +
                std::to_string(kGgufArrayMax) + " are read"
        );
        return std::nullopt;
    }
    if (type == ValueType::F32) {
        return read_reals(from, count);
    }
    if (numbers) {
        return read_whole_numbers(from, type == ValueType::I32, count);
    }
    return read_texts(from, count);
}

// NOLINTBEGIN(bugprone-branch-clone): the branches differ in their types
std::optional<GgufValue> read_value(GgufCursor& from, std::string_view key) {
    switch (read_value_type(from)) {
        case ValueType::U8:
            return std::uint64_t{from.number<std::uint8_t>()};
        case ValueType::U16:
            return std::uint64_t{from.number<std::uint16_t>()};
        case ValueType::U32:
            return std::uint64_t{from.number<std::uint32_t>()};
        case ValueType::U64:
            return from.number<std::uint64_t>();
        case ValueType::I8:
            return std::int64_t{from.number<std::int8_t>()};
        case ValueType::I16:
            return std::int64_t{from.number<std::int16_t>()};
        case ValueType::I32:
            return std::int64_t{from.number<std::int32_t>()};
        case ValueType::I64:
            return from.number<std::int64_t>();
        case ValueType::F32:
            return double{from.number<float>()};
        case ValueType::F64:
            return from.number<double>();
        case ValueType::Bool:
            return read_bool(from);
        case ValueType::String:
            return from.text(kGgufStringBytesMax, "a string");
        case ValueType::Array:
            return read_array(from, key);
    }
    return std::nullopt;
}

// NOLINTEND(bugprone-branch-clone)

void read_metadata(GgufCursor& from, std::uint64_t keys, GgufHeader& header) {
    std::set<std::string, std::less<>> seen;  // all keys, those of skipped values included
    for (std::uint64_t i = 0; i < keys && from.ok(); ++i) {
        const std::string key = from.text(kGgufKeyBytesMax, "a key");
        if (from.ok() && !seen.insert(key).second) {
            from.fail(ErrorCode::Malformed, "the key " + printable(key) + " comes twice");
        }
        std::optional<GgufValue> value = read_value(from, key);
        if (from.ok() && value) {
            header.metadata.emplace(key, std::move(*value));
        } else if (from.ok()) {
            header.skipped.insert(key);
        }
    }
}

/// Computes the bytes of a tensor from its shape; its offset is still relative to the data.
void measure(GgufCursor& from, GgufTensor& tensor) {
    const BlockSize block = block_size(tensor.type);
    std::uint64_t values = 1;
    for (const std::uint32_t size : tensor.shape) {
        if (size == 0 || values > std::numeric_limits<std::uint64_t>::max() / 64 / size) {
            from.fail(ErrorCode::Malformed, "the shape of " + printable(tensor.name) + " is bad");
            return;
        }
        values *= size;
    }
    if (tensor.shape.back() % block.values != 0) {
        from.fail(
            ErrorCode::Malformed,
            "rows of " + printable(tensor.name) + " are no whole blocks of " +
                std::string(name_of(tensor.type))
        );
        return;
    }
    tensor.bytes = values / block.values * block.bytes;
}

GgufTensor read_tensor(GgufCursor& from) {
    GgufTensor tensor;
    tensor.name = from.text(kGgufKeyBytesMax, "the name of a tensor");
    const auto dimensions = from.number<std::uint32_t>();
    if (from.ok() && (dimensions == 0 || dimensions > kGgufDimensionsMax)) {
        from.fail(
            ErrorCode::Malformed,
            printable(tensor.name) + " has " + std::to_string(dimensions) + " dimensions"
        );
    }
    for (std::uint32_t i = 0; i < dimensions && from.ok(); ++i) {
        const auto size = from.number<std::uint64_t>();
        if (size > std::numeric_limits<std::uint32_t>::max()) {
            from.fail(ErrorCode::Malformed, "a dimension of " + printable(tensor.name));
        }
        tensor.shape.push_back(static_cast<std::uint32_t>(size));
    }
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    const auto type = from.number<std::uint32_t>();
    tensor.offset = from.number<std::uint64_t>();
    const std::optional<WeightType> known = weight_type(type);
    if (from.ok() && !known) {
        from.fail(
            ErrorCode::Unsupported,
            printable(tensor.name) + " is stored as " + name_tensor_type(type) +
                "; F32, F16, BF16, Q4_0 to Q8_0, Q2_K to Q6_K, IQ4_NL and IQ4_XS can be read"
        );
    }
    if (from.ok()) {
        tensor.type = *known;
        measure(from, tensor);
    }
    return tensor;
}

std::uint64_t alignment_of(GgufCursor& from, const GgufHeader& header) {
    if (!header.metadata.contains(kAlignmentKey)) {
        return kDefaultAlignment;
    }
    const auto* const alignment = header.find<std::uint64_t>(kAlignmentKey);
    if (alignment == nullptr || !std::has_single_bit(*alignment) ||
        *alignment > kGgufAlignmentMax) {
        from.fail(ErrorCode::Malformed, "general.alignment is no power of two up to 65536");
        return kDefaultAlignment;
    }
    return *alignment;
}

/// Makes offsets absolute, and checks that no two tensors overlap.
void place_tensors(GgufCursor& from, std::uint64_t file_bytes, GgufHeader& header) {
    const std::uint64_t alignment = alignment_of(from, header);
    const std::uint64_t data = (from.position() + alignment - 1) / alignment * alignment;
    std::set<std::string_view> names;
    std::vector<const GgufTensor*> placed;
    for (GgufTensor& tensor : header.tensors) {
        if (!names.insert(tensor.name).second) {
            from.fail(ErrorCode::Malformed, "two tensors are named " + printable(tensor.name));
            return;
        }
        if (tensor.offset % alignment != 0 || data > file_bytes ||
            tensor.offset > file_bytes - data || tensor.bytes > file_bytes - data - tensor.offset) {
            from.fail(
                ErrorCode::Malformed,
                printable(tensor.name) + " does not lie in the file; it is cut short or damaged"
            );
            return;
        }
        tensor.offset += data;
        placed.push_back(&tensor);
    }
    std::sort(placed.begin(), placed.end(), [](const GgufTensor* left, const GgufTensor* right) {
        return left->offset < right->offset;
    });
    for (std::size_t i = 1; i < placed.size(); ++i) {
        if (placed[i]->offset < placed[i - 1]->offset + placed[i - 1]->bytes) {
            from.fail(ErrorCode::Malformed, printable(placed[i]->name) + " overlaps another");
            return;
        }
    }
}

void check_start(GgufCursor& from) {
    if (from.number<std::uint32_t>() != kMagic) {
        from.fail(ErrorCode::Malformed, "the file does not begin with GGUF");
    }
    const auto version = from.number<std::uint32_t>();
    if (from.ok() && version != kVersion) {
        const bool swapped = version == __builtin_bswap32(kVersion);
        from.fail(
            ErrorCode::Unsupported,
            swapped ? "a big-endian file; convert it"
                    : "version " + std::to_string(version) + "; only 3 can be read, convert it"
        );
    }
}

}  // namespace

Result<GgufHeader> read_gguf_header(const ByteSource& file) {
    constexpr std::uint64_t kTensorBytesMin = 32;  // name, dimensions, type and offset in the table
    constexpr std::uint64_t kKeyBytesMin = 13;     // an empty key and a byte
    GgufCursor from(file);
    check_start(from);
    const auto tensors = from.number<std::uint64_t>();
    const auto keys = from.number<std::uint64_t>();
    from.has_room(tensors, kTensorBytesMin, "the table of its tensors");
    from.has_room(keys, kKeyBytesMin, "its metadata");
    if (tensors > kTensorsMax || keys > kGgufKeysMax) {
        from.fail(
            ErrorCode::TooLarge,
            std::to_string(tensors) + " tensors and " + std::to_string(keys) + " keys; at most " +
                std::to_string(kTensorsMax) + " and " + std::to_string(kGgufKeysMax) + " are read"
        );
    }
    GgufHeader header;
    if (from.ok()) {
        read_metadata(from, keys, header);
    }
    for (std::uint64_t i = 0; i < tensors && from.ok(); ++i) {
        header.tensors.push_back(read_tensor(from));
    }
    if (from.ok()) {
        place_tensors(from, file.size(), header);
    }
    if (!from.ok()) {
        return *from.fault();
    }
    return header;
}

bool is_gguf(const ByteSource& file) {
    return GgufCursor(file).number<std::uint32_t>() == kMagic;
}

}  // namespace stacking::models
