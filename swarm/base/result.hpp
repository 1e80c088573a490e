// Result<T> holds a T or an Error: expected trouble is a value. SWARM_TRY (try.hpp) passes an error
// on to the caller.
// Callers switch on the reaction, not on the code: the code says what happened, the reaction says
// what to do about it. A bug fails a SWARM_ASSERT instead. An exception of a foreign library is
// caught in the module that calls the library.
#pragma once

#include <boost/system/result.hpp>

#include <string>

namespace swarm {

enum class ErrorCode {
    Malformed,       // bytes break the grammar
    TooLarge,        // a size is above its limit
    Mismatch,        // well-formed, but for another run, shape, version or schema
    NotFinite,       // NaN, infinity or a magnitude above its limit
    Unreachable,     // there is no link
    ConnectionLost,  // a link that was up is gone
    Unauthorised,    // wrong identity or swarm key
    StorageFailed,   // the disk failed
    NotFound,        // a file, tensor or name is not there
    Unsupported,     // known, but not in this build or on this machine
    Usage,           // a flag or configuration that a person wrote is wrong
    Full,            // a budget is spent for now, such as KV pages
};

enum class Reaction { Retry, RetryElsewhere, BackOff, Reject, Fatal };

struct [[nodiscard]] Error {
    ErrorCode code;
    Reaction reaction;
    std::string detail;  // one line: what happened, why, and what to do
};

template <class T = void>
using Result = boost::system::result<T, Error>;

}  // namespace swarm
