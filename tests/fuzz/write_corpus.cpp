// Writes the seeds of the fuzz targets: one frame of every kind, taken apart.
//   write_corpus <folder>   fills <folder>/{header,message,envelope,server}
#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/tensor_envelope.hpp"
#include "tests/unit/protocol/sample_messages.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

using namespace swarm::protocol;

namespace {

void write(const std::filesystem::path& file, std::span<const std::byte> bytes) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary)
        .write(
            reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())
        );
}

void write_frame(
    const std::filesystem::path& folder, std::uint16_t kind, const std::vector<std::byte>& control
) {
    const std::uint32_t envelope_bytes = carries_tensor(kind) ? 20 : 0;
    const FrameHeader header{
        .kind = kind,
        .control_bytes = static_cast<std::uint32_t>(control.size()),
        .envelope_bytes = envelope_bytes,
        .tensor_bytes = 4096ULL * envelope_bytes};
    const std::string name = "kind" + std::to_string(kind);
    write(folder / "header" / name, encode_header(header));
    std::vector<std::byte> input{
        static_cast<std::byte>(kind & 0xff), static_cast<std::byte>(kind >> 8)};
    input.insert(input.end(), control.begin(), control.end());
    write(folder / "message" / name, input);
}

/// A piece of the stage server's input (server_fuzz.cpp).
void append_piece(std::vector<std::byte>& story, std::uint8_t sender, const Message& message) {
    const std::vector<std::byte> control = encode_control(message);
    const std::size_t kind = message.body.index();
    for (const std::size_t value :
         {std::size_t{sender},
          kind,
          kind >> 8,
          control.size(),
          control.size() >> 8,
          std::size_t{16}}) {
        story.push_back(static_cast<std::byte>(value & 0xff));
    }
    story.insert(story.end(), control.begin(), control.end());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: write_corpus <folder>\n");
        return 2;
    }
    const std::filesystem::path folder = argv[1];
    std::vector<std::byte> story;
    for (const Message& message : sample_messages()) {
        for (std::uint8_t sender = 0; sender < 3; ++sender) {
            append_piece(story, sender, message);
        }
        write_frame(
            folder, static_cast<std::uint16_t>(message.body.index()), encode_control(message)
        );
    }
    write(folder / "server" / "every_message", story);
    write_frame(folder, kHelloKind, encode_hello(sample_hello()));
    const TensorEnvelope activation{.dtype = Dtype::Float32, .shape = {8, 1024, 768}};
    const TensorEnvelope slice{.dtype = Dtype::Int64, .codec = CodecId::Int8, .shape = {70'000}};
    write(folder / "envelope" / "activation", encode_envelope(activation));
    write(folder / "envelope" / "slice", encode_envelope(slice));
    return 0;
}
