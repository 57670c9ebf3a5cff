"""Chat completions and the Responses API, as the vendor's own clients read and write them.

`Chat` and `Responses` hold the answers of the fake server against the client's response types. `Requests` holds what our
program sends against the client's request types, in Python and in TypeScript.
"""

import json
import os
import pathlib
import tempfile
import unittest

import openai
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params
from played import NOTE, TURN, Played
from sdk import Bot, invalid, recorded, typescript, typescript_client, undeclared, violations

ASKED = {
    "model": "test-1",
    "stream": True,
    "stream_options": {"include_usage": True},
    "tools": [{"type": "function", "function": {"name": "note", "parameters": NOTE}}],
}

# A request to the Responses API with storage turned off.
STATELESS = {
    "model": "test-1",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "tools": [{"type": "function", "name": "note", "description": "Writes a note.", "parameters": NOTE, "strict": False}],
}

# The request types of the TypeScript client: a module and a name in it.
TYPES = {
    "/v1/chat/completions": ("openai/resources/chat/completions/completions", "ChatCompletionCreateParamsStreaming"),
    "/v1/responses": ("openai/resources/responses/responses", "ResponseCreateParamsStreaming"),
}


def client(url, key="sk-test"):
    return openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=180)


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
            self.assertEqual((undeclared(answer), invalid(answer)), ([], []))
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

    def test_every_chunk_has_the_published_shape(self):
        script = [{"blocks": [{"text": "Noting."}, {"tool": "note", "input": {"text": "x"}}]}]
        with Played("chat-server", script) as url, client(url) as vendor:
            chunks = list(vendor.chat.completions.create(messages=[{"role": "user", "content": "hi"}], **ASKED))
            self.assertGreater(len(chunks), 4)
            for chunk in chunks:
                self.assertEqual((undeclared(chunk), invalid(chunk)), ([], []))

    @unittest.skipUnless("OLLIM_NODE_MODULES" in os.environ, "the packages of Node are not installed")
    def test_the_typescript_client_goes_through_a_tool_loop(self):
        with Played("chat-server", TURN) as url:
            understood = typescript_client("chat", url)
        self.assertEqual(understood["words"], [["Noting both: 🦀."], ["Both are kept."]])
        self.assertEqual(understood["calls"], ["locker 214", "train at nine"])
        self.assertEqual((understood["stops"], understood["read"]), (["tool_calls", "stop"], True))


