"""Two bots by others, with the libraries most bots are written with, on the played Discord."""

import os
import pathlib
import subprocess
import sys
import threading
import unittest

from played import BINS

HERE = pathlib.Path(__file__).parent
TOKEN = "played-token"


class Discord:
    """The played Discord, told what its owner does."""

    def __enter__(self):
        command = [BINS / "discord-server", "--token", TOKEN]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.api = self.process.stdout.readline().strip().split("=", 1)[1]
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def __call__(self, deed):
        self.process.stdin.write(deed + "\n")
        self.process.stdin.flush()
        told = []
        while (line := self.process.stdout.readline()) not in (".\n", ""):
            told.append(line)
        told = "".join(told).rstrip("\n")
        if told.startswith("! "):
            raise AssertionError(f"{deed}: {told[2:]}")
        return told


class Bot:
    """A bot of somebody else's; what it tells can be waited for."""

    def __init__(self, command, api):
        gateway = api.replace("http", "ws", 1).replace("/api/v10", "/gw")
        self.command = [*command, api, gateway, TOKEN]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.watchdog = threading.Timer(60, self.process.kill)
        self.watchdog.start()
        self.heard = []
        return self

    def __exit__(self, *_):
        self.watchdog.cancel()
        self.process.terminate()
        self.process.communicate()

    def tells(self, wanted):
        for line in self.process.stdout:
            self.heard.append(line)
            if wanted in line:
                return
        self.process.kill()
        raise AssertionError(f"the bot never told `{wanted}`; it told {self.heard} and {self.process.stderr.read()}")


class Script:
    """The same short day for every bot."""

    def test_a_short_day(self):
        with Discord() as discord, Bot(self.command, discord.api) as bot:
            bot.tells("ready as ollim")
            registered = [line for line in bot.heard if "registered" in line]
            self.assertEqual(registered, ["registered 2 commands for owner\n"])
            self.talks(discord)
            self.presses(discord, bot)
            self.uses_commands(discord)
            self.survives(discord, bot)
            ledger = discord("ledger")
            self.assertIn("1 identifies, 1 resumes, 0 breaches", ledger)

    def talks(self, discord):
        discord("type hello")
        discord("wait you said: hello!")
        said = discord("transcript")
        self.assertIn("  ╭ hello\nollim (edited once): you said: hello!", said)
        discord("react last 👍")
        discord("wait 👍 on hello")
        discord("type file")
        discord("wait file bot.py (itself)")

    def presses(self, discord, bot):
        discord("type card")
        bot.tells("sent a card")
        card = "    │ **Plants**\n    │ water them\n    [Done]\n    [Move to ▾ noon | night]"
        self.assertIn(card, discord("transcript"))
        clicked = discord("click last Done")
        self.assertEqual(discord(f"answer {clicked}"), "updated: it is done")
        discord("wait ollim (for them alone): well done")
        discord("type card")
        bot.tells("sent a card")
        discord("choose last move night")
        discord("wait ollim (silent): moved to night")

    def uses_commands(self, discord):
        self.assertEqual(discord("complete /greet name ol"), "ollim")
        discord("run /greet name=sam")
        discord("wait ollim: hello sam")
        self.assertIn("  ╭ owner used greet\n", discord("transcript"))
        asked = discord("run /ask")
        self.assertEqual(discord(f"answer {asked}"), "modal: Tell me")
        discord(f"submit {asked} reason=it rains")
        discord("wait ollim: because it rains")

    def survives(self, discord, bot):
        discord("limit 1")
        discord("type count")
        discord("wait number 2")
        self.assertIn("ollim: number 0\nollim: number 1\nollim: number 2", discord("transcript"))
        discord("drop")
        discord("type are you there?")
        bot.tells("resumed")
        discord("wait you said: are you there?!")


class Python(Script, unittest.TestCase):
    command = [sys.executable, HERE / "discord_bot.py"]


@unittest.skipUnless("OLLIM_NODE_MODULES" in os.environ, "discord.js is not installed")
class JavaScript(Script, unittest.TestCase):
    command = ["node", HERE / "discord_bot.mjs"]
