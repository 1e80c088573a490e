// A model in several GGUF files.
#include "stacking/models/gguf_parts.hpp"

#include "stacking/models/any_model.hpp"
#include "stacking/models/gguf_model.hpp"
#include "tests/unit/stacking_models/small_gguf.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace stacking::models {
namespace {

namespace fs = std::filesystem;
using swarm::ErrorCode;
using test::Gguf;
using test::GgufBuilder;

constexpr std::uint16_t kParts = 3;

class GgufPartsTest : public testing::Test {
 protected:
    void SetUp() override {
        const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::temp_directory_path() / (std::string("gguf_parts_") + test->name());
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }

    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] fs::path part(int number, int count = kParts) const {
        char name[64];
        std::snprintf(name, sizeof name, "small-%05d-of-%05d.gguf", number, count);
        return folder_ / name;
    }

    static void write(const fs::path& path, const GgufBuilder& file) {
        const auto bytes = file.bytes();
        std::ofstream(path, std::ios::binary)
            .write(
                reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size())
            );
    }

    /// Writes the model of small_gguf() in three parts, tensor by tensor in turns.
    void write_parts(std::int32_t promised = 20) const {
        std::vector<GgufBuilder> parts(kParts);
        test::add_small_metadata(parts[0]);
        for (std::uint16_t i = 0; i < kParts; ++i) {
            parts[i].key("split.no", Gguf::U16, i).key("split.count", Gguf::U16, kParts);
            parts[i].key("split.tensors.count", Gguf::I32, promised);
        }
        const auto header = *read_gguf_header(MemoryBytes(test::small_gguf().bytes()));
        float first = 0;
        for (std::size_t i = 0; i < header.tensors.size(); ++i, first += 1000) {
            const GgufTensor& tensor = header.tensors[i];
            std::vector<std::uint64_t> sizes(tensor.shape.rbegin(), tensor.shape.rend());
            parts[i % kParts].f32_tensor(
                tensor.name, sizes, test::counted(tensor.bytes / 4, first)
            );
        }
        for (int i = 0; i < kParts; ++i) {
            write(part(i + 1), parts[static_cast<std::size_t>(i)]);
        }
    }

    void expect_refused(ErrorCode code, const std::string& text, int named = 1) const {
        const auto model = open_model(part(named));
        ASSERT_TRUE(model.has_error()) << text;
        EXPECT_EQ(model.error().code, code) << model.error().detail;
        EXPECT_NE(model.error().detail.find(text), std::string::npos) << model.error().detail;
    }

    fs::path folder_;
};

TEST_F(GgufPartsTest, AnyPartOpensTheWholeModel) {
    write_parts();
    const auto wanted = *open_gguf(std::make_unique<MemoryBytes>(test::small_gguf().bytes()));
    for (int named = 1; named <= kParts; ++named) {
        const auto model = open_model(part(named));
        ASSERT_TRUE(model.has_value()) << model.error().detail;
        for (const auto& [name, tensor] : wanted.tensors()) {
            EXPECT_EQ(*model->read(name), *wanted.read(name)) << name;
        }
        EXPECT_EQ(first_gguf_part(part(named)), part(1));
    }
    EXPECT_EQ(first_gguf_part("some.gguf"), "some.gguf");
}

TEST_F(GgufPartsTest, AMissingPartIsNamed) {
    write_parts();
    fs::remove(part(2));
    expect_refused(ErrorCode::NotFound, "part 2 of 3 is missing: there is no " + part(2).string());
    expect_refused(ErrorCode::NotFound, "part 2 of 3 is missing", 3);
}

TEST_F(GgufPartsTest, APartInAnotherPlaceIsRefused) {
    write_parts();
    fs::copy_file(part(1), part(2), fs::copy_options::overwrite_existing);
    expect_refused(ErrorCode::Malformed, "says that it is part 1 of 3");
    write(part(2), test::small_gguf());
    expect_refused(ErrorCode::Malformed, "says that it is a model of one file");
}

TEST_F(GgufPartsTest, ARenamedPartIsRefused) {
    write_parts();
    fs::copy_file(part(1), folder_ / "other.gguf");
    const auto model = open_model(folder_ / "other.gguf");
    ASSERT_TRUE(model.has_error());
    EXPECT_NE(model.error().detail.find("NAME-00001-of-00003.gguf"), std::string::npos)
        << model.error().detail;
}

TEST_F(GgufPartsTest, TensorsThatAreMissingOrTwiceAreRefused) {
    write_parts(21);
    expect_refused(ErrorCode::Malformed, "the parts have 20 tensors, not 21");
    write_parts();
    GgufBuilder twice;
    twice.key("split.no", Gguf::U16, std::uint16_t{2}).key("split.count", Gguf::U16, kParts);
    twice.f32_tensor("token_embd.weight", {8, 6}, test::counted(48, 0));
    write(part(3), twice);
    expect_refused(ErrorCode::Malformed, "token_embd.weight is in two parts");
}

TEST_F(GgufPartsTest, ACutPartIsRefusedByItsNumber) {
    write_parts();
    fs::resize_file(part(3), fs::file_size(part(3)) - 1);
    expect_refused(ErrorCode::Malformed, "part 3 of 3: GGUF: ");
}

TEST_F(GgufPartsTest, ThousandsOfPartsAreRefusedAtOnce) {
    GgufBuilder many;
    test::add_small_metadata(many);
    many.u32("split.no", 0).u32("split.count", 60'000);
    write(part(1, 60'000), many);
    const auto model = open_model(part(1, 60'000));
    ASSERT_TRUE(model.has_error());
    EXPECT_EQ(model.error().code, ErrorCode::TooLarge) << model.error().detail;
}

}  // namespace
}  // namespace stacking::models
