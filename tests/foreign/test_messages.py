"""The Messages API, as the vendor's own clients read and write it.

`Messages` and `Answers` hold the answers of the fake server against the client's response types. `Requests` holds
what our program sends against the client's request types, in Python and in TypeScript.
"""

import os
import pathlib
import tempfile
import unittest

import anthropic
from anthropic.types import message_count_tokens_params, message_create_params
from anthropic.types.beta import message_create_params as beta_create_params
from played import NOTE, TURN, Played
from sdk import Bot, recorded, typescript, typescript_client, undeclared, violations

ASKED = {
    "model": "claude-test",
    "max_tokens": 4096,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "note", "description": "Writes a note.", "input_schema": NOTE}],
}

# The models that the program is tested with.
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

# The request types of the TypeScript client: a module and a name in it.
PLAIN = ("@anthropic-ai/sdk/resources/messages/messages", "MessageCreateParamsStreaming")
BETA = ("@anthropic-ai/sdk/resources/beta/messages/messages", "MessageCreateParamsStreaming")


def client(url, key="sk-test"):
    return anthropic.Anthropic(base_url=url, api_key=key, max_retries=0, timeout=180)


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

    @unittest.skipUnless("OLLIM_NODE_MODULES" in os.environ, "the packages of Node are not installed")
    def test_the_typescript_client_goes_through_a_tool_loop(self):
        with Played("model-server", TURN) as url:
            understood = typescript_client("messages", url)
        self.assertEqual(understood["words"], [["Noting both: 🦀."], ["Both are kept."]])
        self.assertEqual(understood["calls"], ["locker 214", "train at nine"])
        self.assertEqual((understood["stops"], understood["read"]), (["tool_use", "end_turn"], True))

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
                    # The client requires streaming for longer answers.
                    with vendor.messages.stream(**{"messages": HELLO} | STRICT | change) as stream:
                        stream.until_done()
            with self.assertRaisesRegex(anthropic.NotFoundError, "claude-opus-4-1"):
                vendor.messages.create(messages=HELLO, **STRICT | {"model": "claude-opus-4-1"})
            with self.assertRaisesRegex(anthropic.BadRequestError, "between_tools"):
                counted = {key: value for key, value in STRICT.items() if key != "max_tokens"}
                vendor.messages.count_tokens(messages=HELLO, thinking={"type": "disabled"}, **counted)


PAGE = {"title": "Tea", "url": "https://tea.org/", "words": "Green tea is brewed at 80 degrees."}
SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}
SEARCHING = {"model": "claude-haiku-5-5", "max_tokens": 8000, "messages": [{"role": "user", "content": "green tea"}]}


