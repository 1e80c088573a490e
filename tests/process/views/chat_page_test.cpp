// `swarm api` in a real browser: people chat with SmolLM2 in two stages while peers die. The model
// must be in the cache. With SWARM_SCREENSHOTS=FOLDER the page's pictures are kept there.
#include "tests/golden/model_file.hpp"
#include "tests/process/program.hpp"
#include "tests/process/views/browser.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr seconds kPatience{60};
constexpr seconds kShownWithin{2};    // after a peer was killed
constexpr seconds kPagePatience{40};  // less than that of the browser

/// Lists "id share" of each peer that the page shows, and of each that the state names.
constexpr const char* kShownShares = R"([...document.querySelectorAll('#models td:nth-child(1)')]
  .map(cell => cell.textContent + ' ' + cell.nextSibling.textContent.replace('\u00a0', ' '))
  .join())";
constexpr const char* kToldShares = R"((() => {
  const request = new XMLHttpRequest();
  request.open('GET', '/api/state', false);
  request.send();
  return JSON.parse(request.responseText).models.flatMap(model => model.stages)
    .flatMap(stage => stage.peers).map(peer => peer.id + ' ' + (100 * peer.share).toFixed(0) + ' %')
    .join();
})())";

/// Lists the controls that have no name for people who do not see them.
constexpr const char* kNameless = R"([...document.querySelectorAll(
  'button, input, textarea, [tabindex]')].filter(control => {
    const named_by = document.getElementById(control.getAttribute('aria-labelledby') ?? '');
    const name = [...(control.labels ?? []), named_by].map(label => label?.innerText ?? '').join('')
      + (control.tagName === 'BUTTON' ? control.textContent : '')
      + (control.getAttribute('aria-label') ?? '');
    return name.trim() === '' || (control.tagName === 'BUTTON' && !control.hasAttribute('type'));
  }).map(control => control.outerHTML).join())";

/// Lists the texts whose contrast with what is behind them is less than 4.5 (WCAG 2, 1.4.3), as
/// well as "few" when hardly any text was looked at.
constexpr const char* kPale = R"((() => {
  const parts = text => text.match(/[\d.]+/g).map(Number);
  const light = colour => colour.slice(0, 3).map(part => part / 255)
    .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = box => {
    const colour = parts(getComputedStyle(box).backgroundColor);
    return colour[3] === 0 && box.parentElement ? behind(box.parentElement) : colour;
  };
  const boxes = [...document.querySelectorAll('body *:not(script)')].filter(box =>
    box.checkVisibility() && !box.disabled && (box.matches('input, textarea') ||
    [...box.childNodes].some(node => node.nodeType === 3 && node.data.trim() !== '')));
  const pale = boxes.filter(box => {
    const [dark, bright] = [light(parts(getComputedStyle(box).color)), light(behind(box))]
      .sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05) < 4.5;
  });
  return (boxes.length < 30 ? 'few ' : '') + pale.map(box => box.outerHTML).join();
})())";

/// Lists the controls that Tab reaches and that show no outline when they have the focus.
constexpr const char* kUnmarked = R"([...document.querySelectorAll(
  'button, input, textarea, [tabindex]')]
  .filter(control => control.checkVisibility() && !control.disabled)
  .filter(control => {
    control.focus({ focusVisible: true });
    const style = getComputedStyle(control);
    return style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2;
  }).map(control => control.id).join())";

