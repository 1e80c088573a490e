"""Checks of answers: texts, streams, their ends, and what is told beside them."""

import math

from bed import expect, expect_equal, joined

STORY = "Once upon a time"
FRUITS = "🍎🍐🍎🍐🍎🍐🍎🍐🍎🍐🍎🍐"
CITIES = "東京、大阪、京都、東京、大阪、京都、東京、大阪、京都、"


def a_chat_is_answered(bed):
    answer = bed.chat()
    choice = answer.choices[0]
    expect_equal(choice.message.content, "The capital of France is Paris.", "text")
    expect_equal(choice.message.role, "assistant", "role")
    expect_equal(choice.finish_reason, "stop", "finish_reason")
    expect_equal(answer.object, "chat.completion", "object")
    expect(answer.id.startswith("chatcmpl-"), answer.id)
    usage = answer.usage
    expect_equal(usage.completion_tokens, 8, "tokens, the end token included")
    expect_equal(usage.total_tokens, usage.prompt_tokens + 8, "sum of the tokens")


def a_streamed_chat_is_the_same(bed):
    whole = bed.chat("Count to ten.", max_tokens=20)
    pieces = list(
        bed.chat(
            "Count to ten.", max_tokens=20, stream=True, stream_options={"include_usage": True}
        )
    )
    first, last = pieces[0], pieces[-1]
    expect_equal(first.choices[0].delta.role, "assistant", "role of the first piece")
    expect_equal(joined(pieces), whole.choices[0].message.content, "text of the stream")
    ends = [piece.choices[0].finish_reason for piece in pieces if piece.choices]
    expect_equal(ends[-1], whole.choices[0].finish_reason, "finish_reason")
    expect_equal(set(ends[:-1]), {None}, "finish_reason before the end")
    expect_equal(last.choices, [], "choices of the piece with the usage")
    expect_equal(last.usage, whole.usage, "usage")
    expect_equal({piece.id for piece in pieces}, {first.id}, "ids of the pieces")
    expect(all(piece.usage is None for piece in pieces[:-1]), "usage before the last piece")


def a_streamed_text_is_the_same(bed):
    whole = bed.text(max_tokens=16, echo=True).choices[0]
    pieces = list(bed.text(max_tokens=16, echo=True, stream=True))
    expect(whole.text.startswith(STORY), whole.text)
    expect_equal(joined(pieces), whole.text, "text of the stream")
    expect_equal(pieces[-1].choices[0].finish_reason, "length", "finish_reason")
    expect(pieces[-1].usage is None, "usage that nobody asked for")


def pieces_of(bed, tokens=24):
    """Returns the greedy text's tokens, as texts."""
    answer = bed.text(max_tokens=tokens, extra_body={"return_token_ids": True})
    ids = answer.choices[0].token_ids
    return [bed.json("/detokenize", {"tokens": [token]})["prompt"] for token in ids]


def stops_span_tokens_and_do_not_leak(bed):
    pieces = pieces_of(bed)
    text = "".join(pieces)
    at = next(i for i in range(6, len(pieces) - 1) if len(pieces[i]) > 2 < len(pieces[i + 1]))
    stop = pieces[at][-2:] + pieces[at + 1][:2]  # begins in one token and ends in the next
    before = text[: text.index(stop)]
    for stops in (stop, ["never in this text", stop], [stop, pieces[-1] + "never"]):
        whole = bed.text(max_tokens=24, stop=stops).choices[0]
        expect_equal(whole.text, before, f"text before the stop {stops!r}")
        expect_equal(whole.finish_reason, "stop", "finish_reason")
        stream = list(bed.text(max_tokens=24, stop=stops, stream=True))
        expect_equal(joined(stream), before, f"stream before the stop {stops!r}")
        expect_equal(stream[-1].choices[0].finish_reason, "stop", "finish_reason")
    # What looks like the beginning of a stop is held back, and comes when it is none.
    almost = text[-6:] + "§"
    expect_equal(joined(bed.text(max_tokens=24, stop=almost, stream=True)), text, "whole text")


def several_answers_have_indices(bed):
    greedy = bed.chat("Count to ten.", n=2)
    expect_equal([choice.index for choice in greedy.choices], [0, 1], "indices")
    texts = {choice.message.content for choice in greedy.choices}
    expect_equal(len(texts), 1, f"greedy texts {texts}")
    expect_equal(greedy.usage.completion_tokens, 24, "tokens of both answers")
    drawn = bed.text(n=3, temperature=1, seed=5, max_tokens=16)
    expect_equal(len({choice.text for choice in drawn.choices}), 3, "different texts")
    pieces = list(bed.text(n=3, temperature=1, seed=5, max_tokens=16, stream=True))
    for choice in drawn.choices:
        expect_equal(joined(pieces, choice.index), choice.text, f"stream {choice.index}")