class Searches(unittest.TestCase):
    """Web search with the vendor's server tool."""

    def test_results_and_citations_have_the_published_shape(self):
        found = {"blocks": [{"search": "green tea", "pages": [PAGE]}, {"cited": "80 degrees.", "page": PAGE}]}
        with Played("model-server", [found, found]) as url, client(url) as vendor:
            whole = vendor.messages.create(tools=[SEARCH], **SEARCHING)
            with vendor.messages.stream(tools=[SEARCH], **SEARCHING) as stream:
                streamed = stream.get_final_message()
            for message in (whole, streamed):
                self.assertEqual(undeclared(message), [])
                kinds = [block.type for block in message.content]
                self.assertEqual(kinds, ["server_tool_use", "web_search_tool_result", "text"])
                call, result, text = message.content
                self.assertTrue(call.id.startswith("srvtoolu_"))
                self.assertEqual((call.name, result.tool_use_id), ("web_search", call.id))
                self.assertEqual((result.content[0].url, result.content[0].title), (PAGE["url"], PAGE["title"]))
                citation = text.citations[0]
                self.assertEqual((citation.type, citation.url), ("web_search_result_location", PAGE["url"]))
                self.assertEqual(message.usage.server_tool_use.web_search_requests, 1)

    def test_a_paused_turn_goes_back_as_it_came(self):
        script = [{"blocks": [{"search": "green tea"}], "stop": "pause_turn"}, {"say": "80 degrees."}]
        with Played("model-server", script) as url, client(url) as vendor:
            paused = vendor.messages.create(tools=[SEARCH], **SEARCHING)
            self.assertEqual((undeclared(paused), paused.stop_reason), ([], "pause_turn"))
            said = [*SEARCHING["messages"], {"role": "assistant", "content": paused.content}]
            rest = vendor.messages.create(tools=[SEARCH], **SEARCHING | {"messages": said})
            self.assertEqual(rest.content[0].text, "80 degrees.")

    def test_errors_of_a_search_come_in_its_result(self):
        codes = ["too_many_requests", "unavailable", "query_too_long", "invalid_tool_input", "max_uses_exceeded"]
        script = [{"blocks": [{"search": "green tea", "error": code}]} for code in codes]
        over = {"blocks": [{"search": "green tea", "pages": [PAGE]}] * 3}
        with Played("model-server", [*script, over]) as url, client(url) as vendor:
            for code in codes:
                answer = vendor.messages.create(tools=[SEARCH], **SEARCHING)
                self.assertEqual(undeclared(answer), [])
                self.assertEqual(answer.content[1].content.error_code, code)
                self.assertEqual(answer.usage.server_tool_use.web_search_requests, 0)
            answer = vendor.messages.create(tools=[SEARCH], **SEARCHING)
            self.assertEqual(answer.content[5].content.error_code, "max_uses_exceeded")
            self.assertEqual(answer.usage.server_tool_use.web_search_requests, 2)

    def test_wrong_tools_are_refused(self):
        with Played("model-server", []) as url, client(url) as vendor:
            refused = {
                "Input tag": {"type": "web_search_20240101"},
                "web_search": {"name": "search"},
                "max_uses": {"max_uses": 0},
                "only one of": {"allowed_domains": ["a.org"], "blocked_domains": ["b.org"]},
                "Extra inputs": {"max_results": 3},
            }
            for text, change in refused.items():
                with self.subTest(text), self.assertRaisesRegex(anthropic.BadRequestError, text):
                    vendor.messages.create(tools=[SEARCH | change], **SEARCHING)

    def test_our_search_has_the_types_of_the_python_client(self):
        script = [
            {"blocks": [{"tool": "WebSearch", "input": {"query": "green tea"}}]},
            {"blocks": [{"search": "green tea", "pages": [PAGE]}, {"cited": "80 degrees.", "page": PAGE}]},
        ]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "requests.jsonl"
            with Played("model-server", script, "--record", file) as url:
                environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-test", "OLLIM_MODEL": "anthropic:sonnet"}
                with Bot(environment) as bot:
                    bot.run("chat", "--once", "look up green tea")
            lines = recorded(file)
        self.assertEqual([line["refusal"] for line in lines if line["status"] >= 400], [])
        searches = [line for line in lines if line["body"] and line["body"].get("tools", [{}])[0].get("type") == SEARCH["type"]]
        self.assertEqual([(line["body"]["messages"], line["betas"]) for line in searches], [(SEARCHING["messages"], [])])
        body = searches[0]["body"]
        self.assertEqual(violations(body, message_create_params.MessageCreateParamsNonStreaming), [])
        # The check itself must report a field that the tool does not have.
        spoilt = body | {"tools": [SEARCH | {"max_results": 3}]}
        self.assertNotEqual(violations(spoilt, message_create_params.MessageCreateParamsNonStreaming), [])


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
        # The check itself must report a field that does not exist, and a wrong value.
        for wrong in ({"effort": "low"}, {"output_config": {"effort": "least"}}):
            spoilt = self.lines[0]["body"] | wrong
            self.assertNotEqual(violations(spoilt, beta_create_params.MessageCreateParamsStreaming), [])

    def test_thinking_goes_back_with_the_results_of_tools(self):
        second = [line["body"] for line in self.lines if line["path"] == "/v1/messages"][1]
        kinds = [block["type"] for block in second["messages"][1]["content"]]
        self.assertEqual((second["model"], kinds), (CURRENT[0], ["thinking", "thinking", "tool_use"]))

    @unittest.skipUnless("OLLIM_NODE_MODULES" in os.environ, "the packages of Node are not installed")
    def test_requests_have_the_types_of_the_typescript_client(self):
        asked = [line for line in self.lines if line["path"] == "/v1/messages"]
        bodies = [(BETA if line["betas"] else PLAIN, line["body"]) for line in asked]
        self.assertEqual(typescript(bodies), "")
        # The check itself must report a field that does not exist, and a wrong value.
        for wrong in ({"effort": "low"}, {"output_config": {"effort": "least"}}):
            self.assertIn("error TS", typescript([(bodies[0][0], bodies[0][1] | wrong)]))


if __name__ == "__main__":
    unittest.main()
