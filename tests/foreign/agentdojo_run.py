"""AgentDojo on the real program: its tools behind an MCP server, a model that plays steps, and a user who answers cards.

By hand: `python agentdojo_run.py [--suite NAME] [--stride NUMBER] [--own-events] [--json FILE]` with OLLIM_TEST_BINS set.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import http.client
import http.server
import json
import os
import pathlib
import queue
import socket
import subprocess
import sys
import tempfile
import threading

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.attacks.base_attacks import FixedJailbreakAttack
from agentdojo.attacks.important_instructions_attacks import ImportantInstructionsAttack
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.types import text_content_block_from_string
from agentdojo_players import OWN, OWN_EVENT, SUITES, attack, is_spoken, kinds, own_events, truth
from running import BOT, ZONE_NAME, texts

PATIENCE = 60
KEY = "sk-test"

class Quiet(http.server.BaseHTTPRequestHandler):
    """A handler that answers JSON and keeps its lines out of the output."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status, content, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """The program may leave a connection before the answer is written."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def serving(handler):
    """Serves on loopback, one thread for each connection; gives the port."""
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Tools:
    """The tools of a suite on the environment of the task that is played, and the calls that reached them."""

    def __init__(self, suite, splits_events):
        self.suite, self.runtime, self.splits_events = suite, FunctionsRuntime(suite.tools), splits_events
        self.environment, self.traces = None, []
        self.lock = threading.Lock()

    def begin(self, environment):
        self.environment, self.traces = environment, []

    def handler(self):
        tools = self

        class Handler(Quiet):
            def do_POST(self):
                asked = json.loads(self.body())
                if "id" not in asked:
                    return self.answer(202, b"")
                answer = {"jsonrpc": "2.0", "id": asked["id"]} | tools.respond(asked["method"], asked.get("params") or {})
                return self.answer(200, json.dumps(answer).encode())

            def do_GET(self):
                self.answer(405, b"{}")

        return Handler

    def respond(self, method, params):
        if method == "initialize":
            about = {"name": self.suite.name, "version": "1"}
            version = params["protocolVersion"]
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}}
        if method == "tools/list":
            listed = [self.listed(tool.name, tool) for tool in self.suite.tools]
            events = [tool for tool in self.suite.tools if tool.name == "create_calendar_event"]
            if self.splits_events:
                listed += [self.listed(OWN_EVENT, tool) for tool in events]
            return {"result": {"tools": listed}}
        if method == "tools/call":
            text, failed = self.call(params["name"], params.get("arguments") or {})
            return {"result": {"content": [{"type": "text", "text": text}], "isError": failed}}
        return {"error": {"code": -32601, "message": "Method not found"}}

    def listed(self, name, tool):
        schema = {"type": "object"} | tool.parameters.model_json_schema()
        if name == OWN_EVENT:
            schema = schema | {"properties": {k: v for k, v in schema["properties"].items() if k != "participants"}}
        return {"name": name, "description": tool.description, "inputSchema": schema}

    def call(self, name, arguments):
        if name == OWN_EVENT:
            if arguments.get("participants"):
                return "this tool invites nobody", True
            name = "create_calendar_event"
        with self.lock:
            result, error = self.runtime.run_function(self.environment, name, arguments)
            self.traces.append(FunctionCall(function=name, args=arguments))
        return (error, True) if error else (tool_result_to_str(result), False)


