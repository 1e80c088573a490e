#include "swarm/cli/manual/manual.hpp"

#include <algorithm>
#include <string_view>

namespace swarm::cli {
namespace {

constexpr std::string_view kHead = R"(# Completion of swarm for bash; `swarm manual` writes it.
_swarm() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local verb=swarm word words=
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$verb $word" in
            )";

constexpr std::string_view kTail = R"(    [[ $current == -* || -n $below ]] || return
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _swarm swarm
)";

/// The names of all verbs below this one, as patterns of `case`.
std::string verb_patterns(const VerbText& verb) {
    std::string patterns;
    for (const VerbText& below : verb.verbs) {
        patterns += (patterns.empty() ? "\"" : " | \"") + below.name + "\"";
        if (const std::string deeper = verb_patterns(below); !deeper.empty()) {
            patterns += " | " + deeper;
        }
    }
    return patterns;
}

/// "-o,--out" -> {"-o", "--out"}.
std::vector<std::string> names_of(const FlagText& flag) {
    std::vector<std::string> names;
    std::string_view rest = flag.names;
    while (!flag.is_word && !rest.empty()) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        names.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return names;
}

/// A line for each flag of the verb, and of those below, that takes one of some values.
std::string value_cases(const VerbText& verb) {
    std::string cases;
    for (const FlagText& flag : verb.flags) {
        std::string values;
        for (const std::string& choice : flag.choices) {
            values += (values.empty() ? "" : " ") + choice;
        }
        for (const std::string& name : names_of(flag)) {
            if (!values.empty()) {
                cases +=
                    "        \"" + verb.name + " " + name + "\") words=\"" + values + "\" ;;\n";
            }
        }
    }
    for (const VerbText& below : verb.verbs) {
        cases += value_cases(below);
    }
    return cases;
}

/// A line for each verb, with the verbs below it and its flags.
std::string verb_cases(const VerbText& verb) {
    std::string below;
    std::string flags;
    for (const VerbText& other : verb.verbs) {
        below += (below.empty() ? "" : " ") + other.name.substr(verb.name.size() + 1);
    }
    for (const FlagText& flag : verb.flags) {
        for (const std::string& name : names_of(flag)) {
            flags += (flags.empty() ? "" : " ") + name;
        }
    }
    std::string cases =
        "        \"" + verb.name + "\") below=\"" + below + "\" flags=\"" + flags + "\" ;;\n";
    for (const VerbText& other : verb.verbs) {
        cases += verb_cases(other);
    }
    return cases;
}

}  // namespace

std::string bash_completion(const VerbText& swarm) {
    std::string script(kHead);
    script += verb_patterns(swarm) + ") verb=\"$verb $word\" ;;\n        esac\n    done\n";
    script += "    case \"$verb $before\" in\n" + value_cases(swarm) + "    esac\n";
    script +=
        "    if [[ -n $words ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
        "        return\n"
        "    fi\n"
        "    local below flags\n"
        "    case \"$verb\" in\n" +
        verb_cases(swarm) + "    esac\n";
    script += "    words=$below\n    [[ $current != -* ]] || words=$flags\n";
    return script + std::string(kTail);
}

}  // namespace swarm::cli
