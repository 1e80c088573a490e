#include "swarm/cli/api/api_endpoint.hpp"

#include "stacking/api/api_server.hpp"
#include "stacking/tokenizers/chat_template.hpp"
#include "swarm/base/idle_memory.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/generate_options.hpp"
#include "swarm/cli/answer/open_stack.hpp"
#include "swarm/cli/answer/served_question.hpp"
#include "swarm/cli/api/chat_page.hpp"
#include "swarm/cli/common/own_address.hpp"
#include "swarm/cli/common/swarm_key.hpp"
#include "swarm/cli/owners/owner_check.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/http/api_keys.hpp"
#include "swarm/net/identity.hpp"

#include <chrono>
#include <filesystem>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::api::ApiModel;
using stacking::api::ApiServer;

constexpr auto kGoodbye = std::chrono::seconds(2);
constexpr std::size_t kNameLetters = 8;

std::string name_of(const PeerId& peer) {
    return net::to_text(peer).substr(0, kNameLetters);
}

/// "models/two.toml" -> "two"; a name of a model stays as it is.
std::string plain_name(const std::string& model) {
    const std::filesystem::path path(model);
    const std::filesystem::path last = path.has_filename() ? path : path.parent_path();
    const std::string extension = last.extension().string();
    const bool is_file = extension == ".toml" || extension == ".gguf";
    return (is_file ? last.stem() : last.filename()).string();
}

/// Returns the place of the directory for whoever reads the page, maybe on another machine.
Result<JoinPlace> directory_place(const ApiOptions& options) {
    SWARM_TRY(const net::Address directory, net::parse_address(options.join));
    const net::Address everywhere{net::kEveryHost, directory.port};
    return join_place({directory}, advertised_addresses(everywhere, nullptr), is_listening);
}

/// Returns the command by which a machine joins; for a stack one for each member.
Result<std::string> join_line(const ApiOptions& options, const std::string& address) {
    std::vector<ServedPart> parts{{options.model}};
    if (!options.stack.empty()) {
        SWARM_TRY(parts, parts_of_stack(options.stack));
    }
    const std::string& owner = options.owner.name;
    std::string where = " --join " + (owner.empty() ? "" : owner + "@") + address;
    if (!options.swarm_key_file.empty()) {
        where += " --swarm-key " + options.swarm_key_file;
    }
    std::string lines;
    for (const ServedPart& part : parts) {
        lines += (lines.empty() ? "" : "\n") + ("swarm serve --model " + part.model);
        lines += part.layers.empty() ? "" : " --layers " + part.layers;
        lines += part.bridge.empty() ? "" : " --bridge " + part.bridge;
        lines += part.exits ? " --exits" : "";
        lines += where;
    }
    return lines;
}

stacking::api::MembersOfText members_by_text(const ServedModel& served) {
    return [members = served.members, priors = served.priors](
               std::span<const stacking::TokenId> beginning,
               const stacking::tokenizers::ModelTokenizer& tokenizer
           ) { return choose_members(members, priors, beginning, tokenizer).members; };
}

Result<ApiServer::Options> role_options(
    const ApiOptions& options, PeerId self, Incarnation incarnation, Console& console
) {
    GenerateOptions opened;
    opened.model = options.model;
    opened.stack = options.stack;
    opened.digests = options.digests;
    SWARM_TRY(ServedModel served, open_served_model(opened, console));
    stacking::sessions::SessionClient::Options client;
    client.self = self;
    client.incarnation = incarnation;
    client.directory_address = options.join;
    client.models = served.models;
    client.patience = options.wait;
    const std::string& given = options.stack.empty() ? options.model : options.stack;
    ApiModel model{
        options.name.empty() ? plain_name(given) : options.name,
        std::move(served.tokenizer),
        std::nullopt,
        served.context,
        served.models.front().vocabulary,
        served.end_tokens};
    model.token_bytes_max = stacking::api::longest_token(model.tokenizer);
    if (served.priors.depend_on_text()) {
        model.members_of = members_by_text(served);
    }
    auto chat = stacking::tokenizers::ChatTemplate::compile(model.tokenizer);
    if (chat) {
        model.chat = *std::move(chat);
    } else {
        console.warn(chat.error().detail + ": /v1/chat/completions is refused");
    }
    SWARM_TRY(const JoinPlace place, directory_place(options));
    SWARM_TRY(std::string line, join_line(options, place.address));
    const auto unix_time = std::chrono::system_clock::now().time_since_epoch();
    return ApiServer::Options{
        .client = std::move(client),
        .model = std::move(model),
        .members = std::move(served.members),
        .chain = std::move(served.chain),
        .codecs = options.codecs,
        .guesses_max = options.guesses_max,
        .defaults = {.chat_tokens = options.answer_tokens},
        .started_unix_s = std::chrono::duration_cast<std::chrono::seconds>(unix_time).count(),
        .page = kChatPage,
        .join_line = std::move(line),
        .join_here_only = place.here_only,
        .name_of = name_of};
}

}  // namespace

