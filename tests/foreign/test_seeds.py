"""The documents that the program was made from, sentence by sentence, on the running program.

Each scenario is one process of the program with an empty data directory, a model that plays a script (its requests are
recorded as they arrive) and, where Discord is part of it, simcord on the wire. A comment above each test names the
documents and the subjects of their sentences.
"""

import datetime
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
import unittest

from running import BOT, ZONE, Running, call, last_user, results, say, texts, tools, whole, zone

# A summary that passes as one: full sentences with the facts of the conversation.
SUMMARY = (
    "The user said hello and told me that the number of the locker is 214. We agreed that prices are watched every "
    "morning and that the level of 40 matters most. Nothing else is open, and no promise is waiting for an answer."
)
# The smallest picture: one grey pixel.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c6360000000020001"
    "48afa4710000000049454e44ae426082"
)


def job(identity, body, **fields):
    """A routine's or reminder's file. Values are written as YAML."""
    lines = [f'id: "{identity}"'] + [f"{name.replace('_', '-')}: {json.dumps(value)}" for name, value in fields.items()]
    return "---\n" + "\n".join(lines) + f"\n---\n{body}\n"


def routine(identity, body="Look at the prices.", **fields):
    return job(identity, body, **({"cron": "30 3 * * *"} | fields))


def aside(identity, body="Look at the prices.", **fields):
    """A background routine."""
    return routine(identity, body, background=True, **fields)


def persistent(identity, body="Look at the prices.", **fields):
    return aside(identity, body, session="persistent", **fields)


def prompt(body):
    """The prompt of a run: the text of the user's message that carries the tag."""
    found = [texts(message) for message in body["messages"] if message["role"] == "user" and "-bg:" in texts(message)]
    return found[-1]


class Seeds(unittest.TestCase):
    maxDiff = None

    def fires(self, running, identity, kind="routine"):
        """Runs a job now; the command must succeed."""
        return running.cli(kind, "run", identity)

    def talks(self, running, text, answer):
        """Says `text` in Discord and waits for `answer`."""
        said = running.discord.say(text)
        return running.discord.hears(answer, after=said)

    def finishes(self, running, result):
        """Waits until a deferred answer to a command is there; returns all that it shows."""
        running.discord.until(
            lambda: not result.deferred or result.response is None or result.followups, "the whole answer"
        )
        parts = [result.response] if result.response else []
        return "\n".join(running.discord.shown(part._message) for part in [*parts, *result.followups])

    def ends_fork(self, running):
        """Waits until Discord shows that the fork has ended; what is said before that could still belong to it."""

        def ended():
            shown = [running.discord.shown(message) for message in running.discord.bot_messages()]
            return any(
                re.search(r"(?i)fork ended|(fork|side conversation).*(over|closed|saved|left)", text) for text in shown
            )

        running.until(ended, "a note that the fork has ended")

    def assertIn_order(self, whole_text, *parts):
        at = 0
        for part in parts:
            found = whole_text.find(part, at)
            self.assertNotEqual(found, -1, f"{part!r} is not in, or not in its place in\n{whole_text}")
            at = found + len(part)


