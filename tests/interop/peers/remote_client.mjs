// A client on the official TypeScript SDK over WebSocket or HTTP: two connections to one session; prints what it saw.
import { createRequire } from "node:module";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { loadSdk, text } from "./sdk.mjs";

const [, , edition, url, cwd] = process.argv;
const require = createRequire(join(process.env.ACCORD_TS_PEER, "program.js"));
const transport = await import(
  pathToFileURL(require.resolve(`@agentclientprotocol/sdk/experimental/${url.startsWith("ws") ? "ws" : "http"}-client`))
);
const acp = await loadSdk(edition);
const { methods } = acp;
const headers = { Authorization: `Bearer ${process.env.ACCORD_TEST_TOKEN}` };
const seen = [];
let onChunk = () => {};
let onIdle = () => {};

function stream() {
  if (url.startsWith("ws")) return transport.createWebSocketStream(url, { headers, WebSocket: require("ws").WebSocket });
  return transport.createHttpStream(url, { headers });
}

function app() {
  const client = acp
    .client({ name: "remote" })
    .onNotification(methods.client.session.update, ({ params }) => {
      const { update } = params;
      if (update.sessionUpdate === "agent_message_chunk") {
        seen.push(update.content.text);
        onChunk();
      }
      // A replay in v2 has whole messages.
      if (update.sessionUpdate === "agent_message") seen.push(...update.content.map((block) => block.text));
      if (update.sessionUpdate === "state_update" && update.stopReason) onIdle(update.stopReason);
    })
    .onRequest(methods.client.session.requestPermission, ({ params }) => ({
      outcome: { outcome: "selected", optionId: params.options[0].optionId },
    }));
  if (edition === "v1") {
    client.onRequest(methods.client.fs.readTextFile, ({ params }) => ({ content: readFileSync(params.path, "utf8") }));
  }
  return client;
}

const initialize =
  edition === "v1"
    ? { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } } }
    : { protocolVersion: 2, info: { name: "remote", version: "1" }, capabilities: {} };

async function prompt(ctx, sessionId, words) {
  const idle = new Promise((resolve) => (onIdle = resolve));
  const answer = await ctx.request(methods.agent.session.prompt, { sessionId, prompt: [text(words)] });
  return edition === "v1" ? answer.stopReason : idle;
}

const report = {};
let sessionId;
await app().connectWith(stream(), async (ctx) => {
  await ctx.request(methods.agent.initialize, initialize);
  ({ sessionId } = await ctx.request(methods.agent.session.new, { cwd, mcpServers: [] }));
  report.hello = await prompt(ctx, sessionId, "hello");
  report.ask = await prompt(ctx, sessionId, "ask");
  report.read = await prompt(ctx, sessionId, "read note.txt");
  // Awaited: the answer to the prompt may overtake that to the POST, and leaving would then abort it.
  let cancelling;
  onChunk = () => {
    onChunk = () => {};
    cancelling = ctx.notify(methods.agent.session.cancel, { sessionId });
  };
  report.cancelled = await prompt(ctx, sessionId, "wait");
  await cancelling;
});
report.first = seen.splice(0).join("");
await app().connectWith(stream(), async (ctx) => {
  await ctx.request(methods.agent.initialize, initialize);
  const { load, resume } = methods.agent.session;
  if (edition === "v1") await ctx.request(load, { sessionId, cwd, mcpServers: [] });
  else await ctx.request(resume, { sessionId, cwd, mcpServers: [], replayFrom: { type: "start" } });
  report.again = await prompt(ctx, sessionId, "again");
  await ctx.request(methods.agent.session.close, { sessionId });
  report.closed = true;
});
report.second = seen.join("");
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit(0);
