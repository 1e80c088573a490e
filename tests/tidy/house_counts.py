#!/usr/bin/env python3
"""Counts what the house rules are about, over a checkout: tests/tidy/house_counts.py [CHECKOUT].

Prints one line per count. tests/tidy/tidy_test.cpp holds the counts that have a limit; this script
shows them all, for this checkout or for an older one beside it. Exit code 0; 2 for a folder that is
no checkout.
"""
import pathlib
import re
import subprocess
import sys

FOLDERS = ("swarm", "stages", "router", "compression", "stacking", "sim", "tests")
SUBJECTLESS = re.compile(r"(///?|#)\s+(Of|Who|Whose|As|What)\b", re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def tracked(root):
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=True).stdout.split()
    return [path for path in listed if (root / path).is_file()]


def is_code(path):
    return path.endswith((".hpp", ".cpp", ".cu")) and path.startswith(FOLDERS)


def comment_openings(lines):
    """(line number, comment) of each comment block's first line, and of each trailing comment."""
    inside = False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("//"):
            if not inside:
                yield number, text
            inside = True
        else:
            inside = False
            at = line.find("  // ")
            if at > 0 and line.count('"', 0, at) % 2 == 0:
                yield number, line[at:].strip()


def visible_modules(root):
    """The table of tests/tidy/tidy_test.cpp: module -> modules that it may include."""
    text = (root / "tests/tidy/tidy_test.cpp").read_text()
    table = re.search(r"(?:kVisibleTo|table) = \{\n(.*?)\n *\};\n", text, re.S)[1]
    rows = re.findall(r'\{"([\w/]+)",\s*\{([^}]*)\}', table)
    return {name: set(re.findall(r'"([^"]+)"', seen)) for name, seen in rows}


def module_of(path, modules):
    names = [m for m in (*modules, "swarm/cli", "tests") if path.startswith(m + "/")]
    return max(names, key=len, default="")


def arrows_up(root, code):
    modules = visible_modules(root)
    count = 0
    for path in code:
        source = module_of(path, modules)
        if source in ("", "swarm/cli", "tests"):
            continue
        for line in (root / path).read_text().splitlines():
            found = INCLUDE.match(line)
            if found and not found[1].endswith(".pb.h"):
                target = module_of(found[1], modules)
                count += target != source and target not in modules[source]
    return count


def bool_parameters(text):
    """Parameters of type bool in a header; neither results, nor fields, nor those of lambdas."""
    code = re.sub(r"//[^\n]*", "", text)
    return len(re.findall(r"[(,]\s*(?:const\s+)?bool\s+\w+\s*(?:=[^,)]*)?(?=[,)])", code))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    if not (root / "tests/tidy/tidy_test.cpp").is_file():
        print(f"{root}: no tests/tidy/tidy_test.cpp here; name a checkout of swarm", file=sys.stderr)
        return 2
    files = tracked(root)
    code = [path for path in files if is_code(path)]
    texts = {path: (root / path).read_text() for path in code}

    def show(value, what):
        print(f"{value:6}  {what}")

    for document in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        show(len((root / document).read_text().splitlines()), f"lines of {document}")
    folders = {}
    for path in files:
        if path.startswith(FOLDERS):
            folder = path.rsplit("/", 1)[0]
            folders[folder] = folders.get(folder, 0) + 1
    fullest = sorted(folders.items(), key=lambda item: -item[1])[:5]
    show(fullest[0][1], "files in the fullest folder: " +
         ", ".join(f"{folder} {count}" for folder, count in fullest))
    show(sum(count > 40 for count in folders.values()), "folders with more than 40 files")
    show(sum(bool(SUBJECTLESS.match(comment)) for text in texts.values()
             for _, comment in comment_openings(text.splitlines())),
         "comments that open without a subject")
    show(arrows_up(root, code), "includes that point up")
    headers = [path for path in code if path.endswith(".hpp") and not path.startswith("tests/")]
    show(sum(bool_parameters(texts[path]) for path in headers), "bool parameters in public headers")
    show(sum(len(re.findall(r"return \*?[\w.>()-]*(?:\.|->)error\(\);", text))
             for path, text in texts.items() if not path.startswith("tests/")),
         "hand-written error returns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
