"""Our MCP server, spoken to by the protocol's own client in both eras."""

import asyncio
import os
import tempfile
import unittest

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from played import BINS

TOOLS = ["capture", "today", "inbox", "reminders", "tasks_list", "tasks_add", "calendar", "history_search"]


class Lent(unittest.TestCase):
    def test_a_client_of_the_modern_era_keeps_lists_and_searches(self):
        self.assertEqual(asyncio.run(self.talk("2026-07-28")), "2026-07-28")

    def test_a_client_that_chooses_the_era_chooses_the_modern_one(self):
        self.assertEqual(asyncio.run(self.talk("auto")), "2026-07-28")

    def test_a_client_of_the_handshake_era_keeps_lists_and_searches(self):
        self.assertEqual(asyncio.run(self.talk("legacy")), "2025-11-25")

    async def talk(self, mode):
        with tempfile.TemporaryDirectory() as data:
            environment = {"OLLIM_DATA_DIR": data, "OLLIM_MODEL": "offline", "OLLIM_TIMEZONE": "UTC", "HOME": data,
                           "PATH": os.environ["PATH"]}
            server = StdioServerParameters(command=str((BINS / "ollim-bot").resolve()), args=["mcp"], env=environment)
            async with Client(stdio_client(server), mode=mode) as client:
                self.assertEqual([tool.name for tool in (await client.list_tools()).tools], TOOLS)
                kept = await client.call_tool("capture", {"text": "buy milk"})
                self.assertFalse(kept.is_error)
                self.assertIn("buy milk", kept.content[0].text)
                self.assertIn("buy milk", (await client.call_tool("inbox", {})).content[0].text)
                await client.call_tool("capture", {"text": "call the dentist tomorrow at 10"})
                reminders = await client.call_tool("reminders", {})
                self.assertIn("call the dentist", reminders.content[0].text)
                wrong = await client.call_tool("capture", {"text": "-"})
                self.assertTrue(wrong.is_error)
                return client.protocol_version


if __name__ == "__main__":
    unittest.main()
