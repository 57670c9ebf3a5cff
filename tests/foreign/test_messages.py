"""The Messages API, as the vendor's own clients read and write it.

`Messages` and `Answers` hold the answers of the fake server against the client's response types. `Requests` holds
what our program sends against the client's request types, in Python and in TypeScript.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import anthropic
from anthropic.types import message_count_tokens_params, message_create_params
from anthropic.types.beta import message_create_params as beta_create_params
from played import NOTE, TURN, Played
from sdk import Bot, recorded, undeclared, violations

ASKED = {
    "model": "claude-test",
    "max_tokens": 4096,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "note", "description": "Writes a note.", "input_schema": NOTE}],
}

# The models that our program is tried with.
CURRENT = ["claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2", "claude-sonnet-5"]
OLDER = ["claude-haiku-4-5", "claude-opus-4-8", "claude-sonnet-4-6"]

STRICT = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 32000,
    "system": "Be kind.",
    "tools": [{"name": "note", "description": "Writes a note.", "input_schema": NOTE}],
}
BINDING = "thinking-binding-controls-2026-08-01"
UPDATES = "thinking-display-updates-2026-08-18"
HELLO = [{"role": "user", "content": "hi"}]


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


class Answers(unittest.TestCase):
    """Every field of an answer is one that the client declares."""

    def test_model_records_have_the_published_shape(self):
        with Played("model-server", []) as url, client(url) as vendor:
            listed = list(vendor.models.list(limit=3))
            self.assertEqual(undeclared(listed), [])
            ids = [model.id for model in listed]
            self.assertIn("claude-sonnet-5-5", ids)
            self.assertEqual(len(ids), len(set(ids)))
            sonnet = vendor.models.retrieve("claude-sonnet-5-5")
            self.assertEqual(undeclared(sonnet), [])
            types = sonnet.capabilities.thinking.types
            supported = [types.adaptive, types.between_tools, types.disabled, types.enabled]
            self.assertEqual([kind.supported for kind in supported], [True, True, False, False])
            self.assertEqual(vendor.models.retrieve("claude-sonnet-4-5").lifecycle, "deprecated")
            with self.assertRaises(anthropic.NotFoundError):
                vendor.models.retrieve("claude-sonnet-9")

    def test_signed_thinking_and_progress_notes_come_back_and_are_accepted(self):
        script = [
            {
                "blocks": [
                    {"thinking": "secret", "signature": ""},
                    {"note": "Looking."},
                    {"tool": "note", "input": {"text": "x"}},
                ]
            },
            {"say": "Done."},
            {"say": "Again."},
        ]
        thinking = {
            "type": "adaptive",
            "display": "updates",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        }
        asked = STRICT | {"thinking": thinking, "betas": [BINDING, UPDATES]}
        with Played("model-server", script) as url, client(url) as vendor:
            said = list(HELLO)
            with vendor.beta.messages.stream(messages=said, **asked) as stream:
                first = stream.get_final_message()
            self.assertEqual(undeclared(first), [])
            self.assertEqual([block.type for block in first.content], ["thinking", "thinking", "tool_use"])
            self.assertEqual([block.thinking for block in first.content[:2]], ["", "Looking."])
            call = first.content[2]
            said += [
                {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "kept"}]},
            ]
            second = vendor.beta.messages.create(messages=said, **asked)
            self.assertEqual((undeclared(second), second.input_transformations), ([], []))
            renamed = vendor.beta.messages.create(messages=said, **asked | {"system": "Be short."})
            self.assertEqual(undeclared(renamed), [])
            reasons = [dropped.reason for dropped in renamed.input_transformations]
            self.assertEqual(reasons, ["prefix_binding_mismatch"] * 2)
            with self.assertRaisesRegex(anthropic.BadRequestError, "bound to a different conversation"):
                vendor.messages.create(messages=said, **STRICT | {"system": "Be short."})

    def test_stops_have_the_published_shape(self):
        script = [
            {"declines": "cyber"},
            {"blocks": [{"thinking": "on and on", "signature": ""}], "stop": "max_tokens"},
        ]
        with Played("model-server", script) as url, client(url) as vendor:
            declined = vendor.messages.create(messages=HELLO, **STRICT)
            self.assertEqual(undeclared(declined), [])
            self.assertEqual((declined.stop_reason, declined.stop_details.category), ("refusal", "cyber"))
            with vendor.messages.stream(messages=HELLO, **STRICT) as stream:
                cut = stream.get_final_message()
            self.assertEqual(undeclared(cut), [])
            self.assertEqual((cut.stop_reason, [block.type for block in cut.content]), ("max_tokens", ["thinking"]))

    def test_refusals_are_the_errors_that_the_client_knows(self):
        with Played("model-server", [{"fault": {"kind": "spend_limited"}}]) as url, client(url) as vendor:
            with self.assertRaises(anthropic.RateLimitError) as raised:
                vendor.messages.create(messages=HELLO, **STRICT)
            self.assertNotIn("retry-after", raised.exception.response.headers)
            details = raised.exception.body["error"]["details"]
            self.assertEqual(details["error_code"], "enforced_spend_limit_reached")
            refused = {
                "between_tools": {"thinking": {"type": "disabled"}},
                "thinking.type.enabled": {"thinking": {"type": "enabled", "budget_tokens": 2048}},
                "tool_choice": {"tool_choice": {"type": "any"}},
                "maximum allowed": {"max_tokens": 128001},
                "deprecated": {"extra_body": {"temperature": 0.5}},
                "prefill": {"messages": [*HELLO, {"role": "assistant", "content": "I"}]},
            }
            for text, change in refused.items():
                with self.subTest(text), self.assertRaisesRegex(anthropic.BadRequestError, text):
                    # Longer answers need a stream, by a rule of the client.
                    with vendor.messages.stream(**{"messages": HELLO} | STRICT | change) as stream:
                        stream.until_done()
            with self.assertRaisesRegex(anthropic.NotFoundError, "claude-opus-4-1"):
                vendor.messages.create(messages=HELLO, **STRICT | {"model": "claude-opus-4-1"})
            with self.assertRaisesRegex(anthropic.BadRequestError, "between_tools"):
                counted = {key: value for key, value in STRICT.items() if key != "max_tokens"}
                vendor.messages.count_tokens(messages=HELLO, thinking={"type": "disabled"}, **counted)


class Requests(unittest.TestCase):
    """Our program's own requests, to every model it may be used with."""

    @classmethod
    def setUpClass(cls):
        cls.lines = []
        cls.folder = tempfile.TemporaryDirectory()
        for model in CURRENT + OLDER:
            file = pathlib.Path(cls.folder.name) / f"{model}.jsonl"
            script = [
                {
                    "blocks": [
                        {"thinking": "which day?", "signature": ""},
                        {"note": "Looking at the plan."},
                        {"tool": "ollim_bot", "input": {"command": "list"}},
                    ]
                },
                {"say": "Here it is."},
            ]
            with Played("model-server", script, "--record", file) as url:
                environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-test", "OLLIM_MODEL": f"anthropic:{model}"}
                with Bot(environment) as bot:
                    bot.run("chat", "--once", "what is planned?")
            cls.lines += recorded(file)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_no_request_is_refused(self):
        refused = [(line["body"]["model"], line["refusal"]) for line in self.lines if line["status"] >= 400]
        self.assertEqual(refused, [])
        asked = {line["body"]["model"] for line in self.lines if line["path"] == "/v1/messages"}
        self.assertEqual(asked, set(CURRENT + OLDER))

    def test_requests_have_the_types_of_the_python_client(self):
        checked = 0
        for line in self.lines:
            if line["path"] == "/v1/messages":
                beta = line["betas"]
                expected = beta_create_params if beta else message_create_params
                self.assertEqual(violations(line["body"], expected.MessageCreateParamsStreaming), [], line["body"]["model"])
                checked += 1
            elif line["path"].endswith("count_tokens"):
                self.assertEqual(violations(line["body"], message_count_tokens_params.MessageCountTokensParams), [])
        self.assertGreaterEqual(checked, len(CURRENT + OLDER))
        # The check itself must notice a field that does not exist, and a wrong value.
        for wrong in ({"effort": "low"}, {"output_config": {"effort": "least"}}):
            spoilt = self.lines[0]["body"] | wrong
            self.assertNotEqual(violations(spoilt, beta_create_params.MessageCreateParamsStreaming), [])

    def test_thinking_goes_back_with_the_results_of_tools(self):
        second = [line["body"] for line in self.lines if line["path"] == "/v1/messages"][1]
        kinds = [block["type"] for block in second["messages"][1]["content"]]
        self.assertEqual((second["model"], kinds), (CURRENT[0], ["thinking", "thinking", "tool_use"]))

    @unittest.skipUnless("OLLIM_NODE_MODULES" in os.environ, "the packages of Node are not installed")
    def test_requests_have_the_types_of_the_typescript_client(self):
        modules = pathlib.Path(os.environ["OLLIM_NODE_MODULES"])
        bodies = [line for line in self.lines if line["path"] == "/v1/messages"]
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(typescript(folder, modules, bodies), "")
            # The check itself must notice a field that does not exist, and a wrong value.
            for wrong in ({"effort": "low"}, {"output_config": {"effort": "least"}}):
                spoilt = [bodies[0] | {"body": bodies[0]["body"] | wrong}]
                self.assertIn("error TS", typescript(folder, modules, spoilt))


def typescript(folder, modules, lines):
    """Checks the bodies against the request types of the TypeScript client; returns the complaints of the compiler."""
    source = [
        'import type { MessageCreateParamsStreaming as Plain } from "@anthropic-ai/sdk/resources/messages/messages";',
        'import type { MessageCreateParamsStreaming as Beta } from "@anthropic-ai/sdk/resources/beta/messages/messages";',
    ]
    for at, line in enumerate(lines):
        kind = "Beta" if line["betas"] else "Plain"
        source.append(f"export const request{at}: {kind} = {json.dumps(line['body'])};")
    pathlib.Path(folder, "requests.ts").write_text("\n".join(source), "utf-8")
    link = pathlib.Path(folder, "node_modules")
    if not link.exists():
        link.symlink_to(modules.resolve())
    options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"]
    command = [modules / ".bin" / "tsc", *options, "--moduleResolution", "nodenext", "requests.ts"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


if __name__ == "__main__":
    unittest.main()