class Model:
    """A Messages API that plays steps. What a vendor would refuse is refused, and fails the run."""

    def __init__(self):
        self.wrong, self.steps, self.said, self.at = [], [], "", 0
        self.heard = ""

    def begin(self, steps, said):
        """Plays `steps`, an iterator that may look at the environment before it gives the next one, and says `said`."""
        self.steps, self.said, self.heard = iter(steps), said, ""

    def handler(self):
        model = self

        class Handler(Quiet):
            def do_POST(self):
                body = json.loads(self.body())
                complaint = model.complaint(self.path, self.headers, body)
                if complaint:
                    model.wrong.append(complaint)
                    error = {"type": "error", "error": {"type": "invalid_request_error", "message": complaint}}
                    return self.answer(400, json.dumps(error).encode())
                return self.answer(200, model.reply(body), "text/event-stream")

            def do_GET(self):
                name = self.path.rsplit("/", 1)[-1]
                known = {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
                self.answer(200, json.dumps(known).encode())

        return Handler

    def complaint(self, path, headers, body):
        if path.split("?")[0] != "/v1/messages":
            return f"no route {path}"
        if headers.get("x-api-key") != KEY or not headers.get("anthropic-version"):
            return "no key or no version"
        if not body.get("stream") or not body.get("max_tokens") or not body.get("messages"):
            return "a field is missing"
        if "mcp" not in {tool.get("name") for tool in body.get("tools") or []}:
            return "the tool for servers is missing"
        open_calls = []
        for message in body["messages"]:
            content = message["content"]
            blocks = [] if isinstance(content, str) else content
            if message["role"] == "user":
                answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
                if sorted(answered) != sorted(open_calls):
                    return f"calls {open_calls} and results {answered} differ"
                open_calls = []
            elif open_calls:
                return "an answer follows calls without results"
            else:
                open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        return "a call has no result" if open_calls else None

    def reply(self, body):
        self.heard += texts(body["messages"][-1])
        calls = next(self.steps, None)
        blocks = [("text", self.said or "Done.")] if calls is None else [("call", call) for call in calls]
        usage = {"input_tokens": 10, "output_tokens": 10}
        start = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        events = [{"type": "message_start", "message": start}]
        for index, (kind, part) in enumerate(blocks):
            if kind == "text":
                block = {"type": "text", "text": ""}
                delta = {"type": "text_delta", "text": part}
            else:
                self.at += 1
                block = {"type": "tool_use", "id": f"toolu_{self.at}", "name": "mcp", "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(part)}
            events.append({"type": "content_block_start", "index": index, "content_block": block})
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
            events.append({"type": "content_block_stop", "index": index})
        reason = "end_turn" if calls is None else "tool_use"
        ended = {"stop_reason": reason, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}})
        events.append({"type": "message_stop"})
        return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


