// A client on the official TypeScript SDK, of the edition in ACCORD_EDITION: starts the agent that the arguments name,
// and says what it is told to. Everything is allowed; files and terminals are the agent's own.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const { ACCORD_TS_PEER, ACCORD_EDITION, ACCORD_PROJECT, ACCORD_PROMPTS } = process.env;
const entry = { 1: "@agentclientprotocol/sdk", 2: "@agentclientprotocol/sdk/experimental/v2" }[ACCORD_EDITION];
const require = createRequire(join(ACCORD_TS_PEER, "program.js"));
const acp = await import(pathToFileURL(require.resolve(entry)));
const { agent, client } = acp.methods;

const updates = [];
const asked = [];
const stops = [];
let idle = () => {};

const app = acp
  .client({ name: "ts-client" })
  .onNotification(client.session.update, ({ params: { update } }) => {
    updates.push(update);
    if (update.sessionUpdate === "state_update" && update.state === "idle") idle(update.stopReason);
  })
  .onRequest(client.session.requestPermission, ({ params }) => {
    asked.push((params.toolCall ?? params.subject?.toolCall ?? params).title ?? params.subject?.command ?? null);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  });

const who = { name: "ts-client", version: "1" };
const hello =
  ACCORD_EDITION === "1"
    ? { protocolVersion: 1, clientInfo: who, clientCapabilities: {} }
    : { protocolVersion: 2, info: who, capabilities: {} };

const [program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => child.once("exit", resolve));
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
await app.connectWith(stream, async (ctx) => {
  await ctx.request(agent.initialize, hello);
  const { sessionId } = await ctx.request(agent.session.new, { cwd: ACCORD_PROJECT, mcpServers: [] });
  for (const text of JSON.parse(ACCORD_PROMPTS)) {
    if (typeof text !== "string") {
      const typed = ACCORD_EDITION === "1" ? {} : { type: "id" };
      const { option: configId, value } = text;
      await ctx.request(agent.session.setConfigOption, { sessionId, configId, value, ...typed });
      continue;
    }
    const over = new Promise((resolve) => (idle = resolve));
    const answer = await ctx.request(agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    stops.push(answer.stopReason ?? (await over));
  }
});
child.stdin.end();
const code = await ended;
process.stdout.write(JSON.stringify({ updates, asked, stops, code }) + "\n");
