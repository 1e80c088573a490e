// Writes the seeds of the fuzz targets: the parts of one frame of every kind.
//   write_corpus <folder>   fills <folder>/{header,message,envelope,codec_*,byte_planes,
//                            server,coordinator,session,directory,link,http,api,parquet}
#include "compression/byte_planes.hpp"
#include "compression/codec.hpp"
#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/tensor_envelope.hpp"
#include "tests/fuzz/link_plan.hpp"
#include "tests/places.hpp"
#include "tests/unit/protocol/sample_messages.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Makes a piece of the stage server's input (server_fuzz.cpp).
void append_piece(std::vector<std::byte>& story, std::uint8_t sender, const Message& message) {
    const std::vector<std::byte> control = encode_control(message);
    const std::size_t kind = message.body.index();
    for (const std::size_t value :
         {std::size_t{sender},
          kind,
          kind >> 8,
          control.size(),
          control.size() >> 8,
          13 * sizeof(float)}) {
        story.push_back(static_cast<std::byte>(value & 0xff));
    }
    story.insert(story.end(), control.begin(), control.end());
}

/// Makes a session that opens, resumes and gets its rows, for session_fuzz.cpp.
std::vector<std::byte> session_story() {
    constexpr std::uint8_t kClient = 1;
    constexpr std::uint8_t kPrevious = 3;
    std::vector<std::byte> story;
    const Message opened = sample_of<SessionOpen>();
    append_piece(story, kClient, opened);
    const HopId id = std::get<SessionOpen>(opened.body).id;
    append_piece(story, kClient, {.body = SessionResume{id, 0, 0}});
    SessionRows rows{.id = id, .position = 0, .rows = 3, .wanted = true, .tokens = {}};
    append_piece(story, kPrevious, {.body = rows});
    rows.position = 3;
    rows.rows = 1;
    append_piece(story, kPrevious, {.body = rows});
    append_piece(story, kPrevious, {.body = SessionTaken{id, 0}});
    append_piece(story, kClient, {.body = SessionShare{id.session, {1}}});
    append_piece(story, kClient, {.body = SessionClose{id.session}});
    return story;
}

/// Makes a session whose rows visit an expert that the previous hop lends, for session_fuzz.cpp.
std::vector<std::byte> expert_story() {
    constexpr std::uint8_t kDirectory = 0;
    constexpr std::uint8_t kClient = 1;
    constexpr std::uint8_t kLender = 3;
    std::vector<std::byte> story;
    Located located = std::get<Located>(sample_of<Located>().body);
    located.hosts.front() = {
        sample_peer(14), {10, 20}, "192.0.2.1:1", {}, sample_digest(9), {2}, true};
    append_piece(story, kDirectory, {.body = located});
    const Message opened = sample_of<SessionOpen>();
    append_piece(story, kClient, opened);
    const HopId id = std::get<SessionOpen>(opened.body).id;
    append_piece(story, kClient, {.body = SessionResume{id, 0, 0}});
    const SessionRows rows{.id = id, .position = 0, .rows = 1, .wanted = true, .tokens = {}};
    append_piece(story, kLender, {.body = rows});
    append_piece(story, kLender, {.body = ExpertOutputs{1}});
    append_piece(story, kLender, {.body = ExpertRefused{1, true}});
    append_piece(story, kClient, sample_of<ExpertRows>());
    return story;
}

/// Makes lies about the first steps of a run, told by each who may speak, for
/// coordinator_fuzz.cpp.
std::vector<std::byte> lies_story(std::uint8_t standing) {
    std::vector<std::byte> story{static_cast<std::byte>(standing)};
    const std::vector<swarm::MicrobatchId> ids{{0}, {1}};
    for (std::uint64_t step = 1; step < 12; ++step) {
        const swarm::ParameterVersion version{0, step};
        const auto epoch = swarm::Epoch{static_cast<std::uint32_t>(step % 3)};
        const swarm::SlotId slot{static_cast<std::uint32_t>(step % 4)};
        const std::vector<Message> lies{
            {1, 0, Applied{version, sample_digest(9)}},
            {1, 0, Fail{version, slot, FailReason::Lost, {{ids[0], {}, false}}}},
            {1, 0, Held{version, epoch, ids, {}}},
            {1, 0, Path{version, ids[1], {}, {slot}, 2.0}},
            {1, 0, Mismatch{version, epoch, ids}},
            {1, 0, Stuck{version, epoch, {slot}}},
            {1, 0, Reduced{version, epoch, {1.0}, sample_digest(9), 2}},
            {1, 0, Join{false, swarm::StageIndex{0}, version, sample_digest(9), "", "", 0}},
            {0, 0, Heartbeat{version, step, {{slot, 1e300, 0}}, {}, {slot}}},
            {1, 0, Leave{"a lie"}}};
        for (const Message& lie : lies) {
            append_piece(story, static_cast<std::uint8_t>(step), lie);
        }
    }
    return story;
}

