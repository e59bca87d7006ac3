// An agent on the official TypeScript SDK, v1: the rich conversation, with the client's files and terminals.
import { join } from "node:path";
import { CHANGES, Memory, SESSION, better, changesOf, count, greetingOf, planEntries, story } from "./rich_memory.mjs";
import { gate, loadSdk, speak, text } from "./sdk.mjs";

const acp = await loadSdk("v1");
const { methods, RequestError } = acp;
const { client: to } = methods;
const memory = new Memory();
const shown = (words) => ({ type: "content", content: text(words) });
let cancelled = gate();

const modes = () => ({ currentModeId: memory.mode, availableModes: story.modes });
const options = () => [
  {
    type: "select",
    id: "mode",
    name: "Mode",
    category: "mode",
    currentValue: memory.mode,
    options: story.modes.map(({ id, ...others }) => ({ value: id, ...others })),
  },
  {
    type: "select",
    id: "model",
    name: "Model",
    category: "model",
    currentValue: memory.model,
    options: story.models,
  },
];
const settings = () => ({ modes: modes(), configOptions: options() });

class Turn {
  constructor(client) {
    this.client = client;
  }

  ask(method, params) {
    return this.client.request(method, { sessionId: SESSION, ...params });
  }

  // `kept` is what is told after a restart, where that is something else.
  update(update, kept = update) {
    memory.updates.push(kept);
    return this.client.notify(to.session.update, { sessionId: SESSION, update });
  }

  say(words) {
    return this.update({ sessionUpdate: "agent_message_chunk", content: text(words) });
  }

  tool(toolCallId, fields, kept = fields) {
    const head = { sessionUpdate: "tool_call_update", toolCallId };
    return this.update({ ...head, ...fields }, { ...head, ...kept });
  }

  begin(toolCallId, fields) {
    return this.update({ sessionUpdate: "tool_call", toolCallId, status: "in_progress", ...fields });
  }

  plan(done) {
    return this.update({ sessionUpdate: "plan", entries: planEntries(done) });
  }

  async fix() {
    memory.title = story.title;
    await this.update({ sessionUpdate: "session_info_update", title: story.title });
    for (const thought of story.thoughts) {
      await this.update({ sessionUpdate: "agent_thought_chunk", content: text(thought) });
    }
    await this.plan(0);
    await this.say("Let me look. ");
    await this.update({ sessionUpdate: "agent_message_chunk", content: story.link });
    const greeting = await this.read();
    await this.readWhatIsMissing();
    await this.plan(1);
    if (await this.edit(greeting)) {
      await this.say("It is ");
      await this.say("friendly now.");
    }
    await this.plan(2);
    const code = await this.tryIt();
    await this.plan(3);
    await this.update(story.usage);
    await this.say(`The command ended with ${code}, in mode ${memory.mode}.`);
    return "end_turn";
  }

  async read() {
    const path = greetingOf(memory.cwd);
    const fields = { title: "Read greeting.txt", name: "read", kind: "read", rawInput: { path: "greeting.txt" } };
    await this.begin("read", fields);
    await this.tool("read", { locations: [{ path, line: 1 }] });
    const { content } = await this.ask(to.fs.readTextFile, { path });
    const second = await this.ask(to.fs.readTextFile, { path, line: 2, limit: 1 });
    if (second.content.trimEnd() !== "Yours, the program") throw new Error(`no second line: ${second.content}`);
    const rawOutput = { lines: content.trimEnd().split("\n").length };
    await this.tool("read", { status: "completed", content: [shown(content), shown(story.second_line)], rawOutput });
    return content;
  }

  async readWhatIsMissing() {
    await this.begin("missing", { title: "Read missing.txt", kind: "read" });
    try {
      await this.ask(to.fs.readTextFile, { path: join(memory.cwd, "missing.txt") });
    } catch (error) {
      if (error.code !== -32002) throw error;
      await this.tool("missing", { status: "failed", content: [shown("There is no missing.txt.")] });
    }
  }

