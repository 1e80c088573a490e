// Expected trouble as a value: Result<T> holds a T or an Error.
// Callers switch on the reaction, not on the code: the code says what happened, the reaction what
// to do about it. Bugs are SWARM_ASSERT; foreign exceptions end at the module that calls out.
#pragma once

#include <boost/system/result.hpp>

#include <string>

namespace swarm {

enum class ErrorCode {
    Malformed,        // bytes that break the grammar
    TooLarge,         // a size above its limit
    Mismatch,         // well-formed, but for another run, shape, version or schema
    NotFinite,        // NaN, infinity or a magnitude above its limit
    Unreachable,      // no link
    ConnectionLost,   // a link that was up
    Unauthorised,     // wrong identity or swarm key
    StorageFailed,    // disk
    NotFound,         // a file, tensor or name that is not there
    Unsupported,      // known, but not in this build or on this machine
    Usage,            // a flag or configuration a person wrote
    Full,             // a budget that is spent for now, such as KV pages
};

enum class Reaction { Retry, RetryElsewhere, BackOff, Reject, Fatal };

struct [[nodiscard]] Error {
    ErrorCode code;
    Reaction reaction;
    std::string detail;  // one line: what, why, what to do
};

template <class T = void>
using Result = boost::system::result<T, Error>;

}  // namespace swarm
