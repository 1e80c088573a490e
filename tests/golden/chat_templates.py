#!/usr/bin/env python3
"""Writes chat_templates.json: what Jinja makes of the templates in chat_templates.txt.

    pip install jinja2==3.1.6
    chat_templates.py > chat_templates.json
    chat_templates.py --show NAME NUMBER        # one rendering, to look at

Each template is rendered with 200 drawn conversations in the environment that the library
transformers gives to chat templates. The conversations are made anew by chat_templates_test.cpp,
number by number the same, so only digests are kept: one for each 25 renderings. The templates are
written for this test, in the manner of those that come with public models.
"""
import datetime
import hashlib
import json
import os
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

CONVERSATIONS, CHUNK = 200, 25
NOW = datetime.datetime(2026, 1, 1, 10, 55, 9)
MASK = (1 << 64) - 1
# Pieces of JSON strings, escaped as they stand in the JSON.
WORDS = ["Hello", "what is", "the", "weather", "in", "Z\\u00fcrich", "\\u4e2d\\u6587", "?", "!", ".",
         "\\n", "\\n\\n", " ", "  ", "\\t", "it's", "\\\"quoted\\\"", "<b>&amp;</b>", "{{ x }}",
         "{% if %}", "<think>", "</think>", "maybe so", "42", "3.5", "-7", "\\\\", "a,b;c",
         "UPPER", "\\u00e9t\\u00e9", "\\ud83d\\ude00", "def f(x):\\n    return x", "[INST]",
         "<|end|>", "|", "---", "\\u2028", "\\u0007", "%s", "'"]
SCALARS = ["1", "-3", "2.5", "1e20", "true", "false", "null", "\\\"x\\\"", "[1, 2]", "{}"]
NAMES = ["get_weather", "search", "add_numbers", "run"]
KINDS = ["string", "integer", "number", "boolean", "array"]


class Rng:
    """splitmix64"""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) % bound


def make_text(rng, most):
    words = [WORDS[rng.below(len(WORDS))] for _ in range(rng.below(most + 1))]
    return '"' + (" " if rng.below(2) else "").join(words) + '"'


def make_arguments(rng):
    fields = []
    for i in range(rng.below(3)):
        value = SCALARS[rng.below(len(SCALARS))].replace("\\", "")
        if rng.below(2):
            value = make_text(rng, 3)
        fields.append('"arg%d": %s' % (i, value))
    return "{" + ", ".join(fields) + "}"


def make_calls(rng):
    calls = []
    for i in range(1 + rng.below(2)):
        name = NAMES[rng.below(len(NAMES))]
        calls.append('{"id": "call_%d", "type": "function", "function": {"name": "%s", "arguments": %s}}'
                     % (i, name, make_arguments(rng)))
    return "[" + ", ".join(calls) + "]"


def make_tools(rng):
    tools = []
    for _ in range(1 + rng.below(2)):
        fields = []
        for i in range(rng.below(3)):
            kind = KINDS[rng.below(len(KINDS))]
            fields.append('"arg%d": {"type": "%s", "description": %s}' % (i, kind, make_text(rng, 3)))
        required = '["arg0"]' if rng.below(2) else "[]"
        tools.append('{"type": "function", "function": {"name": "%s", "description": %s, "parameters": '
                     '{"type": "object", "properties": {%s}, "required": %s}}}'
                     % (NAMES[rng.below(len(NAMES))], make_text(rng, 4), ", ".join(fields), required))
    return "[" + ", ".join(tools) + "]"


def make_messages(rng):
    messages = []

    def add(role, more=""):
        messages.append('{"role": "%s", "content": %s%s}' % (role, make_text(rng, 6), more))

    if rng.below(3):
        add("system")
    for _ in range(1 + rng.below(4)):
        add("user")
        if rng.below(12) == 0:
            add("user")
        if rng.below(5) == 0:
            add("assistant", ', "tool_calls": ' + make_calls(rng))
            add("tool", ', "name": "%s", "tool_call_id": "call_0"' % NAMES[rng.below(len(NAMES))])
        if rng.below(4):
            add("assistant", ', "reasoning_content": ' + make_text(rng, 3) if rng.below(3) == 0 else "")
    return "[" + ", ".join(messages) + "]"


def make_conversation(number):
    rng = Rng(number)
    fields = ['"messages": ' + make_messages(rng)]
    fields.append('"tools": ' + (make_tools(rng) if rng.below(3) == 0 else "null"))
    fields.append('"add_generation_prompt": ' + ("true" if rng.below(2) else "false"))
    fields.append('"bos_token": "<s>", "eos_token": "</s>"')
    thinking = rng.below(3)
    if thinking:
        fields.append('"enable_thinking": ' + ("true" if thinking == 1 else "false"))
    if rng.below(4) == 0:
        fields.append('"date_string": "26 Jul 2024"')
    return "{" + ", ".join(fields) + "}"


def make_environment():
    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            call = self.call_method("_text")
            return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

        @jinja2.pass_eval_context
        def _text(self, _context, caller):
            return caller()

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = NOW.strftime
    return environment


def read_templates():
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "chat_templates.txt"), encoding="utf-8", newline="\n") as file:
        parts = file.read().split("\n######## ")
    templates = {}
    for part in parts[1:]:
        name, _, text = part.partition("\n")
        templates[name] = text
    return templates


def render(template, number):
    """The text, or one of two marks: the template refuses the data, or it fails."""
    try:
        return template.render(**json.loads(make_conversation(number)))
    except jinja2.exceptions.UndefinedError:
        return "\0failed"
    except jinja2.exceptions.TemplateError as error:
        return "\0refused: " + str(error)
    except Exception:  # pylint: disable=broad-except
        return "\0failed"


def main():
    environment = make_environment()
    templates = read_templates()
    if sys.argv[1:2] == ["--show"]:
        print(make_conversation(int(sys.argv[3])), file=sys.stderr)
        print(render(environment.from_string(templates[sys.argv[2]]), int(sys.argv[3])))
        return
    digests = {}
    for name, text in templates.items():
        template = environment.from_string(text)
        digests[name] = []
        for begin in range(0, CONVERSATIONS, CHUNK):
            digest = hashlib.sha256()
            for number in range(begin, begin + CHUNK):
                digest.update(render(template, number).encode() + b"\n")
            digests[name].append(digest.hexdigest()[:16])
    drawn = hashlib.sha256()
    for number in range(CONVERSATIONS):
        drawn.update(make_conversation(number).encode() + b"\n")
    print(json.dumps({"conversations": drawn.hexdigest()[:16], "templates": digests}, indent=0))


if __name__ == "__main__":
    main()
