// A small bot with discord.js, which implements Discord's protocol independently of us. Arguments:
// the address of the API, the address of the gateway (unused, because the API returns it), the
// token. The packages are found through OLLIM_NODE_MODULES.

import { createRequire } from "node:module";

const require = createRequire(`${process.env.OLLIM_NODE_MODULES}/`);
const {
  ActionRowBuilder, ApplicationCommandOptionType, ButtonBuilder, ButtonStyle, Client, EmbedBuilder, Events,
  GatewayIntentBits, MessageFlags, ModalBuilder, Partials, StringSelectMenuBuilder, TextInputBuilder, TextInputStyle,
} = require("discord.js");

const [api, , token] = process.argv.slice(2);
if (new URL(api).hostname !== "127.0.0.1") throw new Error(`${api} is not on this machine`);
const tell = (what) => console.log(what);

const client = new Client({
  intents: [GatewayIntentBits.DirectMessages, GatewayIntentBits.DirectMessageReactions],
  partials: [Partials.Channel, Partials.Message, Partials.Reaction],
  rest: { api: api.replace(/\/v10$/, "") },
});

const commands = [
  {
    name: "greet", description: "says hello",
    options: [
      { type: ApplicationCommandOptionType.String, name: "name", description: "whose", required: true, autocomplete: true },
    ],
  },
  { name: "ask", description: "asks why" },
];

function card() {
  const done = new ButtonBuilder().setCustomId("done").setLabel("Done").setStyle(ButtonStyle.Primary);
  const when = ["noon", "night"].map((label) => ({ label, value: label }));
  const move = new StringSelectMenuBuilder().setCustomId("move").setPlaceholder("Move to").addOptions(when);
  return {
    content: "a card",
    embeds: [new EmbedBuilder().setTitle("Plants").setDescription("water them")],
    components: [done, move].map((one) => new ActionRowBuilder().addComponents(one)),
  };
}

function why() {
  const reason = new TextInputBuilder().setCustomId("reason").setLabel("why?").setStyle(TextInputStyle.Short);
  return new ModalBuilder().setCustomId("why").setTitle("Tell me").addComponents(new ActionRowBuilder().addComponents(reason));
}

client.once(Events.ClientReady, async () => {
  const application = await client.application.fetch();
  const registered = await client.application.commands.set(commands);
  tell(`registered ${registered.size} commands for ${application.owner.username}`);
  tell(`ready as ${client.user.username}`);
});

client.on(Events.ShardResume, () => tell("resumed"));

client.on(Events.MessageCreate, async (message) => {
  if (message.author.id === client.user.id) return;
  if (message.content === "card") {
    await message.channel.send(card());
    tell("sent a card");
  } else if (message.content.startsWith("count")) {
    for (let number = 0; number < 3; number++) {
      await message.channel.send({ content: `number ${number}`, nonce: String(number), enforceNonce: true });
    }
  } else if (message.content === "file") {
    await message.channel.send({ files: [{ attachment: import.meta.filename, name: "bot.py", description: "itself" }] });
  } else {
    const eyes = await message.react("👀");
    await message.channel.sendTyping();
    const reply = await message.reply(`you said ${message.content}`);
    await reply.edit(`you said: ${message.content}!`);
    await eyes.users.remove(client.user.id);
  }
});

client.on(Events.MessageReactionAdd, async (reaction, user) => {
  if (user.id === client.user.id) return;
  const channel = await (await client.users.fetch(user.id)).createDM();
  const first = (await channel.messages.fetch({ limit: 100 })).last();
  await channel.send(`${reaction.emoji.name} on ${first.content}`);
});

client.on(Events.InteractionCreate, async (interaction) => {
  if (interaction.isAutocomplete()) {
    const typed = interaction.options.getFocused();
    await interaction.respond([{ name: `${typed}lim`, value: `${typed}lim` }]);
  } else if (interaction.isChatInputCommand() && interaction.commandName === "greet") {
    await interaction.deferReply();
    await interaction.editReply(`hello ${interaction.options.getString("name")}`);
  } else if (interaction.isChatInputCommand()) {
    await interaction.showModal(why());
  } else if (interaction.isModalSubmit()) {
    await interaction.reply(`because ${interaction.fields.getTextInputValue("reason")}`);
  } else if (interaction.isButton()) {
    await interaction.update({ content: "it is done", components: [] });
    await interaction.followUp({ content: "well done", flags: MessageFlags.Ephemeral });
  } else if (interaction.isStringSelectMenu()) {
    await interaction.reply({ content: `moved to ${interaction.values[0]}`, flags: MessageFlags.SuppressNotifications });
  }
});

await client.login(token);
