"""Our MCP server, spoken to by the protocol's own client."""

import asyncio
import os
import tempfile
import unittest

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from played import BINS


class Lent(unittest.TestCase):
    def test_another_agent_keeps_lists_and_searches(self):
        asyncio.run(self.talk())

    async def talk(self):
        with tempfile.TemporaryDirectory() as data:
            environment = {"OLLIM_DATA_DIR": data, "OLLIM_MODEL": "offline", "OLLIM_TIMEZONE": "UTC", "HOME": data,
                           "PATH": os.environ["PATH"]}
            server = StdioServerParameters(command=str((BINS / "ollim-bot").resolve()), args=["mcp"], env=environment)
            async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
                hello = await session.initialize()
                self.assertEqual(hello.server_info.name, "ollim-bot")
                names = [tool.name for tool in (await session.list_tools()).tools]
                self.assertEqual(names, ["capture", "today", "inbox", "reminders", "tasks_list", "tasks_add", "calendar",
                                         "history_search"])
                kept = await session.call_tool("capture", {"text": "buy milk"})
                self.assertFalse(kept.is_error)
                self.assertIn("buy milk", kept.content[0].text)
                self.assertIn("buy milk", (await session.call_tool("inbox", {})).content[0].text)
                await session.call_tool("capture", {"text": "call the dentist tomorrow at 10"})
                reminders = await session.call_tool("reminders", {})
                self.assertIn("call the dentist", reminders.content[0].text)
                wrong = await session.call_tool("capture", {"text": "-"})
                self.assertTrue(wrong.is_error)
                await session.send_ping()


if __name__ == "__main__":
    unittest.main()