def chats_tell_log_probabilities(bed):
    choice = bed.chat("Count to ten.", logprobs=True, top_logprobs=5).choices[0]
    content = choice.logprobs.content
    expect_equal("".join(one.token for one in content), choice.message.content, "tokens' texts")
    for one in content:
        tops = [top.logprob for top in one.top_logprobs]
        expect_equal(len(tops), 5, "likeliest tokens")
        expect_equal(tops, sorted(tops, reverse=True), "order of the likeliest tokens")
        expect(all(logprob <= 0 for logprob in [one.logprob, *tops]), f"positive in {one}")
        expect_equal(one.token, one.top_logprobs[0].token, "greedy token")
        expect_equal(one.logprob, tops[0], "log probability of the greedy token")
        expect_equal(bytes(one.bytes).decode(), one.token, "bytes of the token")
        expect(sum(math.exp(logprob) for logprob in tops) <= 1 + 1e-6, f"sum of {tops}")
    none = bed.chat("Count to ten.", logprobs=True).choices[0].logprobs.content
    expect_equal({len(one.top_logprobs) for one in none}, {0}, "likeliest tokens not asked for")
    expect_equal([one.logprob for one in none], [one.logprob for one in content], "logprobs")
    stream = bed.chat("Count to ten.", logprobs=True, top_logprobs=5, stream=True)
    streamed = [
        one for piece in stream if piece.choices[0].logprobs
        for one in piece.choices[0].logprobs.content
    ]
    expect_equal(streamed, content, "log probabilities of the stream")


def texts_tell_log_probabilities(bed):
    choice = bed.text(logprobs=3).choices[0]
    told = choice.logprobs
    expect_equal("".join(told.tokens), choice.text, "tokens' texts")
    for token, own, top, offset in zip(
        told.tokens, told.token_logprobs, told.top_logprobs, told.text_offset, strict=True
    ):
        expect(own <= 0 and own == max(top.values()) == top[token], f"{own} of {token!r} in {top}")
        expect_equal(choice.text[offset : offset + len(token)], token, "text at the offset")
    # Text that may begin a stop is held back, but counts.
    held = bed.text(logprobs=3, stop=choice.text[2:8] + "§").choices[0].logprobs
    expect_equal(held.text_offset, told.text_offset, "offsets with a stop that is none")
    drawn = bed.text(logprobs=0, temperature=1, seed=3).choices[0].logprobs
    expect(all(-100 < own <= 0 for own in drawn.token_logprobs), str(drawn.token_logprobs))


def seeds_repeat_texts(bed):
    def drawn(seed):
        return bed.text(temperature=1, seed=seed, max_tokens=16).choices[0].text

    first = drawn(7)
    expect_equal(drawn(7), first, "text of the same seed")
    expect(drawn(8) != first, f"two seeds gave {first!r}")
    unseeded = {bed.text(temperature=1, max_tokens=16).choices[0].text for _ in range(2)}
    expect_equal(len(unseeded), 2, f"texts without a seed: {unseeded}")


def closing_a_stream_ends_its_answer(bed):
    stream = bed.text(max_tokens=2000, stream=True, extra_body={"ignore_eos": True})
    for _, _ in zip(range(3), stream):
        pass
    expect_equal(bed.state()["answers_running"], 1, "answers under way")
    stream.close()
    bed.wait_for_state(lambda state: state["answers_running"] == 0, "an end of the answer")


def both_bounds_of_tokens_hold(bed):
    for bound in ({"max_tokens": 5}, {"max_completion_tokens": 5, "max_tokens": 9}):
        answer = bed.chat("Count to ten.", **bound)
        expect_equal(answer.usage.completion_tokens, 5, f"tokens with {bound}")
        expect_equal(answer.choices[0].finish_reason, "length", "finish_reason")
    default = bed.client.completions.create(model=bed.model, prompt=STORY, temperature=0)
    expect_equal(default.usage.completion_tokens, 16, "tokens of a text without a bound")


def prompts_come_in_four_shapes(bed):
    texts = [STORY, "The sky is"]
    ids = [bed.json("/tokenize", {"prompt": text})["tokens"] for text in texts]
    alone = [bed.text(text).choices[0].text for text in texts]
    expect_equal(bed.text(ids[0]).choices[0].text, alone[0], "text of a list of ids")
    for prompt in (texts, ids):
        answer = bed.text(prompt)
        expect_equal([choice.text for choice in answer.choices], alone, f"texts of {prompt}")
        expect_equal(answer.usage.prompt_tokens, sum(map(len, ids)), "tokens of the prompts")
    pairs = bed.text(texts, n=2)
    expect_equal([choice.text for choice in pairs.choices], [alone[0]] * 2 + [alone[1]] * 2, "n=2")
    echoed = bed.text(ids[0], echo=True).choices[0].text
    expect_equal(echoed, STORY + alone[0], "echo of ids")


