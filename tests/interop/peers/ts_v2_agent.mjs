// An agent on the official TypeScript SDK, v2: plays the scene that the prompt names.
import { Notes, gate, loadSdk, loadStory, ownStdio, refusal, text } from "./sdk.mjs";

const acp = await loadSdk("v2");
const story = loadStory("v2");
const { methods, RequestError } = acp;

const notes = new Notes();
const config = structuredClone(story.configOptions);
const cancelled = new Map();
const toolCancelled = gate();
let prompts = 0;
let hung = false;

const raw = (params) => params;
const cancelOf = (sessionId) => {
  if (!cancelled.has(sessionId)) cancelled.set(sessionId, gate());
  return cancelled.get(sessionId);
};
const unknownSession = (sessionId) => new RequestError(-32002, "Resource not found", { sessionId });

class Scene {
  constructor({ params, client }, messageId) {
    this.sessionId = params.sessionId;
    this.prompt = params.prompt;
    this.client = client;
    this.messageId = messageId;
  }

  ask(method, params) {
    return this.client.request(method, { sessionId: this.sessionId, ...params });
  }

  update(update) {
    return this.client.notify(methods.client.session.update, { sessionId: this.sessionId, update });
  }

  state(state, others = {}) {
    return this.update({ sessionUpdate: "state_update", state, ...others });
  }

  say(words) {
    return this.update({ sessionUpdate: "agent_message_chunk", messageId: "m9", content: text(words) });
  }

  saw(facts) {
    return this.client.notify("_interop/saw", { sessionId: this.sessionId, ...facts });
  }

  async question(question) {
    await this.state("requires_action");
    const { outcome } = await this.ask(methods.client.session.requestPermission, question);
    return outcome;
  }

  async run() {
    await this.state("running");
    await this.state("idle", await this[this.prompt[0].text]());
  }

  async tell() {
    for (const update of story.updates) await this.update(update);
    return { stopReason: "end_turn" };
  }

  async ask_twice() {
    const first = await this.question(story.permission);
    await this.state("running");
    const second = await this.question(story.command);
    await this.state("running");
    await this.saw({ outcomes: [first, second] });
    return { stopReason: "refusal" };
  }

  async elicit() {
    const form = await this.ask(methods.client.elicitation.create, story.form);
    const url = await this.ask(methods.client.elicitation.create, story.url);
    await this.client.notify(methods.client.elicitation.complete, { elicitationId: story.url.elicitationId });
    await this.saw({ form, url });
    return { stopReason: "max_tokens" };
  }

  async extend() {
    const { sum } = await this.client.request("_interop/add", { a: 2, b: 3 });
    const unknown = await refusal(this.client.request("_interop/unknown", {}));
    const foreign = await refusal(this.client.request("no/such_method", {}));
    await this.saw({ sum, unknown: unknown.code, foreign: foreign.code });
    return { stopReason: "max_turn_requests" };
  }

  async break_down() {
    return { stopReason: "error", error: { code: -32603, message: "No model" } };
  }

  async wait() {
    await this.say("waiting");
    await cancelOf(this.sessionId).promise;
    cancelled.delete(this.sessionId);
    await this.say("stopped");
    return { stopReason: "cancelled" };
  }

  async interrupt() {
    const outcome = await this.question(story.permission);
    await cancelOf(this.sessionId).promise;
    cancelled.delete(this.sessionId);
    await this.saw({ outcome });
    return { stopReason: "cancelled" };
  }

  async long_tool() {
    const call = { sessionUpdate: "tool_call_update", toolCallId: "call-2" };
    await this.update({ ...call, title: "Long", status: "in_progress", capabilities: { cancel: {} } });
    await toolCancelled.promise;
    await this.update({ ...call, status: "cancelled", capabilities: null });
    return { stopReason: "end_turn" };
  }

  async burst() {
    const sent = [];
    for (let n = 0; n < 2000; n += 1) sent.push(this.say(String(n)));
    await Promise.all(sent);
    return { stopReason: "end_turn" };
  }

  async echo() {
    await this.say(this.prompt[1].text);
    await this.saw({ characters: [...this.prompt[1].text].length });
    return { stopReason: "end_turn" };
  }
}

acp
  .agent({ name: "interop" })
  .onRequest(methods.agent.initialize, ({ params }) => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    _meta: { capabilities: params.capabilities },
    info: { name: "ts-agent", version: "1" },
    capabilities: { session: { prompt: { image: {} }, delete: {} } },
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: "session-1", configOptions: config }))
  .onRequest(methods.agent.session.resume, async ({ params, client }) => {
    const { sessionId } = params;
    if (sessionId !== "session-1") throw unknownSession(sessionId);
    const update = (update) => client.notify(methods.client.session.update, { sessionId, update });
    if (params.replayFrom) for (const each of story.history) await update(each);
    await update({ sessionUpdate: "state_update", state: "idle" });
    return { configOptions: config };
  })
  .onRequest(methods.agent.session.close, () => ({}))
  .onRequest(methods.agent.session.delete, () => ({}))
  .onRequest(methods.agent.session.list, ({ params }) =>
    params.cursor
      ? { sessions: story.sessions.slice(1) }
      : { sessions: story.sessions.slice(0, 1), nextCursor: "page-2" },
  )
  .onRequest(methods.agent.session.setConfigOption, async ({ params, client }) => {
    config.find((option) => option.configId === params.configId).currentValue = params.value;
    const update = { sessionUpdate: "config_option_update", configOptions: config };
    await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    return { configOptions: config };
  })
  .onRequest(methods.agent.session.prompt, async (context) => {
    const { prompt } = context.params;
    if (prompt[0].text === "fail") throw new RequestError(4711, "Not today", { why: ["✗", 1, null] });
    if (prompt[0].text === "crash") throw new TypeError("a secret");
    prompts += 1;
    const messageId = `user-${prompts}`;
    const scene = new Scene(context, messageId);
    await scene.update({ sessionUpdate: "user_message", messageId, content: prompt });
    void scene.run();
    return { messageId, _meta: { by: "ts" } };
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => cancelOf(params.sessionId).open())
  .onRequest(methods.agent.toolCall.cancel, () => {
    toolCancelled.open();
    return {};
  })
  .onRequest("_interop/add", raw, ({ params }) => ({ sum: params.a + params.b }))
  .onNotification("_interop/note", raw, ({ params }) => notes.take(params.n))
  .onRequest("_interop/noted", raw, () => notes.stock())
  .onRequest("_interop/hang", raw, async ({ client, signal }) => {
    await client.notify("_interop/hanging", {});
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    hung = true;
    throw RequestError.requestCancelled();
  })
  .onRequest("_interop/hung", raw, () => ({ cancelled: hung }))
  .connect(ownStdio(acp));