  async edit(greeting) {
    const path = greetingOf(memory.cwd);
    const title = "Edit greeting.txt";
    await this.begin("edit", { title, kind: "edit", status: "pending", locations: [{ path }] });
    const content = [
      { type: "diff", path, oldText: greeting, newText: better(greeting) },
      { type: "diff", path: changesOf(memory.cwd), newText: CHANGES },
    ];
    await this.tool("edit", { content });
    const { outcome } = await this.ask(to.session.requestPermission, {
      toolCall: { toolCallId: "edit", title, kind: "edit" },
      options: story.allow,
    });
    if (outcome.outcome !== "selected" || outcome.optionId === "reject") return false;
    await this.tool("edit", { status: "in_progress" });
    await this.ask(to.fs.writeTextFile, { path, content: better(greeting) });
    await this.ask(to.fs.writeTextFile, { path: changesOf(memory.cwd), content: CHANGES });
    await this.tool("edit", { status: "completed", rawOutput: { option: outcome.optionId } });
    return true;
  }

  async start(command, args) {
    const { terminalId } = await this.ask(to.terminal.create, { command, args, cwd: memory.cwd });
    return terminalId;
  }

  async tryIt() {
    const [command, ...args] = story.command;
    await this.begin("try", { title: "Try it", kind: "execute", rawInput: { command: args[1] } });
    const terminalId = await this.start(command, args);
    await this.tool("try", { content: [{ type: "terminal", terminalId }] }, { content: [] });
    const { exitCode } = await this.ask(to.terminal.waitForExit, { terminalId });
    const { output } = await this.ask(to.terminal.output, { terminalId });
    await this.ask(to.terminal.release, { terminalId });
    const fields = { status: "completed", rawOutput: { code: exitCode } };
    const printed = [shown("It printed:"), shown(output)];
    await this.tool(
      "try",
      { ...fields, content: [{ type: "terminal", terminalId }, ...printed] },
      { ...fields, content: [shown(`${output}[exit code ${exitCode}]`), ...printed] },
    );
    return exitCode;
  }

  async wait() {
    await this.begin("watch", { title: "Watch", kind: "execute" });
    const terminalId = await this.start("sleep", ["600"]);
    await this.tool("watch", { content: [{ type: "terminal", terminalId }] }, { content: [] });
    await this.say("Watching.");
    await cancelled.promise;
    cancelled = gate();
    await this.ask(to.terminal.kill, { terminalId });
    const { signal } = await this.ask(to.terminal.waitForExit, { terminalId });
    await this.ask(to.terminal.release, { terminalId });
    await this.tool("watch", { status: "failed" }, { status: "failed", content: [shown(`[ended by ${signal}]`)] });
    await this.say("Stopped.");
    return "cancelled";
  }

  async recall() {
    await this.say(memory.recall());
    await this.say(count);
    return "end_turn";
  }

  async help(topic) {
    await this.say(`No help about ${topic}.`);
    return "end_turn";
  }
}

const known = ({ sessionId }) => {
  if (sessionId !== SESSION || !memory.load()) throw RequestError.resourceNotFound(sessionId);
};
const tell = (client, update) => client.notify(to.session.update, { sessionId: SESSION, update });
const tellCommands = (client) =>
  setTimeout(() => tell(client, { sessionUpdate: "available_commands_update", availableCommands: [story.help] }));

const app = acp
  .agent({ name: "rich" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentInfo: { name: "rich-ts", version: "1" },
    agentCapabilities: { loadSession: true, sessionCapabilities: { list: {}, resume: {}, close: {} } },
  }))
  .onRequest(methods.agent.session.new, ({ params, client }) => {
    memory.cwd = params.cwd;
    memory.save();
    tellCommands(client);
    return { sessionId: SESSION, ...settings() };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    known(params);
    for (const update of memory.updates) await tell(client, update);
    tellCommands(client);
    return settings();
  })
  .onRequest(methods.agent.session.resume, ({ params }) => {
    known(params);
    return settings();
  })
  .onRequest(methods.agent.session.close, () => ({}))
  .onRequest(methods.agent.session.list, () => ({
    sessions: [{ sessionId: SESSION, cwd: memory.cwd, title: memory.title }],
  }))
  .onRequest(methods.agent.session.setMode, ({ params }) => {
    memory.mode = params.modeId;
    memory.save();
    return {};
  })
  .onRequest(methods.agent.session.setConfigOption, ({ params }) => {
    memory[params.configId] = params.value;
    memory.save();
    return { configOptions: options() };
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const prompt = params.prompt[0].text;
    memory.note(prompt);
    memory.updates.push({ sessionUpdate: "user_message_chunk", content: text(prompt) });
    const [scene, topic] = prompt.replace("/", "").split(" ");
    const stopReason = await new Turn(client)[scene](topic);
    memory.save();
    return { stopReason };
  })
  .onNotification(methods.agent.session.cancel, () => cancelled.open());

await speak(acp, app);