def parts_and_roles_are_read(bed):
    system = "Answer with one word."
    question = "What is the capital of France?"
    plain = bed.chat(messages=[
        {"role": "system", "content": system}, {"role": "user", "content": question}])
    parts = bed.chat(messages=[
        {"role": "developer", "content": [{"type": "text", "text": system}]},
        {"role": "user", "content": [
            {"type": "text", "text": question[:10]}, {"type": "text", "text": question[10:]}]}])
    expect_equal(parts.choices[0].message, plain.choices[0].message, "answer to parts")
    expect_equal(parts.usage, plain.usage, "tokens of parts")
    silent = bed.chat(messages=[
        {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": question}])
    expect(silent.usage.prompt_tokens > plain.usage.prompt_tokens - 20, str(silent.usage))


def streams_cut_no_character(bed):
    for prompt in (FRUITS, CITIES):
        whole = bed.text(prompt, max_tokens=18, extra_body={"return_token_ids": True}).choices[0]
        halves = [bed.json("/detokenize", {"tokens": [id]})["prompt"] for id in whole.token_ids]
        expect(any("\ufffd" in half for half in halves), f"no character spans tokens: {halves}")
        text = whole.text.rstrip("\ufffd")  # the bound on tokens may cut the last character
        expect("\ufffd" not in text, f"U+FFFD in {text!r}")
        pieces = list(bed.text(prompt, max_tokens=18, stream=True))
        expect_equal(joined(pieces), whole.text, "text of the stream")
        for piece in pieces[:-2]:
            expect("\ufffd" not in piece.choices[0].text, f"U+FFFD in {piece.choices[0].text!r}")


def an_echo_of_half_a_character_is_text(bed):
    half = bed.json("/tokenize", {"prompt": FRUITS})["tokens"][-1:]
    answer = bed.text(half, echo=True, max_tokens=2)
    expect(answer.choices[0].text.startswith("\ufffd"), repr(answer.choices[0].text))


def tokens_make_a_round_trip(bed):
    for text in ("Hello, world", "  two spaces\n\ttab", FRUITS, CITIES, "<|im_start|>user\n"):
        told = bed.json("/tokenize", {"prompt": text, "model": bed.model})
        expect_equal(told["count"], len(told["tokens"]), "count")
        back = bed.json("/detokenize", {"tokens": told["tokens"]})
        expect_equal(back["prompt"], text, "text of the tokens")
    messages = [{"role": "user", "content": "Hi"}]
    count = bed.json("/tokenize", {"messages": messages})["count"]
    expect_equal(count, bed.chat("Hi", max_tokens=1).usage.prompt_tokens, "tokens of a chat")


def penalties_and_biases_change_texts(bed):
    plain = bed.text(extra_body={"return_token_ids": True}).choices[0]
    ids = plain.token_ids
    without = bed.text(
        logit_bias={str(ids[0]): -100}, extra_body={"return_token_ids": True}).choices[0]
    expect(ids[0] not in without.token_ids, f"{ids[0]} in {without.token_ids}")
    always = bed.text(logit_bias={"28": 100}, max_tokens=4, extra_body={"return_token_ids": True})
    expect_equal(always.choices[0].token_ids, [28] * 4, "ids with a bias of 100")
    song = "Row, row, row your boat, " * 4  # the answer repeats it, too
    plain = bed.text(song).choices[0].text
    for penalty in ({"frequency_penalty": 2}, {"presence_penalty": 2},
                    {"extra_body": {"repetition_penalty": 5}}):
        expect(bed.text(song, **penalty).choices[0].text != plain, f"{penalty} keeps {plain!r}")


def ignore_eos_goes_on(bed):
    for bound in (8, 12):
        on = bed.chat(max_tokens=bound, extra_body={"ignore_eos": True})
        expect_equal(on.usage.completion_tokens, bound, "tokens")
        expect_equal(on.choices[0].finish_reason, "length", "finish_reason")


def golden_ids_are_streamed(bed):
    """Greedy ids of the reference: float32, out of the weights of the file that peers serve."""
    for prompt in bed.golden["prompts"]:
        stream = bed.text(
            prompt["ids"], max_tokens=48, stream=True,
            extra_body={"ignore_eos": True, "return_token_ids": True})
        pieces = list(stream)
        ids = [id for piece in pieces for id in getattr(piece.choices[0], "token_ids", None) or []]
        expect_equal(ids, prompt["greedy48"], f"ids of {prompt['name']}")
        expect_equal(joined(pieces), prompt["greedy48_text"], f"text of {prompt['name']}")


CHECKS = [
    a_chat_is_answered,
    a_streamed_chat_is_the_same,
    a_streamed_text_is_the_same,
    stops_span_tokens_and_do_not_leak,
    several_answers_have_indices,
    chats_tell_log_probabilities,
    texts_tell_log_probabilities,
    seeds_repeat_texts,
    closing_a_stream_ends_its_answer,
    both_bounds_of_tokens_hold,
    prompts_come_in_four_shapes,
    parts_and_roles_are_read,
    streams_cut_no_character,
    an_echo_of_half_a_character_is_text,
    tokens_make_a_round_trip,
    penalties_and_biases_change_texts,
    ignore_eos_goes_on,
    golden_ids_are_streamed,
]
