"""The real program with a scripted model and simcord's Discord, all as processes or threads on loopback."""

import contextlib
import datetime
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from played import BINS, Played
from simcord_wire import TOKEN, Server

PATIENCE = 60
BOT = str((BINS / "ollim-bot").resolve())


def zone(hour):
    """A time zone in which it is `hour` o'clock now: its name, and what `datetime` calls it."""
    offset = hour - datetime.datetime.now(datetime.UTC).hour
    # Zones with whole hours range from 12 hours behind UTC to 14 hours ahead.
    offset = offset - 24 if offset > 14 else offset + 24 if offset < -12 else offset
    name = "Etc/GMT" if offset == 0 else f"Etc/GMT{-offset:+d}"
    return name, datetime.timezone(datetime.timedelta(hours=offset))


# About noon, so that quiet hours and midnight are far away.
ZONE_NAME, ZONE = zone(12)


def say(text):
    return {"say": text}


def call(*calls, text=None):
    """An answer of the model that calls tools: alternating names and inputs."""
    blocks = [{"text": text}] if text else []
    pairs = zip(calls[::2], calls[1::2], strict=True)
    return {"blocks": blocks + [{"tool": name, "input": arguments} for name, arguments in pairs]}


class Running:
    """A scenario: a data directory, a model that plays `script`, and optionally Discord and the running program."""

    def __init__(self, script, *, discord=False, files=None, settings=None, started=True, environment=None):
        self.script, self.discord = list(script), Server() if discord else None
        self.files, self.settings, self.wanted = files or {}, settings or {}, started
        self.extra = environment or {}
        self.process = None

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="seeds-")))
            self.home = self.folder / "data"
            self.home.mkdir(mode=0o700)
            self.record = self.folder / "requests.jsonl"
            # After the script the server echoes its input; an echo that happened to call tools
            # would hide a missing action.
            model = Played("model-server", self.script, "--record", str(self.record))
            self.environment = {
                "OLLIM_DATA_DIR": str(self.home),
                "OLLIM_TIMEZONE": ZONE_NAME,
                "HOME": str(self.folder),
                "PATH": os.environ["PATH"],
                "ANTHROPIC_BASE_URL": stack.enter_context(model),
                "ANTHROPIC_API_KEY": "sk-test",
                "OLLIM_MODEL": "anthropic:claude-sonnet-5-5",
                "OLLIM_HTTP": "127.0.0.1:0",
                "NO_COLOR": "1",
            } | self.extra
            if self.discord is not None:
                stack.enter_context(self.discord)
                self.environment |= {"DISCORD_TOKEN": TOKEN, "DISCORD_API_BASE": self.discord.api}
            for path, text in self.files.items():
                self.write(path, text)
            for name, value in self.settings.items():
                self.cli("config", name, value)
            if self.wanted:
                self.start()
            stack.callback(self.stop)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, kind, error, trace):
        if error is not None and hasattr(error, "add_note"):
            error.add_note(f"the log ends with:\n{self.log()[-3000:]}")
        self.stack.close()
        if kind is None and self.discord is not None:
            # A request that simcord does not know or refuses must fail the test.
            wrong = self.discord.gaps + self.discord.refused
            if wrong:
                raise AssertionError(f"requests that simcord refused: {wrong}")

    # ------------------------------------------------------------ the program

    def start(self):
        """Starts the program and waits until it answers (and is in Discord, where that is part of the scenario)."""
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [BOT, "run", "--no-chat"], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.until(lambda: self.tried("status").returncode == 0, "a program that answers `status`")
        if self.discord is not None:
            self.discord.online()

    def stop(self, kind=signal.SIGTERM):
        if self.process is None:
            return
        self.process.send_signal(kind)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def restart(self, kind=signal.SIGTERM):
        self.stop(kind)
        self.start()

    def log(self):
        file = self.folder / "log"
        return file.read_text("utf-8", "replace") if file.exists() else ""

    def tried(self, *arguments, given=None):
        """Runs one command to its end, whatever comes of it."""
        return subprocess.run(
            [BOT, *arguments],
            env=self.environment,
            input=given or "",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def cli(self, *arguments):
        """Runs one command, which must succeed; returns what it printed."""
        done = self.tried(*arguments)
        if done.returncode != 0:
            raise AssertionError(f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def chat(self, text):
        """Says one thing in the terminal; returns the answer."""
        return self.cli("chat", "--once", text)

    # -------------------------------------------------------- what is looked at

    def until(self, condition, wanted, patience=PATIENCE):
        """Waits until `condition` returns something; files and processes have no event to wait for."""
        deadline = time.monotonic() + patience
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise AssertionError(f"no {wanted} after {patience} s")
            time.sleep(0.05)
        return found

    def noticed(self, change):
        """Makes a change to a file and waits until the program has logged something about it, or two seconds."""
        before = len(self.log())
        change()
        with contextlib.suppress(AssertionError):
            self.until(lambda: len(self.log()) > before, "a line in the log", patience=2)

    def requests(self):
        """The bodies of the requests for an answer that reached the model, oldest first."""
        text = self.record.read_text("utf-8") if self.record.exists() else ""
        # The last line may be incomplete.
        lines = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        return [line["body"] for line in lines if line["path"] == "/v1/messages"]

    def request(self, number):
        """Waits for the request with this number, counted from 0, and returns its body."""
        return self.until(lambda: (self.requests()[number : number + 1] or [None])[0], f"request {number}")

    def write(self, path, text):
        """Replaces a file of the data directory in one step, as a careful editor does."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_name(f".{file.name}.new")
        beside.write_text(text, "utf-8")
        beside.rename(file)

    def read(self, path):
        """The text of a file in the data directory, or None."""
        try:
            return (self.home / path).read_text("utf-8")
        except FileNotFoundError:
            return None

    def updates(self):
        return json.loads(self.read("state/pending_updates.json") or "[]")

    def session(self):
        return self.read("state/sessions.json")

    def current(self):
        """Waits for the file of the main session and returns the id in it."""
        return self.until(lambda: (self.session() or "").strip(), "session id")

    def becomes(self, session):
        """Waits until the file of the main session has this id. It follows the log of events, not the other way."""
        self.until(lambda: (self.session() or "").strip() == session, f"session {session} in the file")

    def event(self, kind):
        """Waits for the only event of one kind."""
        (found,) = self.until(lambda: self.events(kind), f"{kind} event")
        return found

    def events(self, kind=None):
        """The lifecycle events, all or of one kind."""
        lines = (self.read("state/session_history.jsonl") or "").splitlines()
        events = [json.loads(line) for line in lines]
        return [event for event in events if kind is None or event["event"] == kind]


def texts(message):
    """The texts of one message of a request, joined."""
    content = message["content"]
    if isinstance(content, str):
        return content
    found = []
    for block in content:
        if block["type"] == "text":
            found.append(block["text"])
        elif block["type"] == "tool_result":
            inner = block["content"]
            found += [inner] if isinstance(inner, str) else [one.get("text", "") for one in inner]
    return "\n".join(found)


def last_user(body):
    """What the newest message of the user's side says."""
    return texts([message for message in body["messages"] if message["role"] == "user"][-1])


def whole(body):
    """Everything in the messages of a request."""
    return "\n".join(texts(message) for message in body["messages"])


def results(body):
    """The tool results in the newest message, as texts."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return []
    return [texts({"content": [block]}) for block in content if block["type"] == "tool_result"]


def tools(body):
    """The names of the tools of a request."""
    return {tool.get("name") for tool in body.get("tools") or []}
