"""Contract checks against the types that the vendors publish in their own client libraries.

`violations` checks a request body that our client sent against the TypedDict of the library's request parameters, and
`typescript` checks bodies against the request types of the TypeScript libraries. `undeclared` finds fields of a parsed
response that the library does not know, `invalid` those that are missing or wrong. `typescript_client` goes through a tool
loop with a TypeScript library. `Bot` runs the real program, and `recorded` reads the requests that a fake server wrote with
`--record FILE`.
"""

import collections.abc
import inspect
import json
import os
import pathlib
import subprocess
import tempfile
import types
import typing

import pydantic
import typing_extensions
from played import BINS

HERE = pathlib.Path(__file__).resolve().parent

REQUIRED = (typing.Required, typing_extensions.Required)
NOT_REQUIRED = (typing.NotRequired, typing_extensions.NotRequired)
LITERAL = (typing.Literal, typing_extensions.Literal)


def violations(value, expected, path="body"):
    """Every way in which `value` breaks the type `expected`: a wrong type, a missing field, an unknown field."""
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if expected is typing.Any or expected is object:
        return []
    if origin is typing.Annotated or origin in REQUIRED or origin in NOT_REQUIRED:
        return violations(value, arguments[0], path)
    if isinstance(expected, (typing.TypeVar, typing_extensions.TypeVar)):
        return violations(value, expected.__bound__ or object, path)
    if typing_extensions.is_typeddict(expected):
        return object_violations(value, expected, path)
    if origin in (typing.Union, types.UnionType):
        return union_violations(value, arguments, path)
    if origin in LITERAL:
        return [] if value in arguments else [f"{path}: {value!r} is none of {arguments}"]
    if expected is None or expected is type(None):
        return [] if value is None else [f"{path}: {value!r} is not null"]
    if origin in (dict, collections.abc.Mapping):
        if not isinstance(value, dict):
            return [f"{path}: {value!r} is not an object"]
        return [found for key, inner in value.items() for found in violations(inner, arguments[1], f"{path}.{key}")]
    if arguments:
        # Every other generic of the request types is a sequence: List, Iterable, SequenceNotStr.
        if not isinstance(value, list):
            return [f"{path}: {value!r} is not a list"]
        return [found for at, inner in enumerate(value) for found in violations(inner, arguments[0], f"{path}.{at}")]
    if expected is float:
        return [] if isinstance(value, (int, float)) and not isinstance(value, bool) else [f"{path}: {value!r} is no number"]
    if expected is int:
        return [] if isinstance(value, int) and not isinstance(value, bool) else [f"{path}: {value!r} is no integer"]
    if inspect.isclass(expected):
        return [] if isinstance(value, expected) else [f"{path}: {value!r} is not a {expected.__name__}"]
    raise TypeError(f"{path}: no rule for the type {expected!r}")


def object_violations(value, expected, path):
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is not an object"]
    hints = typing_extensions.get_type_hints(expected, include_extras=True)
    config = getattr(expected, "__pydantic_config__", None) or {}
    found = []
    for key in sorted(getattr(expected, "__required_keys__", ()) - value.keys()):
        found.append(f"{path}.{key}: missing in {expected.__name__}")
    for key, inner in value.items():
        if key in hints:
            found += violations(inner, hints[key], f"{path}.{key}")
        elif config.get("extra") != "allow":
            found.append(f"{path}.{key}: not a field of {expected.__name__}")
    return found


def union_violations(value, candidates, path):
    tried = [violations(value, candidate, path) for candidate in candidates]
    if any(not found for found in tried):
        return []
    # The candidate with the same `type` or `role` gives the best messages; without one, the one
    # with the fewest complaints.
    tags = (f"{path}.type:", f"{path}.role:", f"{path}: ")
    tagged = [found for found in tried if not any(line.startswith(tags) for line in found)]
    return min(tagged or tried, key=len)


def undeclared(model, path="answer"):
    """The fields of a parsed response, at any depth, that the library's model does not declare."""
    if isinstance(model, (list, tuple)):
        return [found for at, inner in enumerate(model) for found in undeclared(inner, f"{path}.{at}")]
    if not hasattr(model, "model_fields_set"):
        return []
    found = [f"{path}.{key}" for key in (model.model_extra or {})]
    for key in type(model).model_fields:
        found += undeclared(getattr(model, key, None), f"{path}.{key}")
    return found


def invalid(model):
    """The ways in which a parsed response breaks the library's own model: the library itself does not check answers."""
    try:
        type(model).model_validate(model.model_dump(warnings=False))
    except pydantic.ValidationError as error:
        return [f"{'.'.join(map(str, found['loc']))}: {found['msg']}" for found in error.errors()]
    return []


def modules():
    """The folder with the packages of Node."""
    return pathlib.Path(os.environ["OLLIM_NODE_MODULES"]).resolve()


def typescript(requests):
    """Checks request bodies, each with the module and name of its type; returns the complaints of the compiler."""
    source = []
    for at, ((module, name), body) in enumerate(requests):
        source.append(f"import type {{ {name} as Type{at} }} from {json.dumps(module)};")
        source.append(f"export const request{at}: Type{at} = {json.dumps(body)};")
    options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "requests.ts").write_text("\n".join(source), "utf-8")
        pathlib.Path(folder, "node_modules").symlink_to(modules())
        command = [modules() / ".bin" / "tsc", *options, "--moduleResolution", "nodenext", "requests.ts"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


def typescript_client(api, url):
    """What a vendor's TypeScript client understood of a tool loop on the server at `url`."""
    command = ["node", HERE / "vendor_clients.mjs", api, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(f"the client for {api} failed\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout)


def recorded(file):
    """The requests in the file that a fake server wrote with `--record`, oldest first."""
    return [json.loads(line) for line in pathlib.Path(file).read_text("utf-8").splitlines()]


class Bot:
    """The real program with an empty data folder of its own; `environment` says which model it uses."""

    def __init__(self, environment):
        self.environment = environment

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def run(self, *arguments, patience=120):
        """Runs one command to its end and returns what it printed; fails if the command fails."""
        home = self.folder.name
        environment = {"OLLIM_DATA_DIR": home, "OLLIM_TIMEZONE": "UTC", "HOME": home, "PATH": os.environ["PATH"]}
        command = [str((BINS / "ollim-bot").resolve()), *arguments]
        done = subprocess.run(
            command, env=environment | self.environment, capture_output=True, text=True, timeout=patience, check=False
        )
        if done.returncode != 0:
            raise AssertionError(f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout
