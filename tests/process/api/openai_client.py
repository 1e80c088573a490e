"""Asks an API of peers like its users do, with PyPI's client `openai`.

Each check prints one line; the exit code is 1 when one failed. With --kill, the last check kills
that peer in the middle of streams.
"""

import argparse
import json
import sys
import time

import answer_checks
import kill_check
import refusal_checks
from bed import Bed


def read_keys(file):
    """Returns {name: secret} of a file with lines NAME REQUESTS_PER_MINUTE SECRET."""
    with open(file, encoding="utf-8") as lines:
        return {name: secret for name, _, secret in (line.split() for line in lines)}


def run(check, bed):
    """Returns whether the check passed."""
    name = check.__name__.replace("_", " ")
    begin = time.monotonic()
    try:
        check(bed)
    except Exception as problem:  # pylint: disable=broad-except
        print(f"FAILED {name}: {type(problem).__name__}: {problem}", flush=True)
        return False
    print(f"ok {name} ({time.monotonic() - begin:.1f} s)", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="such as http://127.0.0.1:8080")
    parser.add_argument("--golden", required=True, help="tests/golden/smollm2.json")
    parser.add_argument("--keys", help="a file of the keys `whole` and `scarce`")
    parser.add_argument("--kill", type=int, help="process id of a peer whose stage has another")
    parser.add_argument("--only", default="", help="checks whose names contain this")
    options = parser.parse_args()
    keys = read_keys(options.keys) if options.keys else {"whole": "none", "scarce": "none"}
    with open(options.golden, encoding="utf-8") as file:
        golden = json.load(file)
    bed = Bed(
        options.url, keys["whole"],
        scarce_key=keys["scarce"], victim=options.kill, golden=golden)
    checks = answer_checks.CHECKS + refusal_checks.CHECKS
    checks += refusal_checks.KEY_CHECKS if options.keys else []
    checks += kill_check.CHECKS if options.kill else []
    chosen = [check for check in checks if options.only in check.__name__]
    passed = [run(check, bed) for check in chosen]
    print(f"{sum(passed)} of {len(chosen)} checks passed")
    return 0 if chosen and all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