void write_link(
    const std::filesystem::path& folder,
    const std::string& name,
    swarm::fuzz::LinkPlan plan,
    std::span<const std::byte> bytes
) {
    std::vector<std::byte> input{static_cast<std::byte>(plan.bits())};
    input.insert(input.end(), bytes.begin(), bytes.end());
    write(folder / "link" / name, input);
}

/// Writes frames that a peer sends after its Hello, on either side; for link_fuzz.cpp.
void write_link_frame(const std::filesystem::path& folder, const Message& message) {
    using swarm::fuzz::LinkPlan;
    const std::vector<std::byte> control = encode_control(message);
    const auto kind = static_cast<std::uint16_t>(message.body.index());
    const TensorEnvelope tensor{.dtype = Dtype::Float32, .shape = {1, 1, 4}};
    const std::vector<std::byte> envelope =
        carries_tensor(kind) ? encode_envelope(tensor) : std::vector<std::byte>();
    const FrameHeader header{
        .kind = kind,
        .control_bytes = static_cast<std::uint32_t>(control.size()),
        .envelope_bytes = static_cast<std::uint32_t>(envelope.size()),
        .tensor_bytes = envelope.empty() ? 0U : 16U};
    const HeaderBytes header_bytes = encode_header(header);
    std::vector<std::byte> frame(header_bytes.begin(), header_bytes.end());
    frame.insert(frame.end(), control.begin(), control.end());
    frame.insert(frame.end(), envelope.begin(), envelope.end());
    frame.resize(frame.size() + header.tensor_bytes);
    for (const auto side : {swarm::net::Side::Server, swarm::net::Side::Client}) {
        const LinkPlan plan(
            LinkPlan::Talk::UnderTls, side, lane_of(message.body), LinkPlan::FirstHello::Good
        );
        const char* const name = side == swarm::net::Side::Server ? "server" : "client";
        write_link(folder, name + std::to_string(kind), plan, frame);
    }
}

/// Writes talks of strangers that are not let in.
void write_link_strangers(const std::filesystem::path& folder) {
    using swarm::fuzz::LinkPlan;
    const std::vector<std::byte> control = encode_hello(sample_hello());
    const FrameHeader header{
        .kind = kHelloKind, .control_bytes = static_cast<std::uint32_t>(control.size())};
    const HeaderBytes header_bytes = encode_header(header);
    std::vector<std::byte> hello(header_bytes.begin(), header_bytes.end());
    hello.insert(hello.end(), control.begin(), control.end());
    const std::string_view http = "GET / HTTP/1.1\r\n\r\n";
    // Changes a byte in the first flight of the handshake, and one in the second.
    const std::vector<std::byte> changes{
        std::byte{60}, std::byte{0}, std::byte{1}, std::byte{44}, std::byte{1}, std::byte{128}};
    for (const auto side : {swarm::net::Side::Server, swarm::net::Side::Client}) {
        const std::string name = side == swarm::net::Side::Server ? "server_" : "client_";
        using Talk = LinkPlan::Talk;
        using First = LinkPlan::FirstHello;
        const auto plan = [&](Talk talk, First first) {
            return LinkPlan(talk, side, Lane::Control, first);
        };
        const auto raw = std::as_bytes(std::span(http));
        write_link(folder, name + "http", plan(Talk::Raw, First::None), raw);
        write_link(folder, name + "tampered", plan(Talk::Tampered, First::Good), changes);
        write_link(folder, name + "no_proof", plan(Talk::UnderTls, First::None), hello);
        write_link(folder, name + "second_hello", plan(Talk::UnderTls, First::Good), hello);
    }
}

/// Writes the output of each codec and of each width of byte planes; for codec_fuzz.cpp,
/// byte_planes_fuzz.cpp.
void write_coded(const std::filesystem::path& folder) {
    constexpr std::uint8_t kElements = 130;
    std::vector<float> values;
    for (int i = 0; i < kElements; ++i) {
        values.push_back(static_cast<float>(i % 7 - 3) * 0.25F);
    }
    for (const auto& codec : compression::codecs_on(compression::simd::Path::Scalar)) {
        std::vector<std::byte> bytes(codec->encoded_bytes(kElements));
        for (const compression::TensorRole role : compression::kTensorRoles) {
            if (codec->encode(values, role, 0, bytes)) {
                break;
            }
        }
        bytes.insert(bytes.begin(), {std::byte{kElements}, std::byte{0}});
        write(folder / ("codec_" + std::string(codec->name())) / "encoded", bytes);
    }
    using compression::ElementBytes;
    std::uint8_t place = 0;
    for (const auto width : {ElementBytes::Two, ElementBytes::Four, ElementBytes::Eight}) {
        const std::vector<std::byte> raw(kElements * static_cast<std::size_t>(width));
        std::vector<std::byte> bytes = *compression::pack_planes(raw, width);
        bytes.insert(bytes.begin(), {std::byte{place}, std::byte{kElements}, std::byte{0}});
        write(folder / "byte_planes" / ("width" + std::to_string(place)), bytes);
        ++place;
    }
}