class PersistentRoutines(Seeds):
    """Seeds 000 and 001."""

    # 000: opting in, context over fires, standalone sessions, plain string files, resuming, events, preamble, tag.
    # 001: first fire, subsequent fires, storage, session history, prompt awareness, guidance in the body.
    def test_a_persistent_routine_remembers_its_own_runs_and_not_the_main_conversation(self):
        script = [say("Hello."), say("Bread costs 4."), say("Bread costs 5."), say("Bread costs 6.")]
        files = {
            "routines/prices.md": persistent(
                "a1b2c3d4", "Track bread.\n\nWhen context gets large, preserve price levels."
            )
        }
        with Running(script, files=files) as running:
            running.chat("my locker is 214")
            self.fires(running, "a1b2c3d4")
            first = running.request(1)
            self.assertNotIn("locker", whole(first))
            self.assertEqual(len(first["messages"]), 1)
            told = prompt(first)
            self.assertIn_order(
                told,
                "[routine-bg:a1b2c3d4] SESSION: Persistent",
                "compact_session",
                "Track bread.",
                "preserve price levels.",
            )
            kept = running.read("state/routine_sessions/a1b2c3d4")
            self.assertRegex(kept, r"\A[0-9a-f-]{36}\n?\Z")
            self.assertNotEqual(kept.strip(), running.current())
            event = running.event("persistent_bg")
            self.assertEqual((event["session_id"], event["parent_session_id"]), (kept.strip(), None))
            self.assertEqual(running.events("bg_fork"), [])
            self.fires(running, "a1b2c3d4")
            second = running.request(2)
            self.assertIn_order(whole(second), "Track bread.", "Bread costs 4.", "Track bread.")
            self.assertEqual(running.read("state/routine_sessions/a1b2c3d4"), kept)
            self.assertEqual(running.events("bg_fork") + running.events("interactive_fork"), [])
            running.restart()
            self.fires(running, "a1b2c3d4")
            self.assertIn_order(whole(running.request(3)), "Bread costs 4.", "Bread costs 5.", "Track bread.")

    # 000: deferred compaction, the tool's answer, instructions, the session id after it, allowlist; 001: agent decides.
    def test_compaction_that_the_routine_asks_for_happens_after_its_run(self):
        script = [
            say("Bread costs 4."),
            call("compact_session", {"instructions": "preserve price levels, discard chatter"}),
            say("Bread costs 5."),
            say(SUMMARY),
            say("Bread costs 6."),
        ]
        files = {"routines/prices.md": persistent("a1b2c3d4", allowed_tools=["WebFetch"])}
        with Running(script, files=files) as running:
            self.fires(running, "a1b2c3d4")
            before = running.read("state/routine_sessions/a1b2c3d4")
            # A hard link keeps the old content only if the file is replaced and not written in
            # place.
            (running.folder / "old").hardlink_to(running.home / "state/routine_sessions/a1b2c3d4")
            running.tried("routine", "run", "a1b2c3d4")
            answered = running.request(2)
            self.assertIn("scheduled", results(answered)[0].lower())
            self.assertIn("preserve price levels, discard chatter", last_user(running.request(3)))
            running.until(
                lambda: running.read("state/routine_sessions/a1b2c3d4") != before, "a new session of the routine"
            )
            self.assertEqual((running.folder / "old").read_text(), before)
            leftovers = [file.name for file in (running.home / "state/routine_sessions").iterdir()]
            self.assertEqual(leftovers, ["a1b2c3d4"])
            self.fires(running, "a1b2c3d4")
            after = whole(running.request(4))
            self.assertIn("the level of 40 matters most", after)
            self.assertNotIn("Bread costs 4.", after)

    # 000 and 001: `compact_session` returns an error outside persistent sessions.
    def test_compact_session_is_refused_in_main_and_in_other_background_runs(self):
        script = [
            call("compact_session", {"instructions": "everything"}),
            say("It is not for here."),
            call("compact_session", {"instructions": "everything"}),
            say("Nor here."),
        ]
        with Running(script, files={"routines/other.md": aside("b1b2b3b4")}) as running:
            running.chat("compact yourself")
            self.fires(running, "b1b2b3b4")
            for number in (1, 3):
                (result,) = results(running.request(number))
                self.assertRegex(result, r"(?i)error")
                self.assertIn("persistent routine", result)
            self.assertNotIn("compact_session` tool", prompt(running.request(2)))
            self.assertNotIn("SESSION: Persistent", prompt(running.request(2)))

    # 000: a missing or empty session file loads as no session, which starts fresh.
    def test_a_routine_starts_fresh_when_its_session_file_is_gone_or_empty(self):
        script = [say("Bread costs 4."), say("Bread costs 5."), say("Bread costs 6.")]
        with Running(script, files={"routines/prices.md": persistent("a1b2c3d4")}) as running:
            file = running.home / "state/routine_sessions/a1b2c3d4"
            self.fires(running, "a1b2c3d4")
            first = file.read_text()
            running.noticed(file.unlink)
            self.fires(running, "a1b2c3d4")
            self.assertNotIn("Bread costs 4.", whole(running.request(1)))
            second = file.read_text()
            self.assertNotEqual(second, first)
            self.assertEqual(running.log().count("session file of a routine was removed or emptied"), 1)
            running.noticed(lambda: file.write_text(""))
            self.assertEqual(running.log().count("session file of a routine was removed or emptied"), 2)
            self.fires(running, "a1b2c3d4")
            self.assertNotIn("Bread costs", whole(running.request(2)))
            self.assertNotIn(file.read_text(), (first, second, ""))

    # 000: a session id that is saved over another is the one that is loaded.
    def test_a_session_id_written_into_the_file_is_the_one_that_goes_on(self):
        script = [say("Bread costs 4."), say("Milk costs 1."), say("Milk costs 2.")]
        files = {"routines/a.md": persistent("a1b2c3d4"), "routines/b.md": persistent("b1b2b3b4")}
        with Running(script, files=files) as running:
            self.fires(running, "a1b2c3d4")
            self.fires(running, "b1b2b3b4")
            other = running.read("state/routine_sessions/a1b2c3d4")
            running.noticed(lambda: running.write("state/routine_sessions/b1b2b3b4", other))
            self.assertIn("The session file of a routine names another session now.", running.log())
            self.fires(running, "b1b2b3b4")
            self.assertIn("Bread costs 4.", whole(running.request(2)))
            self.assertNotIn("Milk costs 1.", whole(running.request(2)))

    # 000 and 001: the session file goes with the routine.
    def test_a_removed_routine_takes_its_session_file_with_it(self):
        files = {"routines/a.md": persistent("a1b2c3d4"), "routines/b.md": persistent("b1b2b3b4")}
        with Running([say("one"), say("two")], files=files) as running:
            self.fires(running, "a1b2c3d4")
            self.fires(running, "b1b2b3b4")
            (running.home / "routines/a.md").unlink()
            running.until(lambda: running.read("state/routine_sessions/a1b2c3d4") is None, "cleaning up")
            running.cli("routine", "cancel", "b1b2b3b4")
            running.until(lambda: running.read("state/routine_sessions/b1b2b3b4") is None, "cleaning up")

    # 000 and 001: the same routine does not run twice at once; it is skipped with a warning.
    def test_a_second_fire_of_a_running_persistent_routine_is_skipped(self):
        script = [{"say": "slow", "fault": {"kind": "stall", "at": 0}}, say("other")]
        files = {"routines/a.md": persistent("a1b2c3d4"), "routines/b.md": persistent("b1b2b3b4")}
        with Running(script, files=files) as running:
            command = [BOT, "routine", "run", "a1b2c3d4"]
            waiting = subprocess.Popen(
                command,
                env=running.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
            )
            try:
                running.request(0)
                skipped = running.tried("routine", "run", "a1b2c3d4")
                self.assertRegex(skipped.stdout + skipped.stderr, r"(?i)still|already|skipp")
                # Another persistent routine runs meanwhile, with a session of its own.
                self.fires(running, "b1b2b3b4")
                self.assertEqual(len(running.requests()), 2)
                self.assertIn("[routine-bg:b1b2b3b4]", prompt(running.request(1)))
                self.assertIsNotNone(running.read("state/routine_sessions/b1b2b3b4"))
            finally:
                waiting.kill()
                waiting.communicate()

    # 001: different persistent routines at the same time are safe.
    def test_two_persistent_routines_at_once_keep_apart(self):
        names = [f"aa00bb0{number}" for number in range(4)]
        files = {f"routines/{name}.md": persistent(name, f"Track {name}.") for name in names}
        with Running([say("noted")] * 8, files=files) as running:
            for _ in range(2):
                runs = [
                    subprocess.Popen([BOT, "routine", "run", name], env=running.environment, stdin=subprocess.DEVNULL)
                    for name in names
                ]
                self.assertEqual([run.wait(60) for run in runs], [0] * 4)
            sessions = {name: running.read(f"state/routine_sessions/{name}") for name in names}
            self.assertEqual(len(set(sessions.values())), 4)
            for body in running.requests():
                own = re.findall(r"routine-bg:(\w+)\]", whole(body))
                self.assertEqual(len(set(own)), 1, own)
            self.assertEqual(sorted(len(body["messages"]) for body in running.requests()), [1] * 4 + [3] * 4)

    # 000 and 001: the field and its validation, in files and on the command line.
    def test_the_session_field_is_checked_and_kept_out_of_files_that_do_not_use_it(self):
        files = {
            "routines/main.md": routine("c0000001", session="persistent"),
            "routines/isolated.md": persistent("c0000002", isolated=True),
            "routines/other.md": aside("c0000003", session="forever"),
            "routines/right.md": persistent("c0000004"),
        }
        with Running([], files=files) as running:
            add = ["routine", "add", "--cron", "0 9 * * 1-5", "-m"]
            for words, reason in (
                ([*add, "a", "--session", "persistent"], "background"),
                ([*add, "b", "--session", "persistent", "--background", "--isolated"], "isolated"),
                ([*add, "c", "--session", "forever", "--background"], "persistent"),
            ):
                refused = running.tried(*words)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn(reason, refused.stdout + refused.stderr)
            running.cli(*add, "track markets", "--session", "persistent", "--background")
            running.cli(*add, "defaults")
            written = {file.read_text() for file in (running.home / "routines").glob("*.md")}
            tracked = next(text for text in written if "track markets" in text)
            self.assertRegex(tracked, r"(?m)^session: \"?persistent\"?$")
            plain = next(text for text in written if text.endswith("defaults\n") or "\ndefaults" in text)
            self.assertNotIn("session", plain)
            listed = running.cli("routine", "list")
            self.assertIn("c0000004", listed)
            for file, reason in (("main.md", "background"), ("isolated.md", "isolated"), ("other.md", "persistent")):
                lines = [line for line in listed.splitlines() if file in line]
                self.assertTrue(any(reason in line for line in lines), f"{file}: {lines} in\n{listed}")

    # 000: model and thinking overrides; 001: the same as for isolated runs.
    def test_model_and_thinking_of_a_routine_reach_the_request(self):
        files = {}
        for number, (kind, fields) in enumerate(
            (
                (name, fields | {"thinking": thinking})
                for name, fields in self.KINDS.items()
                for thinking in (True, False)
            ),
            1,
        ):
            files[f"routines/{kind}{number}.md"] = aside(f"d000000{number}", **fields)
        with Running([say("done")] * 6, files=files, settings={"thinking.main": "off"}) as running:
            for number in range(1, 7):
                self.fires(running, f"d000000{number}")
            for number, body in enumerate(running.requests()):
                with self.subTest(kind=number // 2, thinking=number % 2 == 0):
                    self.assertIn("haiku", body["model"])
                    kind = (body.get("thinking") or {}).get("type", "disabled")
                    if number % 2 == 0:
                        self.assertIn(kind, ("adaptive", "enabled"))
                    else:
                        self.assertNotEqual(kind, "enabled")
            shapes = [json.dumps([body.get("thinking"), body.get("output_config")]) for body in running.requests()]
            for on, off in zip(shapes[::2], shapes[1::2], strict=True):
                self.assertNotEqual(on, off)

    KINDS = {
        "forked": {"model": "haiku"},
        "isolated": {"model": "haiku", "isolated": True},
        "persistent": {"model": "haiku", "session": "persistent"},
    }

    # 000: the existing way of reporting serves persistent routines; 001: `update_main_session: on_ping`.
    def test_a_persistent_routine_reports_to_the_main_conversation(self):
        script = [call("report_updates", {"message": "The level of 40 was crossed."}), say("done"), say("Seen.")]
        with Running(script, files={"routines/a.md": persistent("a1b2c3d4", update_main_session="on_ping")}) as running:
            self.fires(running, "a1b2c3d4")
            self.assertEqual([update["message"] for update in running.updates()], ["The level of 40 was crossed."])
            running.chat("anything new?")
            self.assertIn_order(last_user(running.request(2)), "The level of 40 was crossed.", "anything new?")


class PendingUpdates(Seeds):
    """Seed 002, and what seeds 003 and 004 say about them."""

    # 002: the file and its fields, written by any fork; popped by main; prepended; the file deleted; consumed once.
    def test_updates_of_background_runs_reach_the_next_message_once(self):
        script = [
            call("report_updates", {"message": "Ann wrote about Friday."}),
            say("done"),
            say("Ann wrote."),
            say("Nothing more."),
        ]
        with Running(script, discord=True, files={"routines/mail.md": aside("a1b2c3d4")}) as running:
            self.fires(running, "a1b2c3d4")
            (update,) = running.updates()
            self.assertEqual(update["message"], "Ann wrote about Friday.")
            stamp = datetime.datetime.fromisoformat(update["ts"])
            self.assertEqual(stamp.utcoffset(), ZONE.utcoffset(None))
            self.assertIn("Ann wrote about Friday.", running.cli("updates"))
            self.talks(running, "anything new?", "Ann wrote.")
            self.assertIn_order(last_user(running.request(2)), "Ann wrote about Friday.", "anything new?")
            self.assertIsNone(running.read("state/pending_updates.json"))
            self.assertNotIn("Ann", running.cli("updates"))
            self.talks(running, "and now?", "Nothing more.")
            self.assertNotIn("Ann wrote about Friday", last_user(running.request(3)))
            self.assertEqual(whole(running.request(3)).count("Ann wrote about Friday"), 1)

    # 002: each entry has two fields.
    def test_an_entry_of_the_updates_file_has_exactly_two_fields(self):
        script = [call("report_updates", {"message": "Ann wrote about Friday."}), say("done")]
        with Running(script, files={"routines/mail.md": aside("a1b2c3d4")}) as running:
            self.fires(running, "a1b2c3d4")
            (update,) = running.updates()
            self.assertEqual(set(update), {"ts", "message"})

    # 002: prepended to the next message, whatever the conversation has seen.
    def test_an_update_is_read_in_full_after_a_picture_was_sent(self):
        script = [
            say("A grey pixel."),
            call("report_updates", {"message": "Ann wrote about Friday."}),
            say("done"),
            say("Ann wrote."),
        ]
        with Running(script, discord=True, files={"routines/mail.md": aside("a1b2c3d4")}) as running:
            said = running.discord.say("look", attachments=[("pixel.png", PIXEL)])
            running.discord.hears("A grey pixel.", after=said)
            kinds = [block["type"] for block in running.request(0)["messages"][-1]["content"]]
            self.assertIn("image", kinds)
            self.fires(running, "a1b2c3d4")
            self.assertIn("Ann wrote about Friday.", running.cli("updates"))
            self.talks(running, "anything new?", "Ann wrote.")
            self.assertIn_order(last_user(running.request(3)), "Ann wrote about Friday.", "anything new?")

    # 002: the same for the report of a run that read text of others. What was consumed is found afterwards.
    def test_an_update_of_a_run_that_read_outside_text_is_read_in_full_and_found_later(self):
        script = [
            call("Read", {"file_path": "outside/letter.txt"}),
            call("report_updates", {"message": "The letter asks for the meter reading."}),
            say("done"),
            say("A letter came."),
        ]
        files = {
            "outside/letter.txt": "Please send us the meter reading.\n",
            "routines/post.md": aside("a1b2c3d4", allowed_tools=["Read(outside/*)", "report_updates"]),
        }
        with Running(script, files=files) as running:
            self.fires(running, "a1b2c3d4")
            self.assertIn("Please send us the meter reading.", results(running.request(1))[0])
            running.chat("anything new?")
            self.assertIn_order(
                last_user(running.request(3)), "The letter asks for the meter reading.", "anything new?"
            )
            self.assertNotIn("meter reading", running.cli("updates"))
            self.assertIn("The letter asks for the meter reading.", running.cli("updates", "--all"))
            self.assertIn("meter reading", running.cli("history", "search", "meter"))

    # 002: the same for the report of an interactive fork in which a picture was shown.
    def test_the_report_of_a_fork_with_a_picture_is_read_in_full(self):
        script = [say("Hello."), say("In the fork."), say("A grey pixel."), say("Back.")]
        with Running(script, discord=True) as running:
            self.talks(running, "hi", "Hello.")
            running.discord.slash("fork", topic="the picture")
            running.discord.hears("In the fork.")
            said = running.discord.say("look", attachments=[("pixel.png", PIXEL)])
            running.discord.hears("A grey pixel.", after=said)
            running.discord.slash("report", summary="The picture is one grey pixel.")
            running.until(lambda: running.updates(), "an update of the fork")
            self.ends_fork(running)
            self.talks(running, "what was it?", "Back.")
            self.assertIn_order(last_user(running.request(3)), "The picture is one grey pixel.", "what was it?")
            self.assertNotIn("the picture\n", whole(running.request(3)))

    # 002 and 003: interactive forks peek and do not clear; main pops afterwards.
    def test_interactive_forks_peek_at_updates_and_leave_them_for_main(self):
        script = [
            say("Hello."),
            call("report_updates", {"message": "Ann wrote about Friday."}),
            say("done"),
            say("In the fork."),
            say("Still in the fork."),
            say("Back in main."),
        ]
        with Running(script, discord=True, files={"routines/mail.md": aside("a1b2c3d4")}) as running:
            self.talks(running, "hi", "Hello.")
            self.fires(running, "a1b2c3d4")
            before = running.updates()
            running.discord.slash("fork", topic="lisbon")
            running.discord.hears("In the fork.")
            self.talks(running, "hello fork", "Still in the fork.")
            self.assertIn("Ann wrote about Friday.", whole(running.request(4)))
            self.assertEqual(running.updates(), before)
            self.finishes(running, running.discord.slash("exit"))
            self.ends_fork(running)
            self.talks(running, "back", "Back in main.")
            self.assertIn_order(last_user(running.request(5)), "Ann wrote about Friday.", "back")
            self.assertIsNone(running.read("state/pending_updates.json"))

    # 002 and 003: background forks peek and do not clear; an isolated run does not see the main
    # conversation.
    def test_background_runs_do_not_consume_updates(self):
        script = [call("report_updates", {"message": "Ann wrote about Friday."}), say("done")]
        script += [say("looked"), say("alone"), say("Ann wrote.")]
        files = {
            "routines/a.md": aside("a1b2c3d4"),
            "routines/b.md": aside("b1b2b3b4"),
            "routines/c.md": aside("c1c2c3c4", isolated=True),
        }
        with Running(script, files=files) as running:
            for identity in ("a1b2c3d4", "b1b2b3b4", "c1c2c3c4"):
                self.fires(running, identity)
            self.assertIn("Ann wrote about Friday.", whole(running.request(2)))
            self.assertNotIn("Ann wrote", whole(running.request(3)))
            self.assertEqual([update["message"] for update in running.updates()], ["Ann wrote about Friday."])
            running.chat("anything new?")
            self.assertIn_order(last_user(running.request(4)), "Ann wrote about Friday.", "anything new?")

    # 002: any fork can write, whatever its kind; several forks append at once and nothing is lost.
    def test_concurrent_background_forks_append_their_updates_safely(self):
        names = [f"aa00bb0{number}" for number in range(4)]
        kinds = [{}, {"isolated": True}, {"session": "persistent"}, {}]
        files = {f"routines/{name}.md": aside(name, **kind) for name, kind in zip(names, kinds, strict=True)}
        # All four answers are the same whichever run takes them; so are the four that follow.
        script = [call("report_updates", {"message": "One of four."})] * 4 + [say("done")] * 4 + [say("All four.")]
        with Running(script, files=files) as running:
            runs = [
                subprocess.Popen([BOT, "routine", "run", name], env=running.environment, stdin=subprocess.DEVNULL)
                for name in names
            ]
            for run in runs:
                run.wait(60)
            running.until(lambda: len(running.updates()) == 4, "four updates")
            self.assertEqual([update["message"] for update in running.updates()], ["One of four."] * 4)
            running.chat("well?")
            self.assertEqual(last_user(running.requests()[-1]).count("One of four."), 4)

    # 002: the updates are prepended, however many there are: each is consumed once, so each must be seen once.
    def test_a_dozen_updates_are_all_prepended(self):
        words = [
            f"Finding {name}."
            for name in "alpha bravo charlie delta echo golf hotel india kilo lima mike oscar".split()
        ]
        calls = [part for text in words for part in ("report_updates", {"message": text})]
        with Running([call(*calls), say("done"), say("Read.")], files={"routines/a.md": aside("a1b2c3d4")}) as running:
            self.fires(running, "a1b2c3d4")
            self.assertEqual([update["message"] for update in running.updates()], words)
            running.chat("well?")
            self.assertIn_order(last_user(running.request(2)), *words, "well?")
            self.assertIsNone(running.read("state/pending_updates.json"))

    # 002: the file is the interface: updates that another program writes into it are read.
    def test_updates_written_into_the_file_by_hand_reach_the_next_message(self):
        with Running([say("Hello."), say("Read.")]) as running:
            running.chat("hi")
            stamp = datetime.datetime.now(datetime.UTC).isoformat()
            written = json.dumps([{"ts": stamp, "message": "Written by hand."}])
            running.noticed(lambda: running.write("state/pending_updates.json", written))
            running.until(lambda: "Written by hand." in running.cli("updates"), "the update that was written by hand")
            running.chat("well?")
            self.assertIn_order(last_user(running.request(1)), "Written by hand.", "well?")
            self.assertIn("Another program changed pending_updates.json.", running.log())
            self.assertIsNone(running.read("state/pending_updates.json"))

    # 002: the file is the interface: an update that another program removes from it is not read;
    # one that it damages is not lost.
    def test_updates_taken_out_of_the_file_by_hand_are_not_told(self):
        calls = call("report_updates", {"message": "Ann wrote."}, "report_updates", {"message": "Bob wrote."})
        script = [calls, say("done"), say("Read.")]
        with Running(script, files={"routines/mail.md": aside("a1b2c3d4")}) as running:
            self.fires(running, "a1b2c3d4")
            before = running.updates()
            running.write("state/pending_updates.json", "{")
            # The broken file is moved away before the new one is there.
            mended = lambda: (running.read("state/pending_updates.json") or "{") != "{"
            running.until(mended, "the file to be mended")
            self.assertEqual(running.updates(), before)
            self.assertIn("pending_updates.json was damaged", running.log())
            running.write("state/pending_updates.json", json.dumps(before[1:]))
            running.until(lambda: "Ann" not in running.cli("updates"), "the update to be gone")
            self.assertIn("Bob wrote.", running.cli("updates"))
            (running.home / "state/pending_updates.json").unlink()
            running.until(lambda: "Bob" not in running.cli("updates"), "no updates")
            self.assertEqual(running.log().count("Another program changed pending_updates.json."), 2)
            running.chat("well?")
            self.assertNotIn("wrote", last_user(running.request(2)))

    # 002: `always` must report before the fork exits.
    def test_a_run_that_must_always_report_cannot_stop_before(self):
        script = [say("done"), call("report_updates", {"message": "Nothing today."}), say("done")]
        with Running(script, files={"routines/a.md": aside("a1b2c3d4", update_main_session="always")}) as running:
            running.tried("routine", "run", "a1b2c3d4")
            self.assertIn("report_updates", last_user(running.request(1)))
            running.until(running.updates, "the report")
            self.assertEqual([update["message"] for update in running.updates()], ["Nothing today."])
            self.assertRegex(prompt(running.request(0)), r"(?i)must call `?report_updates")

    # Beyond the documents: the command that starts a run waits for its end, also behind the hook or a compaction.
    def test_a_run_by_hand_is_waited_for_to_its_real_end(self):
        script = [
            say("done"),
            call("report_updates", {"message": "Nothing today."}),
            say("done"),
            call("compact_session", {"instructions": "keep the prices"}),
            say("done"),
            say(SUMMARY),
        ]
        files = {
            "routines/a.md": aside("a1b2c3d4", update_main_session="always"),
            "routines/b.md": persistent("b1b2b3b4"),
        }
        with Running(script, files=files) as running:
            for identity, requests in (("a1b2c3d4", 3), ("b1b2b3b4", 6)):
                done = running.tried("routine", "run", identity)
                running.request(requests - 1)
                self.assertEqual((done.returncode, done.stderr.count("error")), (0, 0), done.stderr)

    # 002: `on_ping`, the default, blocks a fork that pinged and did not report; it does not block the others.
    def test_a_run_that_pinged_must_report_and_one_that_did_not_may_stop(self):
        script = [
            say("nothing to see"),
            call("ping_user", {"message": "The bus leaves at nine."}),
            say("done"),
            call("report_updates", {"message": "Told about the bus."}),
            say("done"),
        ]
        with Running(script, discord=True, files={"routines/a.md": aside("a1b2c3d4")}) as running:
            self.fires(running, "a1b2c3d4")
            self.assertEqual(len(running.requests()), 1)
            self.assertEqual(running.updates(), [])
            running.tried("routine", "run", "a1b2c3d4")
            running.discord.hears("The bus leaves at nine.")
            self.assertIn("report_updates", last_user(running.request(3)))
            running.until(running.updates, "the report")
            self.assertEqual([update["message"] for update in running.updates()], ["Told about the bus."])

    # 002: an embed counts as a ping for `on_ping`.
    def test_a_run_that_sent_an_embed_must_report(self):
        script = [
            call("discord_embed", {"title": "Prices", "description": "Bread 4, milk 1."}),
            say("done"),
            call("report_updates", {"message": "Showed the prices."}),
            say("done"),
        ]
        with Running(script, discord=True, files={"routines/a.md": aside("a1b2c3d4")}) as running:
            running.tried("routine", "run", "a1b2c3d4")
            sent = running.discord.hears("Bread 4, milk 1.")
            self.assertEqual(sent.embeds[0]["title"], "Prices")
            self.assertIn("report_updates", last_user(running.request(2)))
            running.until(running.updates, "the report")
            self.assertEqual([update["message"] for update in running.updates()], ["Showed the prices."])

    # 002: `freely` is optional; `blocked` returns an error.
    def test_a_run_may_report_freely_or_not_at_all(self):
        script = [
            call("ping_user", {"message": "The bus leaves at nine."}),
            say("done"),
            call("report_updates", {"message": "Secret."}),
            say("done"),
        ]
        files = {
            "routines/a.md": aside("a1b2c3d4", update_main_session="freely"),
            "routines/b.md": aside("b1b2b3b4", update_main_session="blocked"),
        }
        with Running(script, discord=True, files=files) as running:
            self.fires(running, "a1b2c3d4")
            running.discord.hears("The bus leaves at nine.")
            self.assertEqual(len(running.requests()), 2)
            self.fires(running, "b1b2b3b4")
            (result,) = results(running.request(3))
            self.assertRegex(result, r"(?i)error")
            self.assertEqual(running.updates(), [])


class Preambles(Seeds):
    """Seed 002: tags, preamble of background forks, schedule."""

    # 002: prompt tags; foreground jobs run in the main session, background jobs in a fork. 003: their events.
    def test_every_job_carries_its_tag_and_runs_where_it_belongs(self):
        script = [
            say("Hello."),
            say("Good morning!"),
            say("Tea time!"),
            say("aside"),
            say("aside"),
            say("alone"),
            say("Yes."),
        ]
        files = {
            "routines/a.md": routine("a0000001", "Say good morning."),
            "routines/b.md": aside("a0000002", "Look around."),
            "routines/c.md": aside("a0000003", "Look alone.", isolated=True),
            "reminders/d.md": job("a0000004", "Tea.", run_at="2126-01-01T10:00:00Z"),
            "reminders/e.md": job("a0000005", "Tea aside.", run_at="2126-01-01T10:00:00Z", background=True),
        }
        with Running(script, discord=True, files=files) as running:
            self.talks(running, "my locker is 214", "Hello.")
            self.fires(running, "a0000001")
            running.discord.hears("Good morning!")
            self.fires(running, "a0000004", "reminder")
            running.discord.hears("Tea time!")
            self.fires(running, "a0000002")
            self.fires(running, "a0000005", "reminder")
            self.fires(running, "a0000003")
            main = running.current()
            self.assertIn("[routine:a0000001] Say good morning.", last_user(running.request(1)))
            self.assertIn("[reminder:a0000004]", last_user(running.request(2)))
            self.assertRegex(prompt(running.request(3)), r"(?s)\[routine-bg:a0000002\]\s.*\n\nLook around\.\Z")
            self.assertRegex(prompt(running.request(4)), r"(?s)\[reminder-bg:a0000005\]\s.*Tea aside\.\Z")
            self.assertNotRegex(prompt(running.request(4)), r"(?i)chain context|check 1")
            for number in (3, 4):
                self.assertIn("my locker is 214", whole(running.request(number)))
            alone = running.request(5)
            self.assertEqual(len(alone["messages"]), 1)
            self.assertNotIn("214", whole(alone))
            self.assertEqual([event["parent_session_id"] for event in running.events("bg_fork")], [main, main])
            self.assertEqual([event["parent_session_id"] for event in running.events("isolated_bg")], [None])
            self.assertIsNone(running.discord.find("aside"))
            # Background runs are not in the main conversation; runs in main are.
            self.talks(running, "well?", "Yes.")
            talk = whole(running.request(6))
            self.assertIn_order(talk, "[routine:a0000001]", "Good morning!", "[reminder:a0000004]", "Tea time!")
            for other in ("a0000002", "a0000003", "a0000005"):
                self.assertNotIn(other, talk)

    # 002: ping instructions; no budget and schedule without pings; update instructions of each mode.
    def test_the_preamble_says_whether_the_run_may_ping_and_must_report(self):
        files = {"routines/silent.md": aside("b0000000", allow_ping=False)}
        modes = ("always", "on_ping", "freely", "blocked")
        for number, mode in enumerate(modes, 1):
            files[f"routines/{mode}.md"] = aside(f"b000000{number}", update_main_session=mode)
        script = [call("ping_user", {"message": "psst"}), say("done")]
        script += [call("report_updates", {"message": "x"}), say("done")] * len(modes)
        with Running(script, files=files) as running:
            self.fires(running, "b0000000")
            silent = prompt(running.request(0))
            self.assertRegex(silent, r"(?i)disabled[^\n]*ping_user|ping_user[^\n]*(not available|disabled)")
            self.assertNotIn("Ping budget", silent)
            self.assertNotRegex(silent, r"(?i)upcoming")
            self.assertRegex(results(running.request(1))[0], r"(?i)error")
            for mode in range(1, 5):
                running.tried("routine", "run", f"b000000{mode}")
            told = [prompt(body) for body in running.requests() if len(results(body)) == 0][1:]
            self.assertEqual(len(told), 4)
            always, on_ping, freely, blocked = told
            self.assertRegex(always, r"(?i)must call `?report_updates")
            self.assertNotRegex(on_ping, r"(?i)must call `?report_updates")
            self.assertRegex(on_ping, r"(?i)must call .* if you sent a ping")
            self.assertRegex(freely, r"(?i)may (also )?call `?report_updates|optional")
            self.assertNotRegex(freely, r"(?i)must call")
            self.assertRegex(
                blocked,
                r"(?i)report_updates.*(not available|blocked|cannot|disabled|refused)|no summary|nothing.*reaches",
            )
            for text in told:
                self.assertIn("ping_user", text)
                self.assertIn("discord_embed", text)
                self.assertIn("Ping budget", text)

    # 002: the section on tools lists what is available or excluded.
    def test_tool_restrictions_are_listed_as_configured(self):
        files = {
            "routines/a.md": aside("b0000001", allowed_tools=["WebFetch"]),
            "routines/b.md": aside("b0000002", disallowed_tools=["WebFetch"]),
        }
        with Running([say("done")] * 2, files=files) as running:
            self.fires(running, "b0000001")
            self.fires(running, "b0000002")
            allowed, excluded = prompt(running.request(0)), prompt(running.request(1))
            self.assertRegex(allowed, r"(?i)tool restrictions: only these tools are available(.|\n)*WebFetch")
            self.assertRegex(
                excluded, r"(?i)tool restrictions:[^\n]*(not|except|without|excluded)[^\n]*\n(.|\n)*WebFetch"
            )

    # 002: the section on tools is there only when tools are configured.
    def test_tool_restrictions_are_left_out_when_none_are_configured(self):
        with Running([say("done")], files={"routines/a.md": aside("b0000001")}) as running:
            self.fires(running, "b0000001")
            self.assertNotRegex(prompt(running.request(0)), r"(?i)tool restrictions")

    # 002: what the preamble says is excluded is excluded, with arguments.
    def test_excluded_tools_are_refused_with_their_arguments(self):
        patterns = ["Bash(ollim-bot cal *)", "Bash(ollim-bot *)", "Bash(ollim-bot cal:*)", "Read(**.md)", "Bash"]
        calls = [("Bash", {"command": "ollim-bot cal today"})] * 5
        calls[3] = ("Read", {"file_path": "note.md"})
        files = {"note.md": "The note.\n"}
        script = []
        for number, (name, given) in enumerate(calls):
            files[f"routines/{number}.md"] = aside(f"b000000{number}", disallowed_tools=[patterns[number]])
            script += [call(name, given), say("done")]
        with Running(script, files=files) as running:
            for number, pattern in enumerate(patterns):
                with self.subTest(pattern):
                    self.fires(running, f"b000000{number}")
                    self.assertIn(pattern, prompt(running.request(2 * number)))
                    (result,) = results(running.request(2 * number + 1))
                    self.assertRegex(result, r"(?i)error|not allowed|may not|denied|refused")
                    self.assertNotIn("The note.", result)

    # 002: budget status, upcoming schedule with its fields, regret test, critical, this task, 60 characters, silent.
    def test_the_preamble_has_the_budget_and_the_schedule(self):
        with Running([say("done")] * 40) as running:
            now = datetime.datetime.now(ZONE)

            def cron(minutes):
                at = now + datetime.timedelta(minutes=minutes)
                return at, f"{at.minute} {at.hour} * * *"

            _, own_cron = cron(3)
            silent, silent_cron = cron(100)
            long, long_cron = cron(150)
            far, far_cron = cron(9 * 60)
            _, beyond_cron = cron(14 * 60)
            running.write("routines/own.md", aside("c0000001", cron=own_cron, description="Own look"))
            running.write(
                "routines/silent.md", aside("c0000002", cron=silent_cron, description="Silent look", allow_ping=False)
            )
            words = "Go through the whole list of things that are due, one by one, and say which of them matters."
            running.write("routines/long.md", aside("c0000003", words, cron=long_cron))
            running.write("routines/far.md", aside("c0000004", cron=far_cron, description="Far look"))
            running.write("routines/beyond.md", aside("c0000005", cron=beyond_cron, description="Beyond look"))
            running.until(lambda: "c0000005" in running.cli("routine", "list"), "five routines")
            self.fires(running, "c0000001")
            told = prompt(running.request(0))
            self.assertRegex(told, r"Ping budget: \d+/\d+")
            self.assertRegex(told, r"(?i)\d+ refills? before")
            self.assertRegex(told, r"(?i)sorry|regret")
            self.assertIn("critical=True", told)
            lines = {
                word: next((line for line in told.splitlines() if word in line), "")
                for word in ("own.md", "silent.md", "long.md", "far.md")
            }
            self.assertIn_order(lines["own.md"], "Own look", "routines/own.md")
            self.assertIn_order(lines["silent.md"], silent.strftime("%-I:%M %p"), "Silent look", "routines/silent.md")
            self.assertRegex(lines["silent.md"], r"(?i)silent|no ping")
            self.assertIn(long.strftime("%-I:%M %p"), lines["long.md"])
            self.assertIn(words[:60], lines["long.md"])
            self.assertNotIn(words[:61], lines["long.md"])
            # Three are within the base window of three hours, so it is not extended to the one in nine.
            self.assertEqual(lines["far.md"], "")
            # With fewer than three, the window is extended, but not beyond twelve hours.
            told = self.without(running, "c0000001", "silent.md")
            self.assertRegex(told, f"(?m)^.*{re.escape(far.strftime('%-I:%M %p'))}.*Far look.*far.md")
            told = self.without(running, "c0000001", "long.md")
            self.assertIn("far.md", told)
            self.assertNotIn("beyond.md", told)

    def without(self, running, identity, file):
        """Removes a routine's file, and runs another until its preamble shows that this was noticed; returns it."""
        (running.home / "routines" / file).unlink()

        def noticed():
            self.fires(running, identity)
            told = prompt(running.requests()[-1])
            return None if file in told else told

        return running.until(noticed, f"a run that knows of no {file}")

    # 002: the tag of the task itself, whenever its own time is and however often it is run by hand.
    def test_the_schedule_of_a_manual_run_marks_this_task(self):
        with Running([say("done")] * 6) as running:
            names = []
            for number, minutes in enumerate((2, 100, 14 * 60)):
                at = datetime.datetime.now(ZONE) + datetime.timedelta(minutes=minutes)
                names.append(f"c000000{number}")
                running.write(f"routines/{number}.md", aside(names[-1], cron=f"{at.minute} {at.hour} * * *"))
            running.until(lambda: names[-1] in running.cli("routine", "list"), "three routines")
            for name in names * 2:
                self.fires(running, name)
            for number, body in enumerate(running.requests()):
                file = f"routines/{number % 3}.md"
                lines = [line for line in prompt(body).splitlines() if file in line]
                self.assertTrue(any("this task" in line for line in lines), f"run {number}: {prompt(body)}")

    # 002: the grace window includes what has just fired, and says so. It waits for the clock, at most a minute or so.
    def test_a_routine_fires_by_its_cron_and_is_then_shown_as_just_fired(self):
        with Running(
            [say("done")] * 2, files={"routines/own.md": aside("c0000001", description="Own look")}
        ) as running:
            soon = datetime.datetime.now(ZONE) + datetime.timedelta(seconds=65)
            running.write(
                "routines/soon.md", aside("c0000002", cron=f"{soon.minute} {soon.hour} * * *", description="Soon look")
            )
            running.until(running.requests, "the routine to fire", patience=140)
            self.assertIn("[routine-bg:c0000002]", prompt(running.request(0)))
            self.assertRegex(prompt(running.request(0)), r"Soon look.*this task")
            self.fires(running, "c0000001")
            self.assertRegex(prompt(running.request(1)), r"(?i)Soon look.*just fired")

    # 002: the limits that hold for this run are stated, so that the model can decide.
    def test_the_preamble_states_the_limits_that_will_be_applied(self):
        script = [
            call("ping_user", {"message": "The bus leaves at nine."}),
            call("report_updates", {"message": "Told."}),
            say("done"),
            say("done"),
        ]
        files = {"routines/a.md": aside("c0000001"), "routines/b.md": aside("c0000002")}
        with Running(script, discord=True, files=files) as running:
            self.fires(running, "c0000001")
            running.discord.hears("The bus leaves at nine.")
            self.fires(running, "c0000002")
            told = prompt(running.request(3))
            self.assertRegex(told, r"(?i)\b(45|44|43) ?min|next ping.*\d+:\d\d")
            self.assertRegex(told, r"(?i)critical[^\n]*(3|three)")
            running.stop()
            running.environment["OLLIM_TIMEZONE"] = zone(23)[0]
            running.start()
            self.fires(running, "c0000002")
            self.assertRegex(prompt(running.request(4)), r"(?i)quiet[^\n]*(8:00|08:00)")

    # 002: an isolated run sees the times of other jobs, and not their text.
    def test_an_isolated_run_does_not_see_the_words_of_other_jobs(self):
        soon = datetime.datetime.now(ZONE) + datetime.timedelta(minutes=50)
        files = {
            "routines/a.md": aside("c0000001", isolated=True),
            "routines/divorce.md": aside(
                "c0000002",
                "Ask about the divorce.",
                cron=f"{soon.minute} {soon.hour} * * *",
                description="Divorce papers",
            ),
        }
        with Running([say("done")], files=files) as running:
            self.fires(running, "c0000001")
            told = prompt(running.request(0))
            self.assertIn(soon.strftime("%-I:%M %p"), told)
            self.assertNotRegex(told, "(?i)divorce")

    # 002: the busy state of a run that fires while the user is in the middle of a conversation.
    def test_a_run_that_fires_while_main_is_answering_is_told_to_report_instead(self):
        busy = r"(?i)(mid-conversation|in the middle of)[^\n]*critical=True[^\n]*report_updates"
        script = [say("done"), {"say": "slow", "fault": {"kind": "stall", "at": 0}}, say("done")]
        with Running(script, discord=True, files={"routines/a.md": aside("c0000001")}) as running:
            self.fires(running, "c0000001")
            self.assertNotRegex(prompt(running.request(0)), busy)
            running.discord.say("think hard")
            running.request(1)
            self.fires(running, "c0000001")
            self.assertRegex(prompt(running.request(2)), busy)


class Replies(Seeds):
    """Seeds 002 and 004: replies, and how forks are found again."""

    PINGED = [
        call("ping_user", {"message": "The bus leaves at nine."}),
        call("report_updates", {"message": "Told about the bus."}),
        say("done"),
    ]

    # 002 and 004: tracked messages, the file and its fields, the lookup, the fork that resumes, its tag and its event.
    def test_a_reply_to_a_ping_opens_a_fork_that_knows_the_run(self):
        script = [say("Hello."), *self.PINGED, say("About the bus."), say("Back in main.")]
        files = {"routines/a.md": aside("a1b2c3d4", "Watch the buses.")}
        with Running(script, discord=True, files=files) as running:
            self.talks(running, "hi", "Hello.")
            self.fires(running, "a1b2c3d4")
            ping = running.discord.hears("The bus leaves at nine.")
            running.until(lambda: running.read("state/fork_messages.json"), "the record of the ping")
            (record,) = json.loads(running.read("state/fork_messages.json"))
            self.assertEqual(set(record), {"message_id", "fork_session_id", "parent_session_id", "ts"})
            event = running.event("bg_fork")
            self.assertEqual(record["fork_session_id"], event["session_id"])
            self.assertEqual(record["parent_session_id"], running.current())
            self.assertIsInstance(record["ts"], float)
            self.assertLess(abs(record["ts"] - time.time()), 120)
            running.discord.say("which bus?", reply_to=ping)
            running.discord.hears("About the bus.")
            asked = running.request(4)
            self.assertIn_order(whole(asked), "Watch the buses.", "done", "[fork-started]", "which bus?")
            event = running.event("interactive_fork")
            self.assertIsNotNone(event["parent_session_id"])
            self.finishes(running, running.discord.slash("exit"))
            self.ends_fork(running)
            self.talks(running, "back", "Back in main.")
            self.assertNotIn("which bus?", whole(running.request(5)))

    # 002 and 004: an embed is tracked too.
    def test_a_reply_to_an_embed_of_a_run_opens_a_fork_that_knows_the_run(self):
        script = [
            call("discord_embed", {"title": "Prices", "description": "Bread 4."}),
            call("report_updates", {"message": "Showed."}),
            say("done"),
            say("About bread."),
        ]
        with Running(script, discord=True, files={"routines/a.md": aside("a1b2c3d4", "Watch bread.")}) as running:
            self.fires(running, "a1b2c3d4")
            embed = running.discord.hears("Bread 4.")
            running.discord.say("why?", reply_to=embed)
            running.discord.hears("About bread.")
            self.assertIn_order(whole(running.request(3)), "Watch bread.", "[fork-started]", "why?")

    # 004: `message_id` is the id of the message in Discord.
    def test_the_records_of_pings_and_embeds_hold_the_ids_that_discord_gave(self):
        script = [
            *self.PINGED,
            call("discord_embed", {"title": "Prices", "description": "Bread 4."}),
            call("report_updates", {"message": "Showed."}),
            say("done"),
        ]
        files = {"routines/a.md": aside("a1b2c3d4"), "routines/b.md": aside("b1b2b3b4")}
        with Running(script, discord=True, files=files, settings={"ping_caps": "6 0"}) as running:
            self.fires(running, "a1b2c3d4")
            ping = running.discord.hears("The bus leaves at nine.")
            self.fires(running, "b1b2b3b4")
            embed = running.discord.hears("Bread 4.")

            def known():
                return {record["message_id"] for record in json.loads(running.read("state/fork_messages.json") or "[]")}

            running.until(lambda: len(known()) == 2, "two records")
            self.assertEqual(known(), {ping.id, embed.id})

    # 002 and 004: the file is what is looked up: a record by another program, and a record older than seven days.
    def test_records_are_looked_up_in_the_file_and_pruned_after_seven_days_when_read(self):
        script = [say("Hello."), *self.PINGED, say("Quoted."), say("Resumed.")]
        with Running(script, discord=True, files={"routines/a.md": aside("a1b2c3d4", "Watch the buses.")}) as running:
            hello = self.talks(running, "hi", "Hello.")
            self.fires(running, "a1b2c3d4")
            ping = running.discord.hears("The bus leaves at nine.")
            running.until(lambda: running.read("state/fork_messages.json"), "the record of the ping")
            (record,) = json.loads(running.read("state/fork_messages.json"))
            old = record | {"message_id": ping.id, "ts": time.time() - 7 * 86400 - 60}
            new = record | {"message_id": hello.id}
            running.noticed(lambda: running.write("state/fork_messages.json", json.dumps([old, new])))
            self.assertIn("Another program changed fork_messages.json.", running.log())
            running.discord.say("and?", reply_to=ping)
            running.discord.hears("Quoted.")
            # The record was too old: the reply is quoted in main, and the file no longer has it.
            self.assertNotIn("[fork-started]", last_user(running.request(4)))
            self.assertIn_order(last_user(running.request(4)), "The bus leaves at nine.", "and?")
            kept = lambda: [one["message_id"] for one in json.loads(running.read("state/fork_messages.json") or "[]")]
            running.until(lambda: kept() == [hello.id], "the old record to be removed from the file")
            running.discord.say("which?", reply_to=hello)
            running.discord.hears("Resumed.")
            self.assertIn_order(whole(running.request(5)), "Watch the buses.", "[fork-started]", "which?")

    # 004: the parent of a record is the main session at the time of the fork; an isolated run has none.
    def test_the_record_of_an_isolated_run_has_no_parent(self):
        with Running([say("Hello."), *self.PINGED], discord=True, files={"routines/a.md": aside("a1b2c3d4", isolated=True)}) as running:
            self.talks(running, "hi", "Hello.")
            self.fires(running, "a1b2c3d4")
            running.discord.hears("The bus leaves at nine.")
            (record,) = json.loads(running.until(lambda: running.read("state/fork_messages.json"), "the record"))
            self.assertIsNone(record["parent_session_id"])
            self.assertEqual(record["fork_session_id"], running.event("isolated_bg")["session_id"])

    # 002: replies to other messages are quoted: plain content, or title, description and fields of the first embed.
    def test_a_reply_to_another_message_quotes_it_up_to_500_characters(self):
        script = [
            say("word " * 300),
            call(
                "discord_embed",
                {"title": "Plan", "description": "For today.", "fields": [{"name": "First", "value": "Tea"}]},
            ),
            say("Shown."),
            say("Yes, words."),
            say("Yes, the plan."),
        ]
        with Running(script, discord=True) as running:
            self.talks(running, "say a lot", "word word")
            self.talks(running, "show the plan", "Shown.")
            long = running.discord.hears("word word")
            embed = running.discord.hears("For today.")
            running.discord.say("really?", reply_to=long)
            running.discord.hears("Yes, words.")
            quoted = last_user(running.request(3))
            self.assertIn("really?", quoted)
            self.assertGreater(quoted.count("word"), 90)
            self.assertLessEqual(quoted.count("word"), 101)
            running.discord.say("good?", reply_to=embed)
            running.discord.hears("Yes, the plan.")
            self.assertIn_order(last_user(running.request(4)), "Plan", "For today.", "First", "Tea", "good?")

    # 002: the quoted message may be older than the program's own history.
    def test_a_reply_to_a_message_that_the_program_does_not_know_quotes_it(self):
        with Running([say("Yes, tea."), say("Yes, bread.")], discord=True, started=False) as running:
            plain = running.discord.posted_before("Tea is ready.")
            card = {"title": "Prices", "description": "As of today.", "fields": [{"name": "Bread", "value": "4"}]}
            embed = running.discord.posted_before(embeds=[card])
            running.start()
            running.discord.say("really?", reply_to=plain)
            running.discord.hears("Yes, tea.")
            self.assertIn_order(last_user(running.request(0)), "Tea is ready.", "really?")
            running.discord.say("so little?", reply_to=embed)
            running.discord.hears("Yes, bread.")
            self.assertIn_order(last_user(running.request(1)), "Prices", "As of today.", "Bread", "4", "so little?")


class Chains(Seeds):
    """Seed 002: chain reminders."""

    # 002: check number and total, follow_up_chain, the final check's warning; 002: label in the schedule.
    def test_a_chain_counts_its_checks_and_warns_on_the_last(self):
        script = [
            call("follow_up_chain", {"minutes_from_now": 30}),
            say("again"),
            call("follow_up_chain", {"minutes_from_now": 30}),
            say("again"),
            call("follow_up_chain", {"minutes_from_now": 30}),
            say("done"),
        ]
        chain = {"max_chain": 2, "chain_parent": "e0000001", "background": True, "run_at": "2126-01-01T10:00:00Z"}
        tools_of = {"allowed_tools": ["Bash(ollim-bot tasks *)"]}
        with Running(
            script, files={"reminders/a.md": job("e0000001", "Was the report sent?", **chain, **tools_of)}
        ) as running:
            self.fires(running, "e0000001", "reminder")
            first = prompt(running.request(0))
            self.assertRegex(first, r"(?i)check 1(/| of )3")
            self.assertIn("follow_up_chain(minutes_from_now", first)
            self.assertNotRegex(first, r"(?i)(last|final) (check|chance|one)")
            for number, check in ((2, 2), (4, 3)):
                listed = running.until(lambda: json.loads(running.cli("--json", "reminder", "list")), "the next check")
                identity = re.search(r'"id": ?"([^"]+)"', json.dumps(listed))[1]
                self.assertIn(
                    "Bash(ollim-bot tasks *)",
                    "".join(file.read_text() for file in (running.home / "reminders").glob("*.md")),
                )
                self.fires(running, identity, "reminder")
                told = prompt(running.request(number))
                self.assertRegex(told, rf"(?i)check {check}(/| of )3")
                self.assertIn("Was the report sent?", told)
                self.assertIn("Bash(ollim-bot tasks *)", told)
            self.assertRegex(told, r"(?i)(last|final) (check|chance|one)")
            self.assertRegex(results(running.request(5))[0], r"(?i)error|no further|last")
            self.assertEqual(list((running.home / "reminders").glob("*.md")), [])

    # 002: lists written by hand go through the whole chain, whenever they are accepted.
    def test_hand_written_tool_lists_propagate_through_the_chain(self):
        script = [call("follow_up_chain", {"minutes_from_now": 30}), say("again"), say("done")]
        fields = {"max_chain": 2, "chain_parent": "e0000001", "background": True, "run_at": "2126-01-01T10:00:00Z"}
        for name, patterns in (
            ("allowed_tools", ["WebFetch", "Bash(ollim-bot tasks *)"]),
            ("disallowed_tools", ["WebFetch", "Bash(ollim-bot cal *)"]),
        ):
            with self.subTest(name), Running(script) as running:
                running.write("reminders/a.md", job("e0000001", "Was it sent?", **fields, **{name: patterns}))
                running.until(lambda: "e0000001" in running.cli("reminder", "list"), "the reminder")
                self.fires(running, "e0000001", "reminder")
                (file,) = (running.home / "reminders").glob("*.md")
                for pattern in patterns:
                    self.assertIn(pattern, file.read_text())

    # 002: the label of a chain reminder in the schedule.
    def test_a_chain_reminder_is_labelled_with_its_number_in_the_schedule(self):
        at = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=50)).isoformat()
        files = {
            "routines/a.md": aside("a1b2c3d4"),
            "reminders/b.md": job(
                "e0000002", "Sent?", background=True, run_at=at, max_chain=3, chain_depth=1, chain_parent="e0000001"
            ),
        }
        with Running([say("done")], files=files) as running:
            self.fires(running, "a1b2c3d4")
            self.assertRegex(prompt(running.request(0)), r"Chain reminder \(2/4\)")


