"""The chat-completions API, as the vendor's own client reads it."""

import json
import unittest

import openai
from played import NOTE, TURN, Played

ASKED = {
    "model": "test-1",
    "stream": True,
    "stream_options": {"include_usage": True},
    "tools": [{"type": "function", "function": {"name": "note", "parameters": NOTE}}],
}


def client(url, key="sk-test"):
    return openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=30)


def heard(stream):
    """The words, the calls, the reason to stop and the count of a stream."""
    words, calls, reason, usage = "", {}, None, None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            words += choice.delta.content or ""
            reason = choice.finish_reason or reason
            for piece in choice.delta.tool_calls or []:
                call = calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                call["id"] = piece.id or call["id"]
                call["name"] = piece.function.name or call["name"]
                call["arguments"] += piece.function.arguments or ""
    return words, list(calls.values()), reason, usage


class Chat(unittest.TestCase):
    def test_a_streamed_turn_with_two_tools_comes_to_its_end(self):
        for style, called in [("openai", "tool_calls"), ("llama-cpp", "stop")]:
            with self.subTest(style), Played("chat-server", TURN, "--style", style) as url, client(url) as vendor:
                said = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "note two things"}]
                words, calls, reason, usage = heard(vendor.chat.completions.create(messages=said, **ASKED))
                self.assertEqual((words, reason), ("Noting both: 🦀.", called))
                given = [json.loads(call["arguments"])["text"] for call in calls]
                self.assertEqual(given, ["locker 214", "train at nine"])
                self.assertGreater(usage.prompt_tokens, 0)
                asked = [
                    {
                        "id": call["id"],
                        "type": "function",
                        "function": {"name": call["name"], "arguments": call["arguments"]},
                    }
                    for call in calls
                ]
                said.append({"role": "assistant", "content": words, "tool_calls": asked})
                said += [{"role": "tool", "tool_call_id": call["id"], "content": "kept"} for call in calls]
                words, calls, reason, usage = heard(vendor.chat.completions.create(messages=said, **ASKED))
                self.assertEqual((words, calls, reason), ("Both are kept.", [], "stop"))

    def test_an_answer_may_come_whole_and_models_are_listed(self):
        with Played("chat-server", [{"say": "Hello."}]) as url, client(url) as vendor:
            said = [{"role": "user", "content": "hi"}]
            answer = vendor.chat.completions.create(model="test-1", messages=said)
            self.assertEqual(answer.choices[0].message.content, "Hello.")
            self.assertGreater(len(vendor.models.list().data), 0)

    def test_what_goes_wrong_is_what_the_client_knows(self):
        script = [{"fault": {"kind": "rate_limited", "seconds": 3}}, {"fault": {"kind": "broken"}}]
        with Played("chat-server", script) as url, client(url) as vendor:
            said = [{"role": "user", "content": "hi"}]
            with self.assertRaises(openai.RateLimitError) as raised:
                vendor.chat.completions.create(messages=said, **ASKED)
            self.assertEqual(raised.exception.response.headers["retry-after"], "3")
            with self.assertRaises(openai.InternalServerError):
                vendor.chat.completions.create(messages=said, **ASKED)
            with self.assertRaises(openai.BadRequestError):
                vendor.chat.completions.create(messages=[], **ASKED)
            with self.assertRaises(openai.AuthenticationError):
                client(url, "sk-wrong").chat.completions.create(messages=said, **ASKED)
