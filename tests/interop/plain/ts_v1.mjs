// The plainest agent on the official TypeScript SDK, v1: repeats the prompt; "Count…" goes on until it is cancelled.
import { isAbsolute } from "node:path";

import { loadSdk, speak } from "../peers/sdk.mjs";

const acp = await loadSdk("v1");
const { methods, RequestError } = acp;
const turns = new Map();

const prompt = async ({ params, client, signal }) => {
  const { sessionId } = params;
  if (!turns.has(sessionId)) throw RequestError.sessionNotFound(sessionId);
  const words = params.prompt.map((block) => block.text ?? "").join("");
  const content = { type: "text", text: `You said: ${words}` };
  await client.notify(methods.client.session.update, {
    sessionId,
    update: { sessionUpdate: "agent_message_chunk", content },
  });
  if (!words.startsWith("Count")) return { stopReason: "end_turn" };
  await new Promise((resolve) => {
    turns.get(sessionId).add(resolve);
    signal.addEventListener("abort", resolve, { once: true });
  });
  return { stopReason: "cancelled" };
};

const app = acp
  .agent({ name: "plain-ts-v1" })
  .onRequest(methods.agent.initialize, ({ params }) => ({
    protocolVersion: Math.min(params.protocolVersion, 1),
    agentCapabilities: {},
    agentInfo: { name: "plain-ts-v1", version: "1" },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    if (!isAbsolute(params.cwd)) throw RequestError.invalidParams({ field: "cwd" });
    const sessionId = `session-${turns.size + 1}`;
    turns.set(sessionId, new Set());
    return { sessionId };
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => {
    for (const cancel of turns.get(params.sessionId) ?? []) cancel();
    turns.get(params.sessionId)?.clear();
  })
  .onRequest(methods.agent.session.prompt, prompt);
await speak(acp, app);