class ChatPageTest : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(std::filesystem::exists(golden::smollm2_file())) << golden::kFetchIt;
        ASSERT_TRUE(browser_.runs());
        directory_ = start({"directory", "--listen", address_});
        ASSERT_TRUE(directory_->wait_for_text("directory at " + address_, seconds(10)));
    }

    std::unique_ptr<Program> start(const std::vector<std::string>& arguments) {
        const std::filesystem::path own = folder_.path() / std::to_string(++started_);
        std::filesystem::create_directories(own);
        return std::make_unique<Program>(arguments, own);
    }

    /// Starts two peers for the first half of the layers, and one for the second.
    void start_peers() {
        for (const char* const layers : {"0-14", "0-14", "15-29"}) {
            peers_.push_back(start(
                {"serve",
                 "--model",
                 "smollm2",
                 "--join",
                 address_,
                 "--listen",
                 "127.0.0.1:0",
                 "--layers",
                 layers}
            ));
        }
        for (const auto& peer : peers_) {
            ASSERT_TRUE(peer->wait_for_text("serves layers", kPatience)) << peer->err();
        }
    }

    void start_api(const std::vector<std::string>& more) {
        std::vector<std::string> arguments{
            "api", "--model", "smollm2", "--join", address_, "--port", "0"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        api_ = start(arguments);
        ASSERT_TRUE(api_->wait_for_text("/v1; ask", kPatience)) << api_->err();
        const std::string err = api_->err();
        const std::size_t begin = err.find("http://");
        url_ = err.substr(begin, err.find("v1; ask") - begin);
    }

    /// Opens the page and waits until it shows all peers.
    void open(int width, Colours colours) {
        browser_.open(url_, width, colours);
        ASSERT_TRUE(comes("document.querySelectorAll('#models td:nth-child(1)').length === 3"));
    }

    [[nodiscard]] bool comes(const std::string& expression) {
        return browser_.wait_until(expression, kPagePatience);
    }

    void run(const std::string& expression) { browser_.evaluate("void (" + expression + ")"); }

    [[nodiscard]] std::string text(const std::string& expression) {
        const json::value value = browser_.evaluate(expression);
        return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
    }

    void put(const std::string& id, const std::string& value) {
        run("document.getElementById('" + id + "').value = " + json::serialize(json::value(value)));
    }

    void click(const std::string& id) { run("document.getElementById('" + id + "').click()"); }

    void press_enter(bool with_shift) {
        run(std::string("document.getElementById('question').dispatchEvent(new KeyboardEvent(") +
            "'keydown', { key: 'Enter', bubbles: true, cancelable: true, shiftKey: " +
            (with_shift ? "true" : "false") + " }))");
    }

    void ask(const std::string& question) {
        put("question", question);
        press_enter(false);
    }

    [[nodiscard]] bool answer_ends() { return comes("document.getElementById('stop').disabled"); }

    TemporaryFolder folder_;
    Browser browser_{folder_.path()};
    std::string address_ = "127.0.0.1:" + std::to_string(free_port());
    std::unique_ptr<Program> directory_;
    std::vector<std::unique_ptr<Program>> peers_;
    std::unique_ptr<Program> api_;
    std::string url_;
    int started_ = 0;
};

constexpr const char* kLastAnswer =
    "[...document.querySelectorAll('.answer')].at(-1)"
    ".lastChild.data";
constexpr const char* kLastQuestion =
    "[...document.querySelectorAll('.question')].at(-1).lastChild.data";
constexpr const char* kLastNote = "document.getElementById('log').lastChild.textContent";

TEST_F(ChatPageTest, ShowsThePeersAtAnyWidthInBothColours) {
    ASSERT_NO_FATAL_FAILURE(start_peers());
    ASSERT_NO_FATAL_FAILURE(start_api({}));
    for (const int width : {1280, 400, 320}) {
        for (const Colours colours : {Colours::Light, Colours::Dark}) {
            ASSERT_NO_FATAL_FAILURE(open(width, colours));
            ASSERT_TRUE(comes(std::string(kShownShares) + " === " + kToldShares))
                << text(kShownShares) << " is shown, and this is so: " << text(kToldShares);
            EXPECT_EQ(
                text("[...document.querySelectorAll('#models th[scope=rowgroup]')]"
                     ".map(head => head.textContent).join()"),
                "layers 0-14,layers 15-29"
            );
            EXPECT_EQ(text("document.getElementById('name').textContent"), "smollm2");
            EXPECT_EQ(
                text("document.getElementById('join').textContent"),
                "swarm serve --model smollm2 --join " + address_
            );
            EXPECT_EQ(text("document.getElementById('join-where').hidden"), "false");
            EXPECT_TRUE(comes("document.getElementById('status').textContent.startsWith('served')")
            );
            EXPECT_EQ(text("document.documentElement.scrollWidth"), std::to_string(width));
            EXPECT_EQ(text(kNameless), "");
            EXPECT_EQ(text(kPale), "");
            EXPECT_EQ(text(kUnmarked), "");
            EXPECT_EQ(browser_.errors(), std::vector<std::string>{});
            for (const std::string& url : browser_.requests()) {
                EXPECT_TRUE(url.starts_with(url_) || url == "data:,") << url;
            }
            const char* const pictures = std::getenv("SWARM_SCREENSHOTS");
            if (pictures != nullptr) {
                const char* const name = colours == Colours::Dark ? "dark" : "light";
                std::ofstream(
                    std::string(pictures) + "/chat-" + std::to_string(width) + "-" + name + ".b64"
                ) << browser_.screenshot();
            }
        }
    }
}

