"""The Messages API, as the vendor's own client reads it."""

import unittest

import anthropic
from played import NOTE, TURN, Played

ASKED = {
    "model": "claude-test",
    "max_tokens": 4096,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "note", "description": "Writes a note.", "input_schema": NOTE}],
}


def client(url, key="sk-test"):
    return anthropic.Anthropic(base_url=url, api_key=key, max_retries=0, timeout=30)


class Messages(unittest.TestCase):
    def test_a_streamed_turn_with_two_tools_comes_to_its_end(self):
        with Played("model-server", TURN) as url, client(url) as vendor:
            said = [{"role": "user", "content": "note two things"}]
            heard = ""
            with vendor.messages.stream(messages=said, **ASKED) as stream:
                for text in stream.text_stream:
                    heard += text
                first = stream.get_final_message()
            self.assertEqual(heard, "Noting both: 🦀.")
            kinds = [block.type for block in first.content]
            self.assertEqual(kinds, ["thinking", "text", "tool_use", "tool_use"])
            self.assertEqual(first.content[0].signature, "c2ln/+=")
            self.assertEqual(first.stop_reason, "tool_use")
            calls = first.content[2:]
            self.assertEqual([call.input["text"] for call in calls], ["locker 214", "train at nine"])
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": "kept"} for call in calls]
            said += [{"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
            with vendor.messages.stream(messages=said, **ASKED) as stream:
                second = stream.get_final_message()
            self.assertEqual(second.content[0].text, "Both are kept.")
            self.assertEqual(second.stop_reason, "end_turn")
            self.assertGreater(second.usage.cache_read_input_tokens, 0)
            self.assertGreater(second.usage.output_tokens, 0)

    def test_an_answer_may_come_whole(self):
        with Played("model-server", [{"say": "Hello."}]) as url, client(url) as vendor:
            answer = vendor.messages.create(messages=[{"role": "user", "content": "hi"}], **ASKED)
            self.assertEqual(answer.content[0].text, "Hello.")
            counted = vendor.messages.count_tokens(
                model="claude-test", messages=[{"role": "user", "content": "hi"}]
            )
            self.assertGreater(counted.input_tokens, 0)

    def test_what_goes_wrong_is_what_the_client_knows(self):
        script = [
            {"fault": {"kind": "rate_limited", "seconds": 3}},
            {"fault": {"kind": "broken"}},
            {"say": "one two", "fault": {"kind": "error", "at": 3, "error": "overloaded_error"}},
        ]
        with Played("model-server", script) as url, client(url) as vendor:
            said = [{"role": "user", "content": "hi"}]
            with self.assertRaises(anthropic.RateLimitError) as raised:
                vendor.messages.create(messages=said, **ASKED)
            self.assertEqual(raised.exception.response.headers["retry-after"], "3")
            with self.assertRaises(anthropic.InternalServerError):
                vendor.messages.create(messages=said, **ASKED)
            with self.assertRaises(anthropic.APIStatusError), vendor.messages.stream(messages=said, **ASKED) as stream:
                stream.until_done()
            with self.assertRaises(anthropic.BadRequestError):
                vendor.messages.create(messages=[{"role": "user", "content": " "}], **ASKED)
            with self.assertRaises(anthropic.AuthenticationError):
                client(url, "sk-wrong").messages.create(messages=said, **ASKED)
