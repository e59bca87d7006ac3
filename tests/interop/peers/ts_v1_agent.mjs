// An agent on the official TypeScript SDK, v1: plays the scene that the prompt names.
import { Notes, gate, loadSdk, loadStory, ownStdio, refusal, text } from "./sdk.mjs";

const acp = await loadSdk("v1");
const story = loadStory("v1");
const { methods, RequestError } = acp;

const notes = new Notes();
const config = structuredClone(story.configOptions);
const cancelled = new Map();
let hung = false;

const raw = (params) => params;
const cancelOf = (sessionId) => {
  if (!cancelled.has(sessionId)) cancelled.set(sessionId, gate());
  return cancelled.get(sessionId);
};

class Scene {
  constructor({ params, client }) {
    this.sessionId = params.sessionId;
    this.prompt = params.prompt;
    this.client = client;
  }

  ask(method, params) {
    return this.client.request(method, { sessionId: this.sessionId, ...params });
  }

  update(update) {
    return this.client.notify(methods.client.session.update, { sessionId: this.sessionId, update });
  }

  say(words) {
    return this.update({ sessionUpdate: "agent_message_chunk", content: text(words) });
  }

  saw(facts) {
    return this.client.notify("_interop/saw", { sessionId: this.sessionId, ...facts });
  }

  async tell() {
    for (const update of story.updates) await this.update(update);
    return "end_turn";
  }

  async ask_twice() {
    const first = await this.ask(methods.client.session.requestPermission, story.permission);
    const second = await this.ask(methods.client.session.requestPermission, story.permission);
    await this.saw({ outcomes: [first.outcome, second.outcome] });
    return "refusal";
  }

  async files() {
    const read = await this.ask(methods.client.fs.readTextFile, { path: "/story/notes.txt", line: 2, limit: 1 });
    await this.ask(methods.client.fs.writeTextFile, { path: "/story/out.txt", content: read.content.toUpperCase() });
    const missing = await refusal(this.ask(methods.client.fs.readTextFile, { path: "/story/missing.txt" }));
    await this.saw({ content: read.content, missing: { code: missing.code, data: missing.data } });
    return "max_tokens";
  }

  async terminal() {
    const { terminalId } = await this.ask(methods.client.terminal.create, {
      command: "make",
      args: ["-j", "2"],
      env: [{ name: "LANG", value: "C" }],
      cwd: "/story",
      outputByteLimit: 1000,
    });
    const before = await this.ask(methods.client.terminal.output, { terminalId });
    const exit = this.ask(methods.client.terminal.waitForExit, { terminalId });
    await this.ask(methods.client.terminal.kill, { terminalId });
    const ended = await exit;
    const after = await this.ask(methods.client.terminal.output, { terminalId });
    await this.ask(methods.client.terminal.release, { terminalId });
    await this.saw({ before, ended, after });
    return "max_turn_requests";
  }

  async elicit() {
    const form = await this.ask(methods.client.elicitation.create, story.form);
    const url = await this.ask(methods.client.elicitation.create, story.url);
    await this.client.notify(methods.client.elicitation.complete, { elicitationId: story.url.elicitationId });
    await this.saw({ form, url });
    return "end_turn";
  }

  async extend() {
    const { sum } = await this.client.request("_interop/add", { a: 2, b: 3 });
    const unknown = await refusal(this.client.request("_interop/unknown", {}));
    const foreign = await refusal(this.client.request("no/such_method", {}));
    await this.saw({ sum, unknown: unknown.code, foreign: foreign.code });
    return "end_turn";
  }

  fail() {
    throw new RequestError(4711, "Not today", { why: ["✗", 1, null] });
  }

  crash() {
    throw new TypeError("a secret");
  }

  async wait() {
    await this.say("waiting");
    await cancelOf(this.sessionId).promise;
    cancelled.delete(this.sessionId);
    await this.say("stopped");
    return "cancelled";
  }

  async interrupt() {
    const { outcome } = await this.ask(methods.client.session.requestPermission, story.permission);
    await cancelOf(this.sessionId).promise;
    cancelled.delete(this.sessionId);
    await this.saw({ outcome });
    return "cancelled";
  }

  async burst() {
    const sent = [];
    for (let n = 0; n < 2000; n += 1) sent.push(this.say(String(n)));
    await Promise.all(sent);
    return "end_turn";
  }

  async echo() {
    await this.say(this.prompt[1].text);
    await this.saw({ characters: [...this.prompt[1].text].length });
    return "end_turn";
  }
}

acp
  .agent({ name: "interop" })
  .onRequest(methods.agent.initialize, ({ params }) => ({
    // Several agents give back whatever number they are asked for, and go on in v1.
    protocolVersion: process.argv[2] === "--echo" ? params.protocolVersion : acp.PROTOCOL_VERSION,
    _meta: { capabilities: params.clientCapabilities },
    agentInfo: { name: "ts-agent", version: "1" },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true },
      sessionCapabilities: { list: {}, resume: {}, close: {} },
    },
  }))
  .onRequest(methods.agent.session.new, () => ({
    sessionId: "session-1",
    modes: story.modes,
    configOptions: config,
  }))
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    const { sessionId } = params;
    if (sessionId !== "session-1") throw RequestError.resourceNotFound(sessionId);
    for (const update of story.history) await client.notify(methods.client.session.update, { sessionId, update });
    return { modes: story.modes, configOptions: config };
  })
  .onRequest(methods.agent.session.resume, () => ({ modes: story.modes, configOptions: config }))
  .onRequest(methods.agent.session.close, () => ({}))
  .onRequest(methods.agent.session.list, ({ params }) =>
    params.cursor
      ? { sessions: story.sessions.slice(1) }
      : { sessions: story.sessions.slice(0, 1), nextCursor: "page-2" },
  )
  .onRequest(methods.agent.session.setMode, async ({ params, client }) => {
    const update = { sessionUpdate: "current_mode_update", currentModeId: params.modeId };
    await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    return {};
  })
  .onRequest(methods.agent.session.setConfigOption, async ({ params, client }) => {
    config.find((option) => option.id === params.configId).currentValue = params.value;
    const update = { sessionUpdate: "config_option_update", configOptions: config };
    await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    return { configOptions: config };
  })
  .onRequest(methods.agent.session.prompt, async (context) => {
    const scene = new Scene(context);
    return { stopReason: await scene[context.params.prompt[0].text](), _meta: { by: "ts" } };
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => cancelOf(params.sessionId).open())
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