TEST_F(ChatPageTest, AnswersAreStreamedStoppedAndAskedForAgain) {
    ASSERT_NO_FATAL_FAILURE(start_peers());
    ASSERT_NO_FATAL_FAILURE(start_api({}));
    ASSERT_NO_FATAL_FAILURE(open(1280, Colours::Light));
    run("window.sent = [], window.plain_fetch = fetch, window.fetch = (url, options) => "
        "{ if (options?.body) sent.push(JSON.parse(options.body)); return plain_fetch(url, "
        "options); "
        "}");
    put("temperature", "0");
    put("question", "What is the capital of France?");
    press_enter(true);
    EXPECT_EQ(text("document.querySelectorAll('.question').length"), "0") << "Shift+Enter asks";
    press_enter(false);
    EXPECT_EQ(text("document.getElementById('log').ariaBusy"), "true");
    ASSERT_TRUE(answer_ends());
    EXPECT_EQ(text(kLastAnswer), "The capital of France is Paris.");
    EXPECT_EQ(text("document.getElementById('log').ariaBusy"), "false");

    ask("Tell a long story of a fox.");
    ASSERT_TRUE(comes(std::string(kLastAnswer) + " !== ''"));
    click("stop");
    ASSERT_TRUE(answer_ends());
    EXPECT_EQ(text(kLastNote), "stopped");
    EXPECT_TRUE(comes("document.getElementById('running').textContent === '0'"));
    const json::value sent = browser_.evaluate("sent[1]");
    EXPECT_TRUE(sent.at("stream").as_bool());
    EXPECT_EQ(sent.at("messages").as_array().size(), 3U) << sent;
    EXPECT_EQ(sent.at("messages").at(1).at("content"), "The capital of France is Paris.");

    put("most", "3");
    click("again");
    ASSERT_TRUE(answer_ends());
    EXPECT_EQ(text(kLastNote), "the answer has as many tokens as it may");
    EXPECT_EQ(browser_.evaluate("sent[2].messages"), sent.at("messages"));
    EXPECT_EQ(text("document.querySelectorAll('.question').length"), "2");
    click("clear");
    EXPECT_EQ(text("document.querySelectorAll('.question').length"), "0");
    EXPECT_EQ(browser_.errors(), std::vector<std::string>{});
}

TEST_F(ChatPageTest, AKilledPeerIsToldWhileItsAnswerGoesOn) {
    ASSERT_NO_FATAL_FAILURE(start_peers());
    ASSERT_NO_FATAL_FAILURE(start_api({}));
    ASSERT_NO_FATAL_FAILURE(open(400, Colours::Dark));
    put("most", "100");
    ask("Tell a long story of a fox.");
    ASSERT_TRUE(comes(std::string(kLastAnswer) + " !== ''"));
    peers_.front()->signal(SIGKILL);
    EXPECT_TRUE(browser_.wait_until(
        "document.querySelectorAll('#models td:nth-child(1)').length === 2 &&"
        "document.getElementById('events').innerText.includes('peer gone')",
        kShownWithin
    )) << text("document.body.innerText");
    EXPECT_TRUE(
        comes("/peer gone.*(connection ended|lists it no more)/.test("
              "document.getElementById('events').innerText)")
    );
    EXPECT_TRUE(comes(std::string(kShownShares) + " === " + kToldShares));
    ASSERT_TRUE(answer_ends());
    EXPECT_EQ(text("document.querySelectorAll('#log .bad').length"), "0") << text(kLastNote);
    EXPECT_EQ(browser_.errors(), std::vector<std::string>{});

    peers_.back()->signal(SIGKILL);
    EXPECT_TRUE(browser_.wait_until(
        "document.getElementById('status').textContent.startsWith('not served')", kShownWithin
    )) << text("document.body.innerText");
    EXPECT_EQ(
        text("document.querySelector('#models .bad[scope=rowgroup]').textContent"),
        "layers 15-29: nobody serves them"
    );
}

TEST_F(ChatPageTest, ARefusalExplainsItself) {
    ASSERT_NO_FATAL_FAILURE(start_api({"--wait", "1s"}));
    browser_.open(url_, 400, Colours::Light);
    ask("Is anybody there?");
    ASSERT_TRUE(answer_ends());
    EXPECT_NE(text(kLastNote).find("nobody serves the model"), std::string::npos);
    EXPECT_NE(text(kLastNote).find("(ask again in "), std::string::npos) << text(kLastNote);
    EXPECT_EQ(text("document.getElementById('log').lastChild.className"), "bad");
    put("temperature", "9");
    ask("Is this sent?");
    EXPECT_EQ(text("document.querySelectorAll('.question').length"), "1") << "too hot";
}

