// The plainest agent on the official TypeScript SDK, v2: repeats the prompt; "Count…" goes on until it is cancelled.
import { isAbsolute } from "node:path";

import { loadSdk, speak } from "../peers/sdk.mjs";

const acp = await loadSdk("v2");
const { methods, RequestError } = acp;
const KNOWN_BLOCKS = ["text", "resource_link"];
const sessions = new Map();
let messages = 0;

class Session {
  history = [];
  isOpen = true;
  cancellations = 0;
  // Ends when all work that was there has ended; prompts wait for it in their order.
  foreground = Promise.resolve();
  working = false;
  stop = () => {};

  constructor(cwd) {
    this.cwd = cwd;
  }

  cancel() {
    this.cancellations += 1;
    this.stop();
  }
}

const find = (sessionId) => {
  const session = sessions.get(sessionId);
  if (!session) throw RequestError.sessionNotFound(sessionId);
  return session;
};
const say = (client, sessionId, update) => client.notify(methods.client.session.update, { sessionId, update });
const state = (client, sessionId, others) => say(client, sessionId, { sessionUpdate: "state_update", ...others });
const tell = (client, sessionId, update) => {
  sessions.get(sessionId).history.push(update);
  return say(client, sessionId, update);
};

const work = async (client, sessionId, prompt, messageId, stopped) => {
  const words = prompt.map((block) => block.text ?? "").join("");
  const content = [{ type: "text", text: `You said: ${words}` }];
  await tell(client, sessionId, { sessionUpdate: "user_message", messageId, content: prompt });
  await state(client, sessionId, { state: "running" });
  await tell(client, sessionId, { sessionUpdate: "agent_message", messageId: `answer-to-${messageId}`, content });
  const counts = words.startsWith("Count");
  if (counts) await stopped;
  await state(client, sessionId, { state: "idle", stopReason: counts ? "cancelled" : "end_turn" });
};

const prompt = async ({ params, client, signal }) => {
  const { sessionId, prompt } = params;
  const session = find(sessionId);
  if (!session.isOpen) throw RequestError.sessionNotFound(sessionId);
  if (!prompt.every((block) => KNOWN_BLOCKS.includes(block.type))) throw RequestError.invalidParams({ field: "prompt" });
  const before = session.cancellations;
  let done;
  const ahead = session.foreground;
  session.foreground = new Promise((resolve) => (done = resolve));
  const takenBack = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await Promise.race([ahead, takenBack]);
  if (signal.aborted || session.cancellations !== before) {
    ahead.then(done);
    throw RequestError.requestCancelled();
  }
  const messageId = `message-${++messages}`;
  const stopped = new Promise((resolve) => (session.stop = resolve));
  session.working = true;
  work(client, sessionId, prompt, messageId, stopped).finally(() => {
    session.working = false;
    done();
  });
  return { messageId };
};

const app = acp
  .agent({ name: "plain-ts-v2" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 2,
    info: { name: "plain-ts-v2", version: "1" },
    capabilities: { session: {} },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    if (!isAbsolute(params.cwd)) throw RequestError.invalidParams({ field: "cwd" });
    // None of the transports is advertised.
    if (params.mcpServers?.length) throw RequestError.invalidParams({ field: "mcpServers" });
    const sessionId = `session-${sessions.size + 1}`;
    sessions.set(sessionId, new Session(params.cwd));
    return { sessionId };
  })
  .onRequest(methods.agent.session.resume, async ({ params, client }) => {
    const { sessionId, replayFrom } = params;
    const session = find(sessionId);
    if (replayFrom && replayFrom.type !== "start") throw RequestError.invalidParams({ field: "replayFrom" });
    session.isOpen = true;
    for (const update of replayFrom ? session.history : []) await say(client, sessionId, update);
    await state(client, sessionId, { state: session.working ? "running" : "idle" });
    return {};
  })
  .onRequest(methods.agent.session.list, ({ params }) => ({
    sessions: [...sessions]
      .filter(([, session]) => !params.cwd || session.cwd === params.cwd)
      .map(([sessionId, session]) => ({ sessionId, cwd: session.cwd })),
  }))
  .onRequest(methods.agent.session.close, async ({ params }) => {
    const session = sessions.get(params.sessionId);
    if (!session) return {};
    session.isOpen = false;
    session.cancel();
    await session.foreground;
    return {};
  })
  // Before the prompts: what is registered earlier is called earlier, and a cancellation counts only for what came first.
  .onNotification(methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.cancel())
  .onRequest(methods.agent.session.prompt, prompt);
await speak(acp, app);
