#include "swarm/cli/owners/qr_code.hpp"

#include <iostream>
#include <memory>
#include <qrencode.h>

namespace swarm::cli {
namespace {

/// Light modules around the code. The standard wants four; two are read by every phone.
constexpr int kQuietModules = 2;
constexpr const char* kWhiteOnBlack = "\x1b[37;40m";
constexpr const char* kPlain = "\x1b[0m";

struct FreeCode {
    void operator()(QRcode* code) const { QRcode_free(code); }
};

using Code = std::unique_ptr<QRcode, FreeCode>;

bool is_dark(const QRcode& code, int row, int column) {
    const bool inside = row >= 0 && column >= 0 && row < code.width && column < code.width;
    return inside && (code.data[row * code.width + column] & 1) != 0;
}

const char* character(bool upper_is_light, bool lower_is_light) {
    if (upper_is_light) {
        return lower_is_light ? "\u2588" : "\u2580";  // full block, upper half
    }
    return lower_is_light ? "\u2584" : " ";  // lower half
}

}  // namespace

Result<std::string> qr_code(const std::string& text, QrFor where) {
    constexpr int kSmallest = 0;  // the smallest version into which the text fits
    constexpr int kAsGiven = 1;   // small letters stay small
    const Code code(QRcode_encodeString(text.c_str(), kSmallest, QR_ECLEVEL_L, QR_MODE_8, kAsGiven)
    );
    if (!code) {
        return Error{
            ErrorCode::TooLarge, Reaction::Reject, "the join line is too long for a QR code"};
    }
    std::string lines;
    const int end = code->width + kQuietModules;
    for (int row = -kQuietModules; row < end; row += 2) {
        lines += where == QrFor::Terminal ? kWhiteOnBlack : "";
        for (int column = -kQuietModules; column < end; ++column) {
            const bool below = row + 1 < end && !is_dark(*code, row + 1, column);
            lines += character(!is_dark(*code, row, column), below);
        }
        lines += where == QrFor::Terminal ? kPlain : "";
        lines += '\n';
    }
    return lines;
}

void show_qr_code(const std::string& text, Console& console) {
    const auto code = qr_code(text, console.is_terminal() ? QrFor::Terminal : QrFor::File);
    if (!code) {
        console.warn(code.error().detail);
        return;
    }
    console.settle();
    std::cerr << *code << std::flush;
}

}  // namespace swarm::cli