TEST_F(ChatPageTest, AnAnswerThatFailsInMidTextSaysWhy) {
    ASSERT_NO_FATAL_FAILURE(start_api({}));
    browser_.open(url_, 400, Colours::Light);
    // The answer comes in pieces of one byte, which end within letters and lines.
    const auto expect = [&](const std::string& events, int status, const std::string& note) {
        run("window.fetch = async () => new Response(new ReadableStream({ start(out) {"
            "  for (const byte of new TextEncoder().encode(" +
            json::serialize(json::value(events)) +
            ")) out.enqueue(new Uint8Array([byte]));"
            "  out.close(); } }), { status: " +
            std::to_string(status) + " })");
        ask("What <b>comes?");
        ASSERT_TRUE(answer_ends());
        EXPECT_EQ(text(kLastNote), note);
        EXPECT_EQ(text(kLastQuestion), "What <b>comes?");
    };
    const std::string piece = R"(data: {"choices":[{"delta":{"content":"h\u00e4 ä<b>"}}]})";
    const std::string error = R"(data: {"error":{"message":"peers <b>are gone"}})";
    expect(": quiet\r\n\r\n" + piece + "\r\n\r\n" + error + "\n\n", 200, "peers <b>are gone");
    EXPECT_EQ(text(kLastAnswer), "hä ä<b>");
    expect(piece + "\n\n", 200, "the answer broke off");
    expect(piece + "\n\ndata: [DONE]\n\n", 200, "");
    expect(R"({"error":{"message":"no template","code":"no_chat_template"}})", 400, "no template");
    expect("<html>", 502, "the server refused with status 502");
    EXPECT_EQ(browser_.errors(), std::vector<std::string>{});
}

TEST_F(ChatPageTest, TextsOfOthersAreShownAsText) {
    ASSERT_NO_FATAL_FAILURE(start_api({}));
    browser_.open(url_, 400, Colours::Light);
    constexpr const char* kForged = R"((() => {
      const peer = { id: '<b>p', share: 1, prefill_rows_per_s: 0, decode_rows_per_s: 0 };
      const model = { name: '<b>n', layers: 2, served: false,
        stages: [{ layers: [0, 1], peers: [peer] }] };
      show({ model: '<b>m', join_line: '<b>j', join_here_only: true, served: false,
        answers_running: 0, answers_waiting: 0, tokens: 0, tokens_per_s: 0, models: [model],
        events: [{ seconds_ago: 1, what: '<b>w', peer: '<b>q', reason: '<b>r' }] });
      return document.querySelectorAll('b').length + ' ' +
        document.body.innerText.match(/<b>./g).join('');
    })())";
    EXPECT_EQ(text(kForged), "0 <b>m<b>n<b>p<b>j<b>w<b>q<b>r");
}

TEST_F(ChatPageTest, WhereKeysAreWantedThePageAsksForOne) {
    const std::string secret = "a-secret-of-many-letters";
    const std::filesystem::path keys = folder_.path() / "keys";
    std::ofstream(keys) << "alice 1000 " << secret << "\n";
    std::filesystem::permissions(keys, std::filesystem::perms::owner_read);
    ASSERT_NO_FATAL_FAILURE(start_api({"--keys", keys.string(), "--name", "<b>it</b>"}));
    browser_.open(url_, 400, Colours::Light);
    const std::string is_asked = "!document.getElementById('unlock').hidden";
    ASSERT_TRUE(comes(is_asked));
    put("key", "another-secret-of-many-letters");
    run("document.getElementById('unlock').requestSubmit()");
    ASSERT_TRUE(comes(is_asked));
    EXPECT_EQ(
        text("document.getElementById('status').textContent"), "the server does not know this key"
    );
    put("key", secret);
    run("document.getElementById('unlock').requestSubmit()");
    EXPECT_TRUE(comes("document.getElementById('name').textContent === '<b>it</b>'"));
    EXPECT_EQ(text(is_asked), "false");
    EXPECT_EQ(text("Object.keys(localStorage).length + document.cookie.length"), "0");
}

}  // namespace
}  // namespace swarm::test