Result<> ApiEndpoint::start() {
    net::HostOptions host_options;
    SWARM_TRY(host_options.swarm_key, read_swarm_key(options_.swarm_key_file));
    host_options.first_contact = make_owner_check(options_.owner, console_);
    host_options.on_tell = [this](const node::Report& report) { on_tell(report); };
    const net::Identity self = net::Identity::make_ephemeral();
    SWARM_TRY(
        ApiServer::Options role,
        role_options(options_, self.peer(), host_options.incarnation, console_)
    );
    const std::string name = role.model.name;
    SWARM_TRY(const std::string url, listen());
    host_.emplace(
        loop_,
        std::make_unique<ApiServer>(std::move(role)),
        net::FileStore::none(),
        self,
        std::move(host_options)
    );
    host_->start();
    loop_.give_idle_memory_back(IdleMemory::kLooks);
    announcement_ = "model " + name + " at " + url + "v1; ask with any client of OpenAI's API";
    return {};
}

void ApiEndpoint::announce() const {
    console_.info(announcement_);
}

/// Returns the URL for people.
Result<std::string> ApiEndpoint::listen() {
    const std::string& given = options_.listen;
    const bool is_port = given.find_first_not_of("0123456789") == std::string::npos;
    SWARM_TRY(
        const net::Address address, parse_listen_address(is_port ? "127.0.0.1:" + given : given)
    );
    http::ServerOptions server;
    server.listen_address = address.host;
    server.listen_port = address.port;
    server.allowed_origin = options_.allowed_origin;
    server.open_paths = {"/health", "/", "/openapi.json"};
    if (!options_.keys_file.empty()) {
        SWARM_TRY(server.keys, http::read_api_keys(options_.keys_file));
    }
    const bool is_secret = options_.tls || !options_.certificate_file.empty();
    if (is_secret) {
        server.tls = http::TlsFiles{options_.certificate_file, options_.certificate_key_file};
    }
    if (!net::is_loopback(address.host) && server.keys.empty()) {
        console_.warn("whoever reaches this port may ask; --keys FILE makes them show a key");
    }
    if (!net::is_loopback(address.host) && !is_secret) {
        console_.warn("questions and answers can be read on their way; --tls hides them");
    }
    server_ = std::make_unique<http::HttpServer>(
        loop_, std::move(server), [this](node::Asked asked) { host_->ask(std::move(asked)); }
    );
    SWARM_TRY(const std::uint16_t port, server_->listen());
    const std::string host = address.host == "*" ? "localhost" : address.host;
    return (is_secret ? "https://" : "http://") + net::to_text({host, port}) + "/";
}

bool ApiEndpoint::ended() const {
    return failed_ || host_->failure() || server_->finished();
}

void ApiEndpoint::stop() {
    server_->stop();
}

int ApiEndpoint::finish() {
    host_->stop();
    static_cast<void>(loop_.run_until([this] { return host_->finished(); }, kGoodbye));
    return host_->failure() ? end_with(console_, *host_->failure()) : failed_.value_or(kDone);
}

void ApiEndpoint::on_tell(const node::Report& report) {
    if (const auto* const reply = std::get_if<node::WebReply>(&report)) {
        server_->reply(*reply);
    } else if (const auto* const piece = std::get_if<node::WebPiece>(&report)) {
        server_->reply(*piece);
    } else if (const auto* const line = std::get_if<node::LogLine>(&report)) {
        console_.log(line->level, line->text);
    } else if (const auto* const moved = std::get_if<node::SessionMoved>(&report)) {
        console_.info("an answer went on with other peers: " + moved->reason);
    } else if (const auto* const routed = std::get_if<node::SessionRouted>(&report)) {
        if (on_route_) {
            on_route_(routed->member, routed->peers);
        }
    } else if (const auto* const dropped = std::get_if<node::MemberDropped>(&report)) {
        console_.warn("an answer goes on without a member: " + dropped->reason);
    } else if (const auto* const ended = std::get_if<node::RunFailed>(&report)) {
        console_.error(ended->text);
        failed_ = ended->exit_code;
    }
}

}  // namespace swarm::cli
