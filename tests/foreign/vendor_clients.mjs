// A tool loop of two steps with the vendors' own TypeScript clients. Arguments: the API (messages,
// chat or responses) and the address of a fake server. Prints the parsed answers as one line of
// JSON. The packages are found through OLLIM_NODE_MODULES.

import { createRequire } from "node:module";

const require = createRequire(`${process.env.OLLIM_NODE_MODULES}/`);
const [api, url] = process.argv.slice(2);
if (new URL(url).hostname !== "127.0.0.1") throw new Error(`${url} is not on this machine`);

const parameters = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const asked = "note two things";
const options = { apiKey: "sk-test", baseURL: url, maxRetries: 0 };
const texts = (calls) => calls.map((call) => JSON.parse(call).text);

async function messages() {
  const { Anthropic } = require("@anthropic-ai/sdk");
  const vendor = new Anthropic(options);
  const base = {
    model: "claude-test",
    max_tokens: 4096,
    tools: [{ name: "note", description: "Writes a note.", input_schema: parameters }],
  };
  const said = [{ role: "user", content: asked }];
  const first = await vendor.messages.stream({ ...base, messages: said }).finalMessage();
  const calls = first.content.filter((block) => block.type === "tool_use");
  const results = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: "kept" }));
  said.push({ role: "assistant", content: first.content }, { role: "user", content: results });
  const second = await vendor.messages.stream({ ...base, messages: said }).finalMessage();
  return {
    words: [first, second].map((reply) => reply.content.filter((block) => block.type === "text").map((block) => block.text)),
    calls: calls.map((call) => call.input.text),
    stops: [first.stop_reason, second.stop_reason],
    read: second.usage.input_tokens + second.usage.cache_read_input_tokens > 0,
  };
}

async function chat() {
  const { OpenAI } = require("openai");
  const vendor = new OpenAI(options);
  const base = {
    model: "test-1",
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: "function", function: { name: "note", parameters } }],
  };
  const said = [{ role: "user", content: asked }];
  const first = await vendor.chat.completions.stream({ ...base, messages: said }).finalChatCompletion();
  const message = first.choices[0].message;
  const calls = message.tool_calls;
  said.push({
    role: "assistant",
    content: message.content,
    tool_calls: calls.map(({ id, type, function: { name, arguments: input } }) => ({
      id, type, function: { name, arguments: input },
    })),
  });
  said.push(...calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: "kept" })));
  const second = await vendor.chat.completions.stream({ ...base, messages: said }).finalChatCompletion();
  return {
    words: [[message.content], [second.choices[0].message.content]],
    calls: texts(calls.map((call) => call.function.arguments)),
    stops: [first.choices[0].finish_reason, second.choices[0].finish_reason],
    read: second.usage.prompt_tokens > 0,
  };
}

async function responses() {
  const { OpenAI } = require("openai");
  const vendor = new OpenAI(options);
  const base = {
    model: "test-1",
    store: false,
    include: ["reasoning.encrypted_content"],
    tools: [{ type: "function", name: "note", parameters, strict: false }],
  };
  const input = [{ role: "user", content: asked }];
  const first = await vendor.responses.stream({ ...base, input }).finalResponse();
  const calls = first.output.filter((item) => item.type === "function_call");
  // The stream helper adds parsed fields; the server only accepts the fields that it sent.
  input.push(...first.output.map(({ parsed_arguments, ...item }) =>
    item.content ? { ...item, content: item.content.map(({ parsed, ...part }) => part) } : item));
  input.push(...calls.map((call) => ({ type: "function_call_output", call_id: call.call_id, output: "kept" })));
  const second = await vendor.responses.stream({ ...base, input }).finalResponse();
  return {
    words: [[first.output_text], [second.output_text]],
    calls: texts(calls.map((call) => call.arguments)),
    stops: [first.status, second.status],
    read: second.usage.input_tokens > 0,
  };
}

console.log(JSON.stringify(await { messages, chat, responses }[api]()));
