"""A played server of ours, as a process of its own."""

import json
import os
import pathlib
import subprocess
import tempfile

# The client libraries read these variables, which are not meant for the tests.
for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "OPENAI_"))]:
    del os.environ[name]

BINS = pathlib.Path(os.environ.get("OLLIM_TEST_BINS", "../../target/debug"))

NOTE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

# An answer with thinking, text and two tool calls; then the answer to their results.
TURN = [
    {
        "blocks": [
            {"thinking": 'two "notes", é', "signature": "c2ln/+="},
            {"text": "Noting both: 🦀."},
            {"tool": "note", "input": {"text": "locker 214"}},
            {"tool": "note", "input": {"text": "train at nine"}},
        ]
    },
    {"say": "Both are kept."},
]


class Played:
    """Plays `script`; gives its address inside a `with`."""

    def __init__(self, program, script, *arguments):
        self.program, self.script, self.arguments = program, script, arguments

    def __enter__(self):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".json")
        json.dump(self.script, self.file)
        self.file.flush()
        command = [BINS / self.program, "--script", self.file.name, "--key", "sk-test", *self.arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        return self.process.stdout.readline().strip().split("=", 1)[1]

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        self.file.close()
