"""Checks of requests that are refused: each by its status, its code and the field that is wrong."""

import json

import openai

from bed import expect, expect_equal, expect_refused

HI = [{"role": "user", "content": "Hi"}]
CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"


def a_wrong_key_is_refused(bed):
    wrong = bed.client_with("wrong-" + bed.key)
    expect_refused(
        openai.AuthenticationError, wrong.models.list, code="invalid_api_key", says="key")
    for headers in ({}, {"Authorization": "Basic " + bed.key}):
        for path, body in (("/v1/models", None), (CHAT, {"messages": HI}), ("/api/state", None)):
            status, fields, text = bed.raw(path, body, headers=headers)
            expect_equal(status, 401, f"status of {path} without a key")
            expect_equal(json.loads(text)["error"]["code"], "missing_api_key", "code")
            expect_equal(fields["WWW-Authenticate"], "Bearer", "WWW-Authenticate")
    expect_equal(bed.raw("/health", headers={})[0], 200, "status of /health without a key")


def a_key_has_requests_per_minute(bed):
    scarce = bed.client_with(bed.scarce_key)
    scarce.models.list()
    refused = expect_refused(
        openai.RateLimitError, scarce.models.list, code="rate_limit_exceeded")
    wait_s = int(refused.response.headers["retry-after"])
    expect(0 < wait_s <= 60, f"Retry-After: {wait_s}")


def an_unknown_model_is_not_found(bed):
    def ask(name):
        return lambda: bed.client.chat.completions.create(model=name, messages=HI)

    expect_refused(openai.NotFoundError, ask("nobody"), param="model", code="model_not_found")
    # 100 bytes of this name end within a character. Reading the error as JSON wants UTF-8.
    long = bed.error(CHAT, {"model": "a" + "é" * 80, "messages": HI}, 404)
    expect("éé" in long["message"] and "\ufffd" not in long["message"], long["message"])
    expect_refused(openai.NotFoundError, lambda: bed.client.models.retrieve("nobody"))
    expect_equal(bed.client.models.retrieve(bed.model).id, bed.model, "name of the model")
    unnamed = bed.json(CHAT, {"messages": HI, "max_tokens": 1})
    expect_equal(unnamed["model"], bed.model, "model of a request that names none")


def bad_bodies_are_refused(bed):
    bodies = (b"", b"{", b"null", b"[]", b'"text"', b"{'prompt': 1}", b'{"prompt": "\xff"}',
              b'{"prompt": "\\ud800"}', b"[" * 1000, b'{"prompt": "x"} more')
    for body in bodies:
        for path in (CHAT, TEXT, "/tokenize", "/detokenize"):
            expect_equal(bed.error(path, body)["code"], "invalid_json", f"code for {body[:20]}")


def paths_and_methods_are_refused(bed):
    expect_equal(bed.error("/v2/models", None, 404)["code"], "not_found", "code")
    for path, method, allowed in (
            (CHAT, "GET", "POST"), ("/v1/models", "POST", "GET"), ("/", "DELETE", "GET"),
            (f"/v1/models/{bed.model}", "DELETE", "GET")):
        status, fields, text = bed.raw(path, method=method)
        expect_equal(status, 405, f"status of {method} {path} ({text[:100]!r})")
        expect(allowed in (fields["Allow"] or ""), f"Allow: {fields['Allow']}")
    expect_equal(bed.error("/v1/embeddings", {"input": "x"})["code"], "invalid_value", "code")
    expect_refused(
        openai.BadRequestError,
        lambda: bed.client.embeddings.create(model=bed.model, input="x"),
        says="embeddings are not supported")


def wrong_messages_are_refused(bed):
    for messages in (
            None, [], {}, "Hi", ["Hi"], [{"content": "Hi"}], [{"role": "user"}],
            [{"role": "robot", "content": "Hi"}], [{"role": "user", "content": 3}],
            [{"role": "user", "content": None}], [{"role": "user", "content": ["Hi"]}]):
        error = bed.error(CHAT, {"messages": messages})
        expect_equal(error["param"], "messages", f"param for {messages}")


def wrong_prompts_are_refused(bed):
    for prompt in (
            None, "", [], [[]], [""], {}, 3, [3, "x"], [-1], [49152], [1.5], [1e300], ["x", 3],
            [[1], [2, "x"]], ["x"] * 33):
        error = bed.error(TEXT, {"prompt": prompt})
        expect_equal(error["param"], "prompt", f"param for {prompt}")
    expect_equal(bed.error(TEXT, {"prompt": ["x"] * 17, "n": 2})["param"], "n", "param")
    for tokens in (None, "x", ["x"], [-1], [49152], 3):
        error = bed.error("/detokenize", {"tokens": tokens})
        expect_equal(error["param"], "tokens", f"param for {tokens}")


