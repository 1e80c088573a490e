#include "sim/report/page.hpp"

#include "sim/report/figures.hpp"
#include "sim/report/page_style.hpp"

namespace sim {

std::string page_head(const std::string& title) {
    // The policy lets no browser fetch anything, whatever a scenario's text holds.
    return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
           "style-src 'unsafe-inline'\">"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
           "<link rel=\"icon\" href=\"data:,\"><title>" +
           escaped(title) + "</title><style>" + kCurveStyle + kPageStyle + "</style></head>\n";
}

std::string breakable(const std::string& text) {
    std::string out;
    for (const char letter : escaped(text)) {
        out += letter;
        out += letter == '_' ? "<wbr>" : "";
    }
    return out;
}

}  // namespace sim