class Responses(unittest.TestCase):
    """Every event and every field of an answer is one that the client declares."""

    def test_a_streamed_turn_with_two_tools_comes_to_its_end(self):
        script = [{"blocks": [*TURN[0]["blocks"][:1], {"note": "Looking."}, *TURN[0]["blocks"][1:]]}, TURN[1]]
        with Played("chat-server", script, "--style", "openai-current") as url, client(url) as vendor:
            said = [{"role": "user", "content": "note two things"}]
            events = list(vendor.responses.create(input=said, stream=True, **STATELESS))
            for event in events:
                self.assertEqual((undeclared(event), invalid(event)), ([], []), event.type)
            self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
            first = events[-1].response
            kinds = [item.type for item in first.output]
            self.assertEqual(kinds, ["reasoning", "message", "message", "function_call", "function_call"])
            self.assertEqual([item.phase for item in first.output[1:3]], ["commentary", "final_answer"])
            calls = first.output[3:]
            self.assertEqual([json.loads(call.arguments)["text"] for call in calls], ["locker 214", "train at nine"])
            said += [item.model_dump(exclude_unset=True) for item in first.output]
            said += [{"type": "function_call_output", "call_id": call.call_id, "output": "kept"} for call in calls]
            second = vendor.responses.create(input=said, **STATELESS)
            self.assertEqual((undeclared(second), invalid(second)), ([], []))
            self.assertEqual((second.output_text, second.status), ("Both are kept.", "completed"))
            self.assertGreater(second.usage.input_tokens_details.cached_tokens, 0)

    def test_the_stream_helper_of_the_client_follows(self):
        with Played("chat-server", TURN, "--style", "openai-current") as url, client(url) as vendor:
            said = [{"role": "user", "content": "note two things"}]
            with vendor.responses.stream(input=said, **STATELESS) as stream:
                heard = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
                final = stream.get_final_response()
            self.assertEqual((heard, final.output_text), ("Noting both: 🦀.", "Noting both: 🦀."))

    def test_stops_and_refusals_are_what_the_client_knows(self):
        script = [{"say": "so", "stop": "max_output_tokens"}, {"fault": {"kind": "rate_limited", "seconds": 3}}]
        hello = [{"role": "user", "content": "hi"}]
        with Played("chat-server", script, "--style", "openai-current") as url, client(url) as vendor:
            cut = vendor.responses.create(input=hello, **STATELESS)
            self.assertEqual((undeclared(cut), invalid(cut)), ([], []))
            self.assertEqual((cut.status, cut.incomplete_details.reason), ("incomplete", "max_output_tokens"))
            with self.assertRaises(openai.RateLimitError):
                vendor.responses.create(input=hello, **STATELESS)
            refused = {
                ">= 16": {"max_output_tokens": 8},
                "Unknown parameter": {"extra_body": {"max_tokens": 9}},
                "does not support 'max'": {"reasoning": {"effort": "max"}},
                "No tool call found": {"input": [{"type": "function_call_output", "call_id": "x", "output": ""}]},
            }
            for text, change in refused.items():
                with self.subTest(text), self.assertRaisesRegex(openai.BadRequestError, text):
                    vendor.responses.create(**{"input": hello} | STATELESS | change)
            bare = {"type": "reasoning", "id": "rs_1", "summary": []}
            with self.assertRaisesRegex(openai.NotFoundError, "Items are not persisted"):
                vendor.responses.create(input=[bare, *hello], **STATELESS)

    @unittest.skipUnless("OLLIM_NODE_MODULES" in os.environ, "the packages of Node are not installed")
    def test_the_typescript_client_goes_through_a_tool_loop(self):
        with Played("chat-server", TURN, "--style", "openai-current") as url:
            understood = typescript_client("responses", url)
        self.assertEqual(understood["words"], [["Noting both: 🦀."], ["Both are kept."]])
        self.assertEqual(understood["calls"], ["locker 214", "train at nine"])
        self.assertEqual((understood["stops"], understood["read"]), (["completed", "completed"], True))


class Requests(unittest.TestCase):
    """Our program's own requests: a tool loop, a new name, and one more message."""

    @classmethod
    def setUpClass(cls):
        cls.lines = {}
        with tempfile.TemporaryDirectory() as folder:
            for style in ["openai", "openai-current"]:
                file = pathlib.Path(folder) / f"{style}.jsonl"
                call = {"tool": "ollim_bot", "input": {"command": "list"}}
                thoughts = [{"thinking": "which day?", "signature": ""}] if style == "openai-current" else []
                script = [{"blocks": [*thoughts, call]}, {"say": "Here it is."}, {"say": "Hello."}]
                with Played("chat-server", script, "--style", style, "--record", file) as url:
                    environment = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-test", "OLLIM_MODEL": "openai:test-1"}
                    with Bot(environment) as bot:
                        bot.run("chat", "--once", "what is planned?")
                        bot.run("chat", "--once", "/name Ada")
                        bot.run("chat", "--once", "who are you?")
                cls.lines[style] = recorded(file)

    def accepted(self, path):
        return [line["body"] for lines in self.lines.values() for line in lines if line["path"] == path and line["status"] < 400]

    def test_only_the_refusal_that_asks_for_the_responses_api_happens(self):
        refused = {style: [line["refusal"] for line in lines if line["refusal"]] for style, lines in self.lines.items()}
        self.assertEqual(refused["openai"], [])
        # Each of the two processes finds this out separately.
        self.assertEqual(["/v1/responses" in text for text in refused["openai-current"]], [True] * len(refused["openai-current"]))
        self.assertLessEqual(len(refused["openai-current"]), 2)

    def test_requests_have_the_types_of_the_python_client(self):
        chat = self.accepted("/v1/chat/completions")
        responses = self.accepted("/v1/responses")
        self.assertEqual((len(chat), len(responses)), (3, 3))
        kinds = [
            (chat, completion_create_params.CompletionCreateParamsStreaming, {"effort": "low"}),
            (responses, response_create_params.ResponseCreateParamsStreaming, {"max_tokens": 9}),
        ]
        for bodies, expected, wrong in kinds:
            for body in bodies:
                self.assertEqual(violations(body, expected), [])
            # The check itself must report a field that does not exist.
            self.assertNotEqual(violations(bodies[0] | wrong, expected), [])

    def test_a_new_name_is_a_note_and_changes_nothing_before_it(self):
        before, after = self.accepted("/v1/chat/completions")[1:]
        said = after["messages"]
        self.assertEqual(said[: len(before["messages"])], before["messages"])
        self.assertEqual([message["role"] for message in said if "Ada" in str(message["content"])][-1], "system")
        before, after = self.accepted("/v1/responses")[1:]
        self.assertEqual(after["input"][: len(before["input"])], before["input"])
        self.assertEqual((after["instructions"], after["tools"]), (before["instructions"], before["tools"]))
        self.assertEqual(after["input"][1]["type"], "reasoning")
        self.assertEqual([item["role"] for item in after["input"] if "Ada" in str(item.get("content"))][-1], "developer")

    @unittest.skipUnless("OLLIM_NODE_MODULES" in os.environ, "the packages of Node are not installed")
    def test_requests_have_the_types_of_the_typescript_client(self):
        bodies = [(TYPES[path], body) for path in TYPES for body in self.accepted(path)]
        self.assertEqual(typescript(bodies), "")
        # The check itself must report a field that does not exist.
        for kind in TYPES.values():
            body = next(body for known, body in bodies if known == kind)
            self.assertIn("error TS", typescript([(kind, body | {"effort": "low"})]))