def values_out_of_range_are_refused(bed):
    for wrong in (
            {"temperature": 9}, {"temperature": -1}, {"temperature": "hot"}, {"temperature": True},
            {"top_p": 2}, {"top_p": 0}, {"n": 0}, {"n": 33}, {"n": 1.5}, {"max_tokens": 0},
            {"max_tokens": -1}, {"max_tokens": "many"}, {"max_completion_tokens": 0},
            {"max_tokens": 1 << 60}, {"logit_bias": {"99999999999999999999": 1}},
            {"logit_bias": {"49152": 1}}, {"logit_bias": {"x": 1}}, {"logit_bias": {"1": 101}},
            {"logit_bias": [1]}, {"logit_bias": {"1": None}}, {"stop": ["x"] * 17}, {"stop": ""},
            {"stop": [3]}, {"stop": "x" * 1025}, {"top_logprobs": -1}, {"top_logprobs": 21},
            {"top_logprobs": 2}, {"logprobs": "yes"}, {"presence_penalty": 3},
            {"frequency_penalty": -3}, {"seed": 1.5}, {"seed": 1 << 64}, {"min_p": 2},
            {"top_k": -2}, {"top_k": 65}, {"repetition_penalty": 0}, {"stream": "yes"},
            {"stream_options": {"include_usage": True}}, {"ignore_eos": 1}):
        (field,) = wrong
        error = bed.error(CHAT, {"messages": HI, **wrong})
        expect_equal(error["param"], field, f"param for {wrong}")
        expect(error["message"].startswith(field), error["message"])
    for wrong in ({"logprobs": 21}, {"logprobs": -1}, {"best_of": 3}, {"echo": "yes"}):
        (field,) = wrong
        expect_equal(bed.error(TEXT, {"prompt": "x", **wrong})["param"], field, str(wrong))


def what_is_not_supported_is_named(bed):
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
    for field, value in (
            ("response_format", {"type": "json_object"}), ("response_format", schema),
            ("tools", [tool]), ("functions", [{"name": "f"}]),
            ("prediction", {"type": "content", "content": "x"})):
        expect_refused(
            openai.BadRequestError, lambda: bed.chat("Hi", **{field: value}),
            param=field, says=field)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    expect_refused(
        openai.BadRequestError, lambda: bed.chat([{"type": "text", "text": "Hi"}, picture]),
        param="messages", says="images")
    expect_refused(
        openai.BadRequestError, lambda: bed.text("def f(", suffix="return"), param="suffix")
    plain = bed.chat("Hi", response_format={"type": "text"}, max_tokens=2)
    expect_equal(plain.usage.completion_tokens, 2, "tokens with response_format text")


def its_description_is_true(bed):
    """Each path of /openapi.json is there, and each number beyond its bounds is refused."""
    description = bed.json("/openapi.json")
    for path, operations in description["paths"].items():
        for method in operations:
            status = bed.raw(path, method=method.upper())[0]
            expect((status == 404) == ("{model}" in path), f"status of {method} {path}: {status}")
            expect(status != 405, f"{method} {path} is not allowed")
    schemas = description["components"]["schemas"]
    fields = schemas["CommonRequest"]["properties"]
    numbers = 0
    for name, schema in fields.items():
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        step = 1 if "integer" in schema.get("type", []) else 1e-10
        for bound, beyond in (("minimum", -step), ("maximum", step * 10)):
            if bound in schema:
                numbers += 1
                body = {"messages": HI, "max_tokens": 1, name: schema[bound] + beyond}
                expect_equal(bed.error(CHAT, body)["param"], name, f"param for {name} {bound}")
        if schema == schemas["NotSupported"]:
            body = {"messages": HI, name: ["x"]}
            expect_equal(bed.error(CHAT, body)["param"], name, f"param for {name}")
    expect(numbers > 15, f"the description has {numbers} bounds")


def a_prompt_that_is_too_long_is_refused(bed):
    longest = bed.json("/v1/models")["data"][0]["max_model_len"]
    refused = expect_refused(
        openai.BadRequestError, lambda: bed.text([28] * longest),
        param="prompt", code="context_length_exceeded", says=str(longest))
    expect_equal(refused.status_code, 400, "status")
    expect_refused(
        openai.BadRequestError, lambda: bed.chat("word " * longest),
        param="messages", code="context_length_exceeded")


CHECKS = [
    an_unknown_model_is_not_found,
    bad_bodies_are_refused,
    paths_and_methods_are_refused,
    wrong_messages_are_refused,
    wrong_prompts_are_refused,
    values_out_of_range_are_refused,
    what_is_not_supported_is_named,
    its_description_is_true,
    a_prompt_that_is_too_long_is_refused,
]

# These need an API that has keys.
KEY_CHECKS = [a_wrong_key_is_refused, a_key_has_requests_per_minute]