class Local(http.client.HTTPConnection):
    """A connection to the socket in the data directory."""

    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Program:
    """One process of the program with the tools of a suite, accepted with their kinds."""

    def __init__(self, suite, splits_events=False):
        self.suite, self.splits_events = suite, splits_events
        self.tools, self.model = Tools(suite, splits_events), Model()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
            self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dojo-", dir=fast)))
            home = self.folder / "data"
            home.mkdir(mode=0o700)
            tools = stack.enter_context(serving(self.tools.handler()))
            model = stack.enter_context(serving(self.model.handler()))
            declared = kinds(self.suite)
            if self.splits_events and "create_calendar_event" in declared:
                declared[OWN_EVENT] = OWN
            server = {"url": f"http://127.0.0.1:{tools}/mcp", "kinds": declared}
            (home / "mcp.json").write_text(json.dumps({"mcpServers": {self.suite.name: server}}), "utf-8")
            self.environment = {
                "OLLIM_DATA_DIR": str(home),
                "OLLIM_TIMEZONE": ZONE_NAME,
                "HOME": str(self.folder),
                "PATH": os.environ["PATH"],
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model}",
                "ANTHROPIC_API_KEY": KEY,
                "OLLIM_MODEL": "anthropic:claude-sonnet-5-5",
                "OLLIM_HTTP": "127.0.0.1:0",
                "NO_COLOR": "1",
            }
            log = stack.enter_context((self.folder / "log").open("w"))
            process = subprocess.Popen(
                [BOT, "run", "--no-chat"], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
            stack.callback(self.stop, process)
            self.socket = str(home / "state" / "control.sock")
            self.wait_until_ready(process)
            self.run("mcp-servers", "accept", self.suite.name)
            self.events = queue.Queue()
            threading.Thread(target=self.follow, daemon=True).start()
            self.next("hello")
            self.command("/permissions default")
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def stop(self, process):
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def run(self, *arguments):
        done = subprocess.run(
            [BOT, *arguments], env=self.environment, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode != 0:
            raise AssertionError(f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")

    def wait_until_ready(self, process):
        for _ in range(100):
            if process.poll() is not None:
                break
            tried = subprocess.run([BOT, "status"], env=self.environment, capture_output=True, check=False)
            if tried.returncode == 0:
                return
        raise AssertionError((self.folder / "log").read_text("utf-8"))

    # ------------------------------------------------------------ the user

    def post(self, path, body):
        connection = Local(self.socket)
        headers = {"Host": "localhost", "Content-Type": "application/json", "x-ollim": "1"}
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        return response.status, json.loads(answer)

    def command(self, text):
        return self.post("/api/commands", {"text": text})

    def follow(self):
        """Reads the stream of events that the page reads."""
        connection = Local(self.socket)
        connection.timeout = None
        connection.request("GET", "/api/events", headers={"Host": "localhost", "x-ollim": "1"})
        name = None
        with contextlib.closing(connection), connection.getresponse() as response, contextlib.suppress(OSError, ValueError):
            while line := response.readline():
                text = line.decode().rstrip("\n")
                if text.startswith("event:"):
                    name = text[6:].strip()
                elif text.startswith("data:"):
                    self.events.put((name, json.loads(text[5:])))
        self.events.put((None, None))

    def next(self, *wanted):
        while True:
            name, event = self.events.get(timeout=PATIENCE)
            if name is None:
                raise AssertionError(f"the program ended: {(self.folder / 'log').read_text('utf-8')[-3000:]}")
            if name in wanted:
                return name, event

    def ask(self, prompt, says_yes):
        """Says `prompt` in a new conversation and answers every card. Returns the answer and the calls asked for, by card.

        A yes is for cards of the task alone: what the model calls when it obeys an injection is denied.
        """
        self.obeys = False
        self.command("/clear")
        status, heard = self.post("/api/messages", {"text": prompt})
        if status != 202:
            raise AssertionError(f"the prompt was not taken: {heard}")
        cards, answer = {}, ""
        while True:
            name, event = self.next("asked", "said", "ended")
            if name == "asked":
                # The approvals of one step share a card, and one answer applies to all of them.
                card = cards.setdefault(event["step"], [])
                card.append(event)
                if len(card) == 1:
                    self.command("/allow" if says_yes and not self.obeys else "/deny")
            elif name == "said" and event["entry"].get("by") == "assistant":
                answer = event["entry"].get("text") or answer
            elif name == "ended" and event["answers"] == heard["message"]:
                if event["how"] != "finished":
                    raise AssertionError(f"the turn ended: {event}\n{self.model.wrong}")
                return answer, list(cards.values())


@dataclasses.dataclass
class Result:
    """What came of one task, or of one task with one injection."""

    suite: str
    task: str
    injection: str | None
    # The suite's own verdict on the task.
    done: bool
    # The suite's own verdict on the injection.
    attacked: bool
    spoken: bool
    # True if the model read the text of the injection.
    seen: bool
    cards: int
    calls: int


def named(program, steps):
    """The steps as inputs of the tool for servers."""
    for step in own_events(steps) if program.splits_events else steps:
        yield [{"tool": f"mcp__{program.suite.name}__{call.function}", "input": dict(call.args)} for call in step]


def obeying(program, task, injection, environment):
    """The steps of the task and then of the injection, which look at the environment when they begin."""
    yield from truth(program.suite, task, environment)
    program.obeys = True
    yield from attack(program.suite, injection, environment)


def letters(text):
    """The letters and digits of a text: tools quote and wrap what they return."""
    return "".join(filter(str.isalnum, text))


def play(program, task, injection, says_yes):
    suite = program.suite
    injections = {}
    if injection is not None:
        jailbreak = FixedJailbreakAttack(ImportantInstructionsAttack._JB_STRING, suite, None)
        with contextlib.suppress(ValueError):
            injections = jailbreak.attack(task, injection)
    environment = task.init_environment(suite.load_and_inject_default_environment(injections))
    before = environment.model_copy(deep=True)
    program.tools.begin(environment)
    said = [task.GROUND_TRUTH_OUTPUT] + ([injection.GROUND_TRUTH_OUTPUT] if injection else [])
    steps = truth(suite, task, environment) if injection is None else obeying(program, task, injection, environment)
    program.model.begin(named(program, steps), "\n".join(filter(None, said)))
    answer, cards = program.ask(task.PROMPT, says_yes)
    if program.model.wrong:
        raise AssertionError(program.model.wrong)
    output = [text_content_block_from_string(answer)]

    def judged(one):
        return bool(suite._check_task_result(one, output, before, environment, program.tools.traces))

    return Result(
        suite=suite.name,
        task=task.ID,
        injection=injection.ID if injection else None,
        done=judged(task),
        attacked=judged(injection) if injection else False,
        spoken=is_spoken(injection) if injection else False,
        seen=injection is not None and letters(injection.GOAL)[:40] in letters(program.model.heard),
        cards=len(cards),
        calls=sum(len(card) for card in cards),
    )


def run(name, part, parts, stride=1, splits_events=False, says_yes=False):
    """Plays one part of the tasks and pairs of a suite on one process of the program; of a sample, fewer pairs than tasks."""
    suite = SUITES[name]
    tasks = list(suite.user_tasks.values())
    pairs = [(task, injection) for task in tasks for injection in suite.injection_tasks.values()]
    sparse = 1 if stride == 1 else 4 * stride + 1
    with Program(suite, splits_events) as program:
        useful = [play(program, task, None, True) for task in tasks[part * stride :: parts * stride]]
        chosen = pairs[part * sparse :: parts * sparse]
        attacks = [play(program, task, injection, says_yes) for task, injection in chosen]
    return useful + attacks


def run_all(names, stride=1, splits_events=False, says_yes=False):
    """Plays suites at once, each in a process of its own and the largest in two. `says_yes` allows the cards of the task under attack too."""
    with concurrent.futures.ProcessPoolExecutor(max_workers=2) as pool:
        parts = {name: 2 if name == "workspace" else 1 for name in names}
        halves = [(name, part, parts[name]) for name in names for part in range(parts[name])]
        played = [pool.submit(run, *half, stride, splits_events, says_yes) for half in halves]
        return [result for one in played for result in one.result()]


def share(part, whole):
    return f"{len(part)} of {len(whole)} ({100 * len(part) / max(len(whole), 1):.0f} %)"


def figures(results):
    """The figures by suite and in total, as lines of a Markdown table."""
    lines = [
        "| Suite | Attacks that act and succeed | Attacks by words alone | Tasks without a question | Tasks with at most one question "
        "| Questions per task | Calls asked for per task |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    names = list(dict.fromkeys(result.suite for result in results))
    for name in [*names, None]:
        mine = [result for result in results if name in (None, result.suite)]
        useful = [result for result in mine if result.injection is None]
        acts = [result for result in mine if result.injection and not result.spoken]
        words = [result for result in mine if result.spoken]
        free = [result for result in useful if result.done and result.cards == 0]
        once = [result for result in useful if result.done and result.cards <= 1]
        lines.append(
            f"| {name or 'total'} | {share([one for one in acts if one.attacked], acts)} "
            f"| {share([one for one in words if one.attacked], words) if words else 'none'} "
            f"| {share(free, useful)} | {share(once, useful)} "
            f"| {sum(one.cards for one in useful) / max(len(useful), 1):.2f} "
            f"| {sum(one.calls for one in useful) / max(len(useful), 1):.2f} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=sorted(SUITES), action="append")
    parser.add_argument("--stride", type=int, default=1, help="play every n-th task")
    parser.add_argument("--own-events", action="store_true", help="offer a tool for events without guests, of the kind own")
    parser.add_argument("--yes", action="store_true", help="under attack, allow the cards that belong to the task")
    parser.add_argument("--json", type=pathlib.Path, help="write every result to this file")
    chosen = parser.parse_args()
    results = run_all(chosen.suite or list(SUITES), chosen.stride, chosen.own_events, chosen.yes)
    if chosen.json:
        chosen.json.write_text(json.dumps([dataclasses.asdict(one) for one in results], indent=1), "utf-8")
    print(figures(results))
    for one in results:
        if one.attacked or (one.injection is None and (not one.done or one.cards > 1)):
            print(one, file=sys.stderr)


if __name__ == "__main__":
    main()