PAGE = {"title": "Tea", "url": "https://tea.org/", "words": "Green tea is brewed at 80 degrees."}
FOUND = {"blocks": [{"search": "green tea", "pages": [PAGE]}, {"cited": "80 degrees.", "page": PAGE}]}
SEARCHING = {"model": "test-1", "input": "green tea", "store": False, "tools": [{"type": "web_search"}]}


class Searches(unittest.TestCase):
    """Web search with the hosted tool of the Responses API."""

    def test_results_and_citations_have_the_published_shape(self):
        with Played("chat-server", [FOUND], "--style", "openai-current") as url, client(url) as vendor:
            answer = vendor.responses.create(input=[{"role": "user", "content": "green tea"}], **without(SEARCHING, "input"))
            self.assertEqual(undeclared(answer), [])
            search = next(item for item in answer.output if item.type == "web_search_call")
            self.assertEqual((search.status, search.action.type), ("completed", "search"))
            message = next(item for item in answer.output if item.type == "message")
            citation = message.content[0].annotations[0]
            self.assertEqual((citation.type, citation.url, citation.title), ("url_citation", PAGE["url"], PAGE["title"]))
            self.assertEqual(answer.output_text, "80 degrees.")

    def test_wrong_tools_are_refused(self):
        with Played("chat-server", [], "--style", "openai-current") as url, client(url) as vendor:
            said = {"input": [{"role": "user", "content": "green tea"}]}
            for tool in ({"type": "web_search_1999"}, {"type": "web_search", "max_uses": 2}):
                with self.subTest(tool), self.assertRaises(openai.BadRequestError):
                    vendor.responses.create(**SEARCHING | said | {"tools": [tool]})

    def test_our_search_has_the_types_of_the_client(self):
        call = {"blocks": [{"tool": "WebSearch", "input": {"query": "green tea"}}]}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "requests.jsonl"
            # The first request goes to the other API, which refuses tools and is not answered from the script.
            with Played("chat-server", [call, FOUND], "--style", "openai-current", "--record", file) as url:
                environment = {
                    "OPENAI_BASE_URL": url,
                    "OPENAI_API_KEY": "sk-test",
                    "OLLIM_MODEL": "openai:test-1",
                    "OLLIM_SEARCH": "vendor",
                }
                with Bot(environment) as bot:
                    bot.run("chat", "--once", "look up green tea")
            lines = recorded(file)
        searches = [line for line in lines if line["body"].get("tools") == SEARCHING["tools"]]
        self.assertEqual([(line["path"], line["refusal"]) for line in searches], [("/v1/responses", None)])
        body = searches[0]["body"]
        self.assertEqual(body["input"], [{"role": "user", "content": "green tea"}])
        self.assertEqual(violations(body, response_create_params.ResponseCreateParamsNonStreaming), [])
        # The check itself must report a field that the tool does not have.
        spoilt = body | {"tools": [{"type": "web_search", "max_uses": 2}]}
        self.assertNotEqual(violations(spoilt, response_create_params.ResponseCreateParamsNonStreaming), [])


def without(fields, name):
    return {key: value for key, value in fields.items() if key != name}


if __name__ == "__main__":
    unittest.main()
