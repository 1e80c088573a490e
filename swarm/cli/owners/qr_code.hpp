// A text as a QR code (ISO/IEC 18004) of characters, two modules in each, for a terminal.
// Threading: none. Errors: TooLarge (Reject) for a text that fits into no code.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <string>

namespace swarm::cli {

enum class QrFor { Terminal, File };

/// Returns lines in which light modules are printed and dark ones are blank, as on a dark terminal.
/// For a terminal each line sets its colours, because a terminal may be light.
Result<std::string> qr_code(const std::string& text, QrFor where);

/// Prints the code to stderr, where the text itself has been printed; on failure a warning.
void show_qr_code(const std::string& text, Console& console);

}  // namespace swarm::cli