/// Writes bodies of requests for texts; for api_fuzz.cpp.
void write_bodies(const std::filesystem::path& folder) {
    const std::pair<const char*, std::string_view> bodies[] = {
        {"chat",
         R"({"model":"small","messages":[{"role":"system","content":"a"},{"role":"user",)"
         R"("content":[{"type":"text","text":"b"}]}],"n":2,"stop":["c"],"stream":true,)"
         R"("stream_options":{"include_usage":true},"logprobs":true,"top_logprobs":3})"},
        {"text",
         R"({"prompt":[[1,2],[3]],"max_tokens":4,"temperature":0.5,"top_p":0.9,"top_k":40,)"
         R"("min_p":0.1,"presence_penalty":-1,"frequency_penalty":1,"repetition_penalty":1.1,)"
         R"("logit_bias":{"65":-100},"seed":-1,"echo":true,"stop":"d"})"},
        {"tokenize", R"({"content":"<|im_end|>","tokens":[1,257]})"},
    };
    for (const auto& [name, body] : bodies) {
        write(folder / "api" / name, std::as_bytes(std::span(body)));
    }
}

/// Writes requests of the web, cut into pieces of 8 bytes; for http_fuzz.cpp.
void write_requests(const std::filesystem::path& folder) {
    const std::string end = " HTTP/1.1\r\nHost: localhost\r\n";
    const std::pair<const char*, std::string> requests[] = {
        {"head", "GET /v1/models?limit=1" + end + "Authorization: Bearer key\r\n\r\n"},
        {"absolute", "GET http://localhost/a%20b" + end + "\r\n"},
        {"preflight",
         "OPTIONS /" + end +
             "Origin: http://a\r\nAccess-Control-Request-Method: POST\r\n"
             "Access-Control-Request-Headers: authorization\r\n\r\n"},
        {"body", "POST /v1/completions" + end + "Content-Length: 2\r\n\r\n{}GET /" + end + "\r\n"},
        {"chunks",
         "POST /" + end +
             "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
             "2;a=\"b\"\r\n{}\r\n0\r\nA: b\r\n\r\n"},
        {"old", "\r\nHEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"}};
    for (const auto& [name, text] : requests) {
        const std::string input = '\x07' + text;
        write(folder / "http" / name, std::as_bytes(std::span(input)));
    }
}

/// Copies the files that PyPI pyarrow has written.
void write_tables(const std::filesystem::path& folder) {
    namespace fs = std::filesystem;
    const fs::path tables = fs::path(swarm::test::source_dir()) / "tests/golden/parquet";
    fs::create_directories(folder / "parquet");
    for (const auto& entry : fs::directory_iterator(tables)) {
        if (entry.path().extension() == ".parquet") {
            fs::copy_file(
                entry.path(),
                folder / "parquet" / entry.path().filename(),
                fs::copy_options::overwrite_existing
            );
        }
    }
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
        write_link_frame(folder, message);
        write_frame(
            folder, static_cast<std::uint16_t>(message.body.index()), encode_control(message)
        );
    }
    write(folder / "server" / "every_message", story);
    write(folder / "session" / "every_message", story);
    write(folder / "directory" / "every_message", story);
    story.insert(story.begin(), std::byte{1});
    write(folder / "coordinator" / "every_message", story);
    write(folder / "coordinator" / "lies_of_a_member", lies_story(1));
    write(folder / "coordinator" / "lies_of_strangers", lies_story(0));
    write(folder / "session" / "one_session", session_story());
    write(folder / "session" / "lent_expert", expert_story());
    write_link_strangers(folder);
    write_coded(folder);
    write_bodies(folder);
    write_requests(folder);
    write_tables(folder);
    write_frame(folder, kHelloKind, encode_hello(sample_hello()));
    const TensorEnvelope activation{.dtype = Dtype::Float32, .shape = {8, 1024, 768}};
    const TensorEnvelope slice{.dtype = Dtype::Int64, .codec = CodecId::Int8, .shape = {70'000}};
    write(folder / "envelope" / "activation", encode_envelope(activation));
    write(folder / "envelope" / "slice", encode_envelope(slice));
    return 0;
}
