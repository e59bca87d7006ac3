// A client on the official TypeScript SDK: starts the agent of its arguments, prompts once, prints the answer.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.env.ACCORD_TS_PEER, "program.js"));
const acp = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")));
const { methods } = acp;

const [program, ...words] = process.argv.slice(2);
const child = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
let text = "";
const app = acp
  .client({ name: "asking" })
  .onNotification(methods.client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === "agent_message_chunk") text += update.content.text;
  })
  .onRequest(methods.client.session.requestPermission, ({ params: { options } }) => ({
    outcome: { outcome: "selected", optionId: options[0].optionId },
  }));
await app.connectWith(stream, async (agent) => {
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
  const prompt = [{ type: "text", text: "hello" }];
  const { stopReason } = await agent.request(methods.agent.session.prompt, { sessionId, prompt });
  console.log(JSON.stringify({ stopReason, text }));
});
child.stdin.end();