class Sessions(Seeds):
    """Seeds 003 and 004: the agent loop, sessions, lifecycle events."""

    # 003: one conversation at a time; a timestamp before each message; access to tools, subagents, commands, the web.
    def test_messages_are_answered_one_after_the_other_with_the_time_before_them(self):
        script = [say("First answer."), say("Second answer.")]
        with Running(script, discord=True) as running:
            running.discord.say("first")
            running.discord.say("second")
            running.discord.hears("Second answer.")
            first, second = running.requests()
            day = datetime.datetime.now(ZONE).strftime("%Y-%m-%d")
            for body, words in ((first, "first"), (second, "second")):
                self.assertRegex(last_user(body), rf"(?s)\A\[{day}.*\].*{words}\Z")
            # The second is not answered beside the first: its request has both.
            self.assertIn_order(whole(second), "first", "second")
            for tool in (
                "discord_embed",
                "ping_user",
                "save_context",
                "report_updates",
                "enter_fork",
                "exit_fork",
                "follow_up_chain",
            ):
                self.assertTrue(any(name.endswith(tool) for name in tools(first) if name), tool)
            self.assertLessEqual(
                {"Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "WebSearch", "Task"}, tools(first)
            )
            listed = json.dumps(first["system"]) + json.dumps(first["tools"])
            for agent in ("gmail-reader", "history-reviewer", "responsiveness-reviewer"):
                self.assertIn(agent, listed)

    # 003: Pacific time in the timestamp; 002: the configured time zone.
    def test_the_time_before_a_message_is_in_the_configured_zone(self):
        with Running([say("Hello.")], environment={"OLLIM_TIMEZONE": "America/Los_Angeles"}) as running:
            running.chat("hi")
            self.assertRegex(last_user(running.request(0)), r"\A\[[^\]]*P[SD]?T\]")

    # 003: commands of the program, files, and the web can be used in the main conversation.
    def test_the_main_conversation_uses_commands_and_files(self):
        script = [
            call("Bash", {"command": 'ollim-bot tasks add "renew the passport"'}),
            call("Bash", {"command": "ollim-bot tasks list"}),
            call("Bash", {"command": "ollim-bot cal today"}),
            call("Write", {"file_path": "notes.md", "content": "The locker is 214.\n"}),
            call("Read", {"file_path": "notes.md"}),
            call("Grep", {"pattern": "locker"}),
            call("Glob", {"pattern": "*.md"}),
            say("All done."),
        ]
        with Running(script) as running:
            self.assertIn("All done.", running.chat("do all that"))
            answers = [results(body)[0] for body in running.requests()[1:]]
            self.assertIn("renew the passport", answers[1])
            self.assertIn("no events", answers[2])
            self.assertIn("The locker is 214.", answers[4])
            self.assertIn("notes.md", answers[5])
            self.assertIn("notes.md", answers[6])

    # 003: the three subagents answer the main session, whatever they have read.
    def test_subagents_answer_the_main_session(self):
        looks = {
            "history-reviewer": "ollim-bot history search dentist",
            "gmail-reader": "ollim-bot mail unread",
            "responsiveness-reviewer": "ollim-bot routine list",
        }
        for agent, command in looks.items():
            found = "FOUND: the dentist on Friday is still open."
            script = [
                say("Noted."),
                call("Task", {"description": "look", "prompt": "What is open?", "subagent_type": agent}),
                call("Bash", {"command": command}),
                say(found),
                say("The dentist."),
            ]
            with self.subTest(agent), Running(script) as running:
                running.chat("the dentist is on friday")
                running.chat("what is open?")
                self.assertNotIn("the dentist is on friday", texts(running.request(2)["messages"][0]))
                if agent == "history-reviewer":
                    self.assertIn("dentist is on friday", results(running.request(3))[0])
                self.assertIn(found, results(running.request(4))[0])

    # Beyond the documents: the user's own conversation is not outside text; searching it shows it.
    def test_history_search_in_main_shows_what_the_user_said(self):
        script = [say("Noted."), call("Bash", {"command": "ollim-bot history search dentist"}), say("On Friday.")]
        with Running(script) as running:
            running.chat("the dentist is on friday")
            running.chat("when was that?")
            (shown,) = results(running.requests()[-1])
            self.assertIn("dentist", shown)
            self.assertIn("on friday", shown)

    # Beyond the documents: `why` explains which outside text a decision followed, with its source.
    def test_why_explains_which_text_from_outside_a_decision_was_made_after(self):
        script = [call("Read", {"file_path": "outside/letter.txt"}), say("A letter.")]
        script += [call("inbox_add", {"text": "meter"}), say("Kept.")]
        with Running(script, files={"outside/letter.txt": "Please send us the meter reading.\n"}) as running:
            running.chat("read the letter")
            self.assertNotIn("text from outside", running.cli("why"))
            running.chat("keep meter for later")
            told = running.cli("why")
            self.assertRegex(told, r"text from outside was in the conversation: files since \d{4}-\d\d-\d\d")
            self.assertRegex(told, r"inbox_add \([a-z-]+, after text from files\)")

    # Beyond the documents: the banner names the model in use, also one that was chosen before the start.
    def test_the_banner_names_the_model_in_use(self):
        with Running([say("Hello."), say("Again.")]) as running:
            running.chat("hi")
            running.chat("/model haiku")
            running.restart()
            running.chat("again")
            used = [body["model"] for body in running.requests()]
            self.assertNotEqual(used[0], used[1])
            banners = [line for line in running.log().splitlines() if "what you say goes to" in line]
            self.assertEqual([model in line for model, line in zip(used, banners, strict=True)], [True, True], banners)

    # Beyond the documents: a problem with a file is reported once, and not again at each start.
    def test_a_restart_does_not_repeat_the_notice_of_a_bad_file(self):
        with Running([], discord=True, files={"routines/bad.md": "---\nid: bad\n---\nLook.\n"}) as running:
            running.discord.hears("routines/bad.md can't be used")
            running.restart()
            # When the next file is reported, the first one has been checked again.
            running.write("routines/worse.md", "---\nid: worse\n---\nLook.\n")
            running.discord.hears("routines/worse.md can't be used")
            shown = [running.discord.shown(message) for message in running.discord.bot_messages()]
            self.assertEqual(sum("routines/bad.md" in text for text in shown), 1, shown)

    # 003 and 004: the session id is a plain string that survives a restart, and the conversation with it.
    def test_the_conversation_goes_on_after_a_restart_and_after_a_crash(self):
        with Running([say("Hello."), say("214."), say("Still 214.")], discord=True) as running:
            self.talks(running, "my locker is 214", "Hello.")
            session = running.current() and running.session()
            self.assertRegex(session, r"\A[0-9a-f-]{36}\n?\Z")
            event = running.event("created")
            self.assertEqual(set(event), {"session_id", "event", "timestamp", "parent_session_id"})
            self.assertEqual(
                (event["event"], event["session_id"], event["parent_session_id"]), ("created", session.strip(), None)
            )
            self.assertIsNotNone(datetime.datetime.fromisoformat(event["timestamp"]).utcoffset())
            running.restart()
            self.talks(running, "which locker?", "214.")
            self.assertIn("my locker is 214", whole(running.request(1)))
            running.restart(kind=9)
            self.talks(running, "again?", "Still 214.")
            self.assertIn_order(whole(running.request(2)), "my locker is 214", "which locker?", "again?")
            self.assertEqual(running.session(), session)
            self.assertEqual(len(running.events()), 1)

    # 004: a missing, empty or `{` file is no session: a fresh conversation and a `created` event.
    def test_a_session_file_that_is_gone_or_unreadable_starts_a_fresh_conversation(self):
        for state in (None, "", "{", '{"session_id": "x"}'):
            for while_running in (True, False):
                with (
                    self.subTest(state=state, while_running=while_running),
                    Running([say("Hello."), say("Fresh.")]) as running,
                ):
                    running.chat("my locker is 214")
                    before = running.current()
                    if not while_running:
                        running.stop()
                    change = self.removing if state is None else self.replacing
                    if while_running:
                        running.noticed(lambda: change(running, state))
                    else:
                        change(running, state)
                        running.start()
                    running.chat("hello?")
                    self.assertIn("state/sessions.json was removed or emptied: a new session begins.", running.log())
                    self.assertNotIn("214", whole(running.request(1)))
                    running.until(lambda: len(running.events("created")) == 2, "a second created event")
                    old, new = (event["session_id"] for event in running.events("created"))
                    self.assertEqual(old, before)
                    running.becomes(new)

    @staticmethod
    def removing(running, _):
        (running.home / "state/sessions.json").unlink()

    @staticmethod
    def replacing(running, text):
        running.write("state/sessions.json", text)

    # 003 and 004: manual compaction with guidance; statistics; the event with its parent; one atomic write.
    def test_compact_sums_up_with_guidance_and_tells_what_it_did(self):
        script = [say("Hello."), say("Noted."), say(SUMMARY), say("214.")]
        with Running(script, discord=True) as running:
            self.talks(running, "hi", "Hello.")
            self.talks(running, "my locker is 214, and my cat is called Momo", "Noted.")
            before = running.current()
            # A hard link keeps the old content only if the file is replaced and not written in
            # place.
            (running.folder / "old").hardlink_to(running.home / "state/sessions.json")
            running.discord.slash("compact", instructions="keep the locker number")
            running.until(lambda: running.events("compacted"), "compaction")
            self.assertIn("keep the locker number", last_user(running.request(2)))
            event = running.event("compacted")
            self.assertEqual(event["parent_session_id"], before)
            self.assertNotEqual(event["session_id"], before)
            running.becomes(event["session_id"])
            self.assertEqual((running.folder / "old").read_text().strip(), before)
            told = running.discord.hears("tokens")
            self.assertRegex(running.discord.shown(told), r"2 turns.*(<|\d).*tokens")
            self.talks(running, "which locker?", "214.")
            after = whole(running.request(3))
            self.assertIn("number of the locker is 214", after)
            self.assertNotIn("Momo", after)

    # Beyond the documents: in a fork, `/compact` says which conversation it compacts, and the fork stays as it is.
    def test_compact_in_a_fork_says_that_it_compacts_the_main_conversation(self):
        script = [say("Hello."), say("Noted."), say("In the fork."), say(SUMMARY), say("Still the fork.")]
        with Running(script, discord=True) as running:
            self.talks(running, "hi", "Hello.")
            self.talks(running, "my locker is 214, and my cat is called Momo", "Noted.")
            running.discord.slash("fork", topic="lisbon")
            running.discord.hears("In the fork.")
            running.discord.slash("compact")
            running.discord.hears("compacting the main conversation")
            running.until(lambda: running.events("compacted"), "compaction")
            self.talks(running, "and the hotel?", "Still the fork.")
            self.assertIn_order(whole(running.request(4)), "Momo", "lisbon", "and the hotel?")

    # 003 and 004: automatic compaction when the context grows too large; the session id changes and it is logged.
    def test_a_long_conversation_is_compacted_by_itself(self):
        filler = "The prices of bread and milk on that day are written here again and again. " * 1200
        # Which request asks for the summary is the program's choice, so every answer could be one.
        with Running([say(SUMMARY)] * 40, environment={"OLLIM_MODEL": "anthropic:claude-haiku-4-5"}) as running:
            before = None
            for number in range(15):
                done = running.tried("chat", "--once", given=f"{number} {filler}")
                self.assertEqual(done.returncode, 0, done.stderr[-2000:])
                before = before or running.current()
                if running.events("compacted"):
                    break
            event = running.until(lambda: running.events("compacted"), "automatic compaction")[0]
            self.assertEqual(event["parent_session_id"], before)
            running.becomes(event["session_id"])
            running.chat("which locker?")
            after = whole(running.requests()[-1])
            self.assertIn("number of the locker is 214", after)
            self.assertLess(len(after), 2 * len(filler))

    # 003 and 004: `/clear`: an open fork is left, the event is logged, the id deleted, the conversation starts over.
    def test_clear_leaves_the_fork_and_starts_over(self):
        script = [say("Hello."), say("In the fork."), say("Fresh.")]
        with Running(script, discord=True) as running:
            self.talks(running, "my locker is 214", "Hello.")
            before = running.current()
            running.discord.slash("fork", topic="lisbon")
            running.discord.hears("In the fork.")
            asked = running.discord.slash("clear")
            self.finishes(running, asked)
            running.discord.click(asked.response._message, "Clear")
            running.until(lambda: running.events("cleared"), "the cleared event")
            event = running.event("cleared")
            self.assertEqual(event["session_id"], before)
            running.until(lambda: running.session() is None, "the session id to be deleted")
            self.assertEqual(running.updates(), [])
            self.talks(running, "hello?", "Fresh.")
            fresh = running.request(2)
            self.assertNotIn("214", whole(fresh))
            self.assertNotIn("lisbon", whole(fresh))
            self.assertNotEqual(running.current(), before)
            self.assertEqual(
                [one["event"] for one in running.events()], ["created", "interactive_fork", "cleared", "created"]
            )


    # 004: `/clear` interrupts the answer that goes on, and the next message begins fresh.
    def test_clear_interrupts_the_answer_that_goes_on(self):
        script = [say("Hello."), {"say": "slow", "fault": {"kind": "stall", "at": 0}}, say("Fresh.")]
        with Running(script, discord=True) as running:
            self.talks(running, "my locker is 214", "Hello.")
            before = running.current()
            running.discord.say("think hard")
            running.request(1)
            asked = running.discord.slash("clear")
            self.finishes(running, asked)
            running.discord.click(asked.response._message, "Clear")
            running.until(lambda: running.events("cleared"), "the cleared event")
            self.assertEqual(running.event("cleared")["session_id"], before)
            self.assertIn("nothing is running", running.tried("chat", "--once", "/stop").stderr)
            self.talks(running, "hello?", "Fresh.")
            fresh = whole(running.request(2))
            self.assertNotIn("214", fresh)
            self.assertNotIn("think hard", fresh)


class Forks(Seeds):
    """Seeds 002, 003 and 004: interactive forks."""

    # 003: forks keep the primary context clean; discard; 004: the event of an interactive fork and its parent.
    def test_a_fork_knows_main_and_leaves_nothing_behind_when_discarded(self):
        script = [say("Hello."), say("In the fork."), say("More fork."), say("Back in main.")]
        with Running(script, discord=True) as running:
            self.talks(running, "my locker is 214", "Hello.")
            session = running.current()
            running.discord.slash("fork", topic="lisbon")
            running.discord.hears("In the fork.")
            self.assertIn("my locker is 214", whole(running.request(1)))
            self.talks(running, "and the hotel?", "More fork.")
            event = running.event("interactive_fork")
            self.assertEqual(event["parent_session_id"], session)
            self.assertNotEqual(event["session_id"], session)
            self.assertEqual(running.current(), session)
            self.finishes(running, running.discord.slash("exit"))
            self.ends_fork(running)
            self.assertEqual(running.updates(), [])
            self.talks(running, "back", "Back in main.")
            for word in ("lisbon", "hotel", "fork."):
                self.assertNotIn(word, whole(running.request(3)))

    # 003: save to the main session; 004: the `swapped` event and no `compacted` beside it.
    def test_a_saved_fork_becomes_the_main_session(self):
        for way in ("command", "tool"):
            script = [say("Hello."), say("In the fork.")]
            if way == "tool":
                script += [say("Hotel noted."), call("save_context", {}), say("Saved.")]
            else:
                script += [say("Hotel noted.")]
            script += [say("Hotel Lisboa.")]
            with self.subTest(way), Running(script, discord=True) as running:
                self.talks(running, "my locker is 214", "Hello.")
                before = running.current()
                running.discord.slash("fork", topic="lisbon")
                running.discord.hears("In the fork.")
                self.talks(running, "the hotel is Lisboa", "Hotel noted.")
                if way == "tool":
                    running.discord.say("save this")
                else:
                    running.discord.slash("save")
                running.until(lambda: running.events("swapped"), "the swapped event")
                event = running.event("swapped")
                running.becomes(event["session_id"])
                self.assertEqual(event["parent_session_id"], before)
                self.assertNotEqual(event["session_id"], before)
                self.assertEqual(running.events("compacted"), [])
                self.assertEqual(len(running.events("created")), 1)
                self.ends_fork(running)
                self.talks(running, "which hotel?", "Hotel Lisboa.")
                self.assertIn_order(
                    whole(running.requests()[-1]), "my locker is 214", "the hotel is Lisboa", "which hotel?"
                )

    # 002 and 003: the agent's own fork tools: enter, report a summary, exit without a trace.
    def test_the_model_enters_a_fork_and_reports_a_summary(self):
        script = [
            call("enter_fork", {"topic": "lisbon"}),
            say("In the fork."),
            call("report_updates", {"message": "The hotel is Lisboa."}),
            say("Reported."),
            say("Hotel Lisboa."),
        ]
        with Running(script, discord=True) as running:
            self.talks(running, "plan lisbon aside", "In the fork.")
            event = running.event("interactive_fork")
            self.assertEqual(event["parent_session_id"], running.current())
            running.discord.say("the hotel is Lisboa, report that")
            running.until(lambda: running.updates(), "the update of the fork")
            self.assertEqual([update["message"] for update in running.updates()], ["The hotel is Lisboa."])
            self.ends_fork(running)
            self.talks(running, "which hotel?", "Hotel Lisboa.")
            asked = running.requests()[-1]
            self.assertIn_order(last_user(asked), "The hotel is Lisboa.", "which hotel?")
            self.assertNotIn("the hotel is Lisboa, report that", whole(asked))

    def test_the_model_leaves_a_fork_without_a_trace(self):
        script = [say("Hello."), say("In the fork."), call("exit_fork", {}), say("Bye."), say("Back.")]
        with Running(script, discord=True) as running:
            self.talks(running, "hi", "Hello.")
            running.discord.slash("fork", topic="lisbon")
            running.discord.hears("In the fork.")
            running.discord.say("drop it")
            self.ends_fork(running)
            self.talks(running, "back in main", "Back.")
            asked = running.requests()[-1]
            for word in ("lisbon", "drop it"):
                self.assertNotIn(word, whole(asked))
            self.assertEqual(running.updates(), [])

    # 003: forks end by themselves when nothing is said. The shortest time that can be set is a minute.
    def test_a_quiet_fork_is_named_and_the_prompt_promises_nothing_else(self):
        script = [say("Hello."), say("In the fork.")]
        with Running(script, discord=True, settings={"fork_idle_timeout": "1"}) as running:
            self.talks(running, "hi", "Hello.")
            self.assertNotIn("[fork-timeout]", str(running.request(0)))
            running.discord.slash("fork", topic="lisbon")
            running.discord.hears("In the fork.")

            def is_named():
                shown = [running.discord.shown(message) for message in running.discord.bot_messages()]
                return any(re.search(r"(?i)quiet|idle", text) for text in shown)

            running.until(is_named, "a note that the fork is quiet", patience=150)

    # 003: what a fork read and then saved appears once.
    def test_an_update_that_a_saved_fork_read_appears_once_in_main(self):
        script = [
            say("Hello."),
            call("report_updates", {"message": "Ann wrote about Friday."}),
            say("done"),
            say("In the fork."),
            say("More fork."),
            say("Back in main."),
        ]
        with Running(script, discord=True, files={"routines/mail.md": aside("a1b2c3d4")}) as running:
            self.talks(running, "hi", "Hello.")
            self.fires(running, "a1b2c3d4")
            running.discord.slash("fork", topic="lisbon")
            running.discord.hears("In the fork.")
            self.talks(running, "go on", "More fork.")
            running.discord.slash("save")
            running.until(lambda: running.events("swapped"), "the swapped event")
            self.ends_fork(running)
            self.talks(running, "now?", "Back in main.")
            self.assertEqual(whole(running.request(5)).count("Ann wrote about Friday"), 1)


class Approvals(Seeds):
    """Beyond the documents: asking is cheap, and holds up nothing."""

    SETTINGS = {"permission_mode": "default"}

    def asks(self, running):
        """Waits for the card of two calls."""
        running.cli("inbox", "add", "milk")
        running.cli("inbox", "add", "tea")
        running.discord.say("drop both")
        return running.discord.hears("Yes to all")

    REMOVES = call("inbox_remove", {"number": 1}, "inbox_remove", {"number": 2})

    def test_the_calls_of_one_step_are_one_card_and_need_one_tap(self):
        with Running([self.REMOVES, say("Both gone.")], discord=True, settings=self.SETTINGS) as running:
            card = self.asks(running)
            cards = [one for one in running.discord.bot_messages() if "may i run" in running.discord.shown(one)]
            self.assertEqual(len(cards), 1)
            self.assertEqual(running.discord.shown(card).count('"number"'), 2, running.discord.shown(card))
            running.discord.click(card, "Yes to all")
            running.discord.hears("Both gone.")
            self.assertEqual(len(results(running.request(1))), 2)
            self.assertNotIn("milk", running.cli("inbox"))

    def test_an_open_card_holds_up_neither_messages_nor_reminders_nor_runs(self):
        script = [self.REMOVES, say("Hello again."), say("looked"), say("The fern is thirsty.")]
        # A later approval is valid for the same calls, which the model is told to make again.
        script += [self.REMOVES, say("Both gone."), say("Both gone.")]
        files = {"routines/a.md": aside("a1b2c3d4", "Look around.")}
        with Running(script, discord=True, settings=self.SETTINGS, files=files) as running:
            card = self.asks(running)
            # The next message is answered, a run runs, and a reminder fires, all while the card is
            # open.
            self.talks(running, "hello?", "Hello again.")
            self.fires(running, "a1b2c3d4")
            running.cli("add", "water the fern in 1 min")
            # The model's wording may already have replaced the user's text.
            shown = lambda: running.discord.find("water the fern") or running.discord.find("The fern is thirsty.")
            running.until(shown, "the reminder", patience=180)
            self.assertIn("tea", running.cli("inbox"))
            # The card can still be answered.
            running.discord.click(card, "Yes to all")
            running.until(lambda: "tea" not in running.cli("inbox"), "both to be removed")


# A public address that is routed to this machine inside a separate network namespace.
PUBLIC = "93.184.215.14"
INSIDE = "OLLIM_TEST_NAMESPACE"


class Page:
    """A web server for the paths in `pages`, on a public address inside the namespace; it counts visits."""

    def __init__(self, pages):
        self.pages, self.visits = pages, []

    def __enter__(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.visits.append(self.path)
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(outer.pages(outer.address).get(self.path, "nothing").encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((PUBLIC, 0), Handler)
        self.address = f"http://{PUBLIC}:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Web(Seeds):
    """Seed 003: web tools. The tests run again in a network namespace in which a public address is this machine."""

    def inside(self):
        """Whether this is the namespace; outside it, runs the test of the same name there."""
        if INSIDE in os.environ:
            return True
        prepared = f"ip link set lo up && ip addr add {PUBLIC}/32 dev lo"
        words = ["unshare", "--map-root-user", "--net", "sh", "-c"]
        try:
            able = subprocess.run([*words, prepared], capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            able = False
        if not able:
            self.skipTest("no network namespace can be made here")
        test = self.id().rsplit(".", 2)
        command = f'{prepared} && exec "$0" -m unittest test_seeds.{test[1]}.{test[2]}'
        environment = os.environ | {INSIDE: "1"}
        here = os.path.dirname(os.path.abspath(__file__))
        done = subprocess.run(
            [*words, command, sys.executable], env=environment, cwd=here, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return False

    # 003: pages that the user named, or that were seen, are fetched without an approval.
    def test_pages_that_were_named_or_seen_are_fetched_out_of_the_box(self):
        if not self.inside():
            return

        def pages(address):
            return {
                "/hours": f"<html><body><p>The office opens at nine. See {address}/more for more.</p></body></html>",
                "/more": "<html><body><p>On Sunday it is closed.</p></body></html>",
            }

        with Page(pages) as page:
            script = [
                call("WebFetch", {"url": f"{page.address}/hours", "prompt": "When does it open?"}),
                call("WebFetch", {"url": f"{page.address}/more", "prompt": "And on Sunday?"}),
                call("WebFetch", {"url": f"{page.address}/made-up?locker=214", "prompt": "x"}),
                say("At nine, not on Sunday."),
                # After a restart both addresses are still known, and the composed one is not.
                call("WebFetch", {"url": f"{page.address}/hours", "prompt": "Again?"}),
                call("WebFetch", {"url": f"{page.address}/more", "prompt": "Again?"}),
                call("WebFetch", {"url": f"{page.address}/made-up?locker=214", "prompt": "x"}),
                say("Still so."),
            ]
            with Running(script) as running:
                # The default mode asks for a composed address, and no user answers here.
                running.cli("config", "permission_mode", "dontAsk")
                running.chat(f"my locker is 214. when does {page.address}/hours say that the office opens?")
                answers = [results(body) for body in running.requests()]
                self.assertEqual(page.visits[:2], ["/hours", "/more"], answers)
                self.assertIn("The office opens at nine.", answers[1][0])
                self.assertIn("On Sunday it is closed.", answers[2][0])
                # A composed address could contain private data, so it is not fetched without an
                # approval.
                self.assertEqual(page.visits, ["/hours", "/more"])
                running.restart()
                running.chat("is that still so?")
                self.assertEqual(page.visits, ["/hours", "/more"] * 2)

    # 003: search works with only the key of the model's vendor.
    def test_web_search_uses_the_search_of_the_models_vendor(self):
        if not self.inside():
            return
        found = [
            {
                "type": "web_search_result",
                "url": "https://example.org/office",
                "title": "Office hours",
                "encrypted_content": "x",
                "page_age": None,
            }
        ]
        script = [
            call("WebSearch", {"query": "opening hours of the office"}),
            {
                "blocks": [
                    {
                        "raw": {
                            "type": "server_tool_use",
                            "id": "srvtoolu_1",
                            "name": "web_search",
                            "input": {"query": "opening hours of the office"},
                        }
                    },
                    {"raw": {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}},
                    {"text": "The office opens at nine."},
                ]
            },
            say("At nine."),
        ]
        with Running(script) as running:
            running.chat("search for the opening hours of the office")
            asked = [
                body
                for body in running.requests()
                if any((tool.get("type") or "").startswith("web_search") for tool in body.get("tools") or [])
            ]
            self.assertEqual(len(asked), 1, [results(body) for body in running.requests()])
            self.assertIn("https://example.org/office", results(running.requests()[-1])[0])


class Wire(Seeds):
    """simcord on the wire itself: a connection that breaks, and one whose session is gone."""

    def test_a_broken_connection_resumes_and_hears_what_it_missed(self):
        with Running([say("Hello."), say("Heard.")], discord=True) as running:
            self.talks(running, "hi", "Hello.")
            running.discord.drop()
            self.talks(running, "still there?", "Heard.")
            self.assertEqual((running.discord.identifies, running.discord.resumes), (1, 1))

    def test_a_session_that_is_gone_begins_anew(self):
        with Running([say("Hello."), say("Heard.")], discord=True) as running:
            self.talks(running, "hi", "Hello.")
            running.discord.forget()
            self.talks(running, "still there?", "Heard.")
            self.assertEqual(running.discord.identifies, 2)


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    unittest.main()
