"""A small bot by discord.py, which knows the wire better than we do. Its arguments: the API's address, the gateway's, the token."""

import asyncio
import sys

import discord
import yarl
from discord import app_commands

API, GATEWAY, TOKEN = sys.argv[1:]
for address in (API, GATEWAY):
    assert yarl.URL(address).host == "127.0.0.1", f"{address} is not on this machine"
discord.http.Route.BASE = API
discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(GATEWAY)


def tell(what):
    print(what, flush=True)


class Card(discord.ui.View):
    """An embed's button, and a menu."""

    @discord.ui.button(label="Done", custom_id="done")
    async def done(self, interaction, button):
        await interaction.response.edit_message(content="it is done", view=None)
        await interaction.followup.send("well done", ephemeral=True)

    @discord.ui.select(
        custom_id="move", placeholder="Move to", options=[discord.SelectOption(label=when) for when in ("noon", "night")]
    )
    async def move(self, interaction, menu):
        await interaction.response.send_message(f"moved to {menu.values[0]}", silent=True)


class Why(discord.ui.Modal, title="Tell me"):
    reason = discord.ui.TextInput(label="why?", custom_id="reason")

    async def on_submit(self, interaction):
        await interaction.response.send_message(f"because {self.reason.value}")


class Bot(discord.Client):
    def __init__(self):
        super().__init__(intents=discord.Intents(dm_messages=True, dm_reactions=True))
        self.tree = app_commands.CommandTree(self)

    async def setup_hook(self):
        @self.tree.command(description="says hello")
        async def greet(interaction, name: str):
            await interaction.response.defer(thinking=True)
            await interaction.followup.send(f"hello {name}")

        @greet.autocomplete("name")
        async def names(interaction, typed: str):
            return [app_commands.Choice(name=f"{typed}lim", value=f"{typed}lim")]

        @self.tree.command(description="asks why")
        async def ask(interaction):
            await interaction.response.send_modal(Why())

        application = await self.application_info()
        registered = await self.tree.sync()
        tell(f"registered {len(registered)} commands for {application.owner.name}")

    async def on_ready(self):
        tell(f"ready as {self.user.name}")

    async def on_resumed(self):
        tell("resumed")

    async def on_message(self, message):
        if message.author == self.user:
            return
        if message.content == "card":
            embed = discord.Embed(title="Plants", description="water them")
            await message.channel.send("a card", embed=embed, view=Card())
            tell("sent a card")
        elif message.content.startswith("count"):
            for number in range(3):
                await message.channel.send(f"number {number}", nonce=str(number))
        elif message.content == "file":
            await message.channel.send(file=discord.File(__file__, filename="bot.py", description="itself"))
        else:
            await message.add_reaction("👀")
            async with message.channel.typing():
                reply = await message.reply(f"you said {message.content}")
            await reply.edit(content=f"you said: {message.content}!")
            await message.remove_reaction("👀", self.user)

    async def on_raw_reaction_add(self, payload):
        if payload.user_id != self.user.id:
            channel = await (await self.fetch_user(payload.user_id)).create_dm()
            first = [message async for message in channel.history(limit=100)][-1]
            await channel.send(f"{payload.emoji.name} on {first.content}")


async def main():
    async with Bot() as bot:
        await bot.start(TOKEN)


asyncio.run(main())
