// The agent on the official TypeScript SDK, by its public API; with `--serve` over WebSocket and HTTP on a port it prints.
import { createServer } from "node:http";
import { Readable, Writable } from "node:stream";
import acp, { load } from "./sdk.mjs";

const { methods } = acp;
let sessions = 0;

const stream = async (client, sessionId, count, size) => {
  const padding = "x".repeat(size - 9);
  for (let number = 0; number < count; number++) {
    const text = `${String(number).padStart(8, "0")} ${padding}`;
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
    await client.notify(methods.client.session.update, { sessionId, update });
  }
};

const read = async (client, sessionId, count, path, size) => {
  const latencies = [];
  for (let i = 0; i < count; i++) {
    const began = performance.now();
    const answer = await client.request(methods.client.fs.readTextFile, { sessionId, path });
    latencies.push((performance.now() - began) * 1e3);
    if (answer.content.length !== size) throw new Error("the file did not arrive whole");
  }
  return latencies;
};

const prompt = async ({ params, client }) => {
  const [first, ...others] = params.prompt;
  const command = JSON.parse(first.text);
  const meta = {};
  if (command.op === "stream") {
    await stream(client, params.sessionId, command.n, command.size);
  } else if (command.op === "read") {
    meta.lat_us = await read(client, params.sessionId, command.n, command.path, command.size);
  } else if (command.op === "noop") {
    meta.bytes = others.reduce((sum, block) => sum + block.data.length, 0);
  }
  return { stopReason: "end_turn", _meta: meta };
};

const app = acp
  .agent({ name: "bench-agent" })
  .onRequest(methods.agent.initialize, ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentCapabilities: {},
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: `s${++sessions}` }))
  .onRequest(methods.agent.session.setMode, () => ({}))
  .onRequest(methods.agent.session.prompt, prompt);

if (process.argv.includes("--serve")) {
  const { AcpServer } = await load("@agentclientprotocol/sdk/experimental/server");
  const node = await load("@agentclientprotocol/sdk/experimental/node");
  const { WebSocketServer } = (await load("ws")).default;
  const server = new AcpServer({ agent: app });
  const http = createServer(node.createNodeHttpHandler(server));
  http.on("upgrade", node.createNodeWebSocketUpgradeHandler(server, new WebSocketServer({ noServer: true })));
  http.listen({ port: 0, host: "127.0.0.1", backlog: 2048 }, () => console.log(http.address().port));
} else {
  app.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
}
