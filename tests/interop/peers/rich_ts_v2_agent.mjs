// An agent on the official TypeScript SDK, v2: the rich conversation, with files and commands of its own.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CHANGES, Memory, SESSION, better, changesOf, count, greetingOf, planEntries, story } from "./rich_memory.mjs";
import { gate, loadSdk, speak, text } from "./sdk.mjs";

const acp = await loadSdk("v2");
const { methods, RequestError } = acp;
const { client: to } = methods;
const memory = new Memory();
const shown = (words) => ({ type: "content", content: text(words) });
let cancelled = gate();
let ids = 0;
const newId = (kind) => `${kind}-${process.pid}-${(ids += 1)}`;

const select = (configId, name, currentValue, options) => {
  return { type: "select", configId, name, category: configId, currentValue, options };
};
const options = () => [
  select("mode", "Mode", memory.mode, story.modes.map(({ id, ...others }) => ({ value: id, ...others }))),
  select("model", "Model", memory.model, story.models),
];
const { input, ...help } = story.help;
const commands = [{ type: "command", ...help, input: { type: "text", ...input } }];

const hunk = (sign, content) => content.trimEnd().split("\n").map((line) => `${sign}${line}\n`);
const patch = (path, before, after) => {
  const [old, now] = [hunk("-", before), hunk("+", after)];
  const head = `diff --git ${path} ${path}\n--- ${path}\n+++ ${path}\n@@ -1,${old.length} +1,${now.length} @@\n`;
  return { format: "git_patch", text: head + [...old, ...now].join("") };
};
const addition = (path, content) => {
  const lines = hunk("+", content);
  const head = `diff --git ${path} ${path}\nnew file mode 100644\n--- /dev/null\n+++ ${path}\n`;
  return { format: "git_patch", text: `${head}@@ -0,0 +1,${lines.length} @@\n${lines.join("")}` };
};

class Turn {
  #message = null;

  constructor(client) {
    this.client = client;
  }

  update(update) {
    memory.updates.push(update);
    return this.client.notify(to.session.update, { sessionId: SESSION, update });
  }

  // A state is no part of the history.
  state(state, others = {}) {
    const update = { sessionUpdate: "state_update", state, ...others };
    return this.client.notify(to.session.update, { sessionId: SESSION, update });
  }

  say(content, sessionUpdate = "agent_message_chunk") {
    this.#message ??= newId("message");
    return this.update({ sessionUpdate, messageId: this.#message, content });
  }

  tool(toolCallId, fields) {
    return this.update({ sessionUpdate: "tool_call_update", toolCallId, ...fields });
  }

  begin(toolCallId, fields) {
    this.#message = null;
    return this.tool(toolCallId, { status: "in_progress", ...fields });
  }

  show(toolCallId, content) {
    return this.update({ sessionUpdate: "tool_call_content_chunk", toolCallId, content });
  }

  plan(done) {
    const plan = { type: "items", planId: "plan", entries: planEntries(done) };
    return this.update({ sessionUpdate: "plan_update", plan });
  }

  async run(prompt) {
    const [scene, topic] = prompt.replace("/", "").split(" ");
    await this.state("running");
    const stopReason = await this[scene](topic);
    memory.save();
    await this.state("idle", { stopReason });
  }

  async fix() {
    memory.title = story.title;
    await this.update({ sessionUpdate: "session_info_update", title: story.title });
    for (const thought of story.thoughts) await this.say(text(thought), "agent_thought_chunk");
    this.#message = null;
    await this.plan(0);
    await this.say(text("Let me look. "));
    await this.say(story.link);
    const greeting = await this.read();
    await this.readWhatIsMissing();
    await this.plan(1);
    if (await this.edit(greeting)) {
      await this.say(text("It is "));
      await this.say(text("friendly now."));
    }
    await this.plan(2);
    const code = await this.tryIt();
    await this.plan(3);
    await this.update(story.usage);
    await this.say(text(`The command ended with ${code}, in mode ${memory.mode}.`));
    return "end_turn";
  }

  async read() {
    const path = greetingOf(memory.cwd);
    const fields = { title: "Read greeting.txt", name: "read", kind: "read", rawInput: { path: "greeting.txt" } };
    await this.begin("read", fields);
    await this.tool("read", { locations: [{ path, line: 1 }] });
    const greeting = readFileSync(path, "utf8");
    await this.show("read", shown(greeting));
    await this.show("read", shown(story.second_line));
    const rawOutput = { lines: greeting.trimEnd().split("\n").length };
    await this.tool("read", { status: "completed", rawOutput });
    return greeting;
  }

  async readWhatIsMissing() {
    await this.begin("missing", { title: "Read missing.txt", kind: "read" });
    if (existsSync(join(memory.cwd, "missing.txt"))) return;
    await this.tool("missing", { status: "failed", content: [shown("There is no missing.txt.")] });
  }

  async edit(greeting) {
    const path = greetingOf(memory.cwd);
    const changes = changesOf(memory.cwd);
    const title = "Edit greeting.txt";
    await this.begin("edit", { title, kind: "edit", status: "pending", locations: [{ path }] });
    await this.show("edit", {
      type: "diff",
      changes: [
        { operation: "modify", path, fileType: "text" },
        { operation: "add", path: changes, fileType: "text" },
      ],
      patch: {
        format: "git_patch",
        text: patch(path, greeting, better(greeting)).text + addition(changes, CHANGES).text,
      },
    });
    await this.state("requires_action");
    const { outcome } = await this.client.request(to.session.requestPermission, {
      sessionId: SESSION,
      title,
      subject: { type: "tool_call", toolCall: { toolCallId: "edit", title, kind: "edit" } },
      options: story.allow,
    });
    await this.state("running");
    if (outcome.outcome !== "selected" || outcome.optionId === "reject") return false;
    await this.tool("edit", { status: "in_progress" });
    writeFileSync(path, better(greeting));
    mkdirSync(dirname(changes), { recursive: true });
    writeFileSync(changes, CHANGES);
    await this.tool("edit", { status: "completed", rawOutput: { option: outcome.optionId } });
    return true;
  }

  // A command whose terminal a tool call shows.
  async start(toolCallId, [command, ...args]) {
    const terminalId = newId("terminal");
    const child = spawn(command, args, { cwd: memory.cwd, stdio: ["ignore", "pipe", "inherit"] });
    const pieces = [];
    const terminal = { sessionUpdate: "terminal_update", terminalId };
    await this.update({ ...terminal, command: [command, ...args].join(" "), cwd: memory.cwd });
    await this.show(toolCallId, { type: "terminal", terminalId });
    child.stdout.on("data", (piece) => {
      pieces.push(piece);
      const data = piece.toString("base64");
      void this.update({ sessionUpdate: "terminal_output_chunk", terminalId, data });
    });
    const ended = new Promise((resolve) => {
      child.once("close", async (code, signal) => {
        await this.update({ ...terminal, exitStatus: signal ? { signal } : { exitCode: code } });
        resolve(code);
      });
    });
    return { child, ended, output: () => Buffer.concat(pieces).toString("utf8") };
  }

  async tryIt() {
    await this.begin("try", { title: "Try it", kind: "execute", rawInput: { command: story.command[2] } });
    const { ended, output } = await this.start("try", story.command);
    const code = await ended;
    await this.show("try", shown("It printed:"));
    await this.show("try", shown(output()));
    await this.tool("try", { status: "completed", rawOutput: { code } });
    return code;
  }

  async wait() {
    await this.begin("watch", { title: "Watch", kind: "execute" });
    const { child, ended } = await this.start("watch", ["sleep", "600"]);
    await this.say(text("Watching."));
    await cancelled.promise;
    cancelled = gate();
    child.kill("SIGTERM");
    await ended;
    await this.tool("watch", { status: "cancelled" });
    await this.say(text("Stopped."));
    return "cancelled";
  }

  async recall() {
    await this.say(text(memory.recall()));
    await this.say(text(count));
    return "end_turn";
  }

  async help(topic) {
    await this.say(text(`No help about ${topic}.`));
    return "end_turn";
  }
}

const app = acp
  .agent({ name: "rich" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    info: { name: "rich-ts", version: "1" },
    capabilities: { session: {} },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    memory.cwd = params.cwd;
    memory.save();
    return { sessionId: SESSION, configOptions: options(), availableCommands: commands };
  })
  .onRequest(methods.agent.session.resume, async ({ params, client }) => {
    const { sessionId, replayFrom } = params;
    if (sessionId !== SESSION || !memory.load()) throw new RequestError(-32002, "Resource not found", { sessionId });
    const turn = new Turn(client);
    const history = memory.updates;
    memory.updates = [];
    if (replayFrom) for (const update of history) await turn.update(update);
    memory.updates = history;
    await turn.state("idle");
    return { configOptions: options(), availableCommands: commands };
  })
  .onRequest(methods.agent.session.close, () => ({}))
  .onRequest(methods.agent.session.list, () => ({
    sessions: [{ sessionId: SESSION, cwd: memory.cwd, title: memory.title }],
  }))
  .onRequest(methods.agent.session.setConfigOption, ({ params }) => {
    memory[params.configId] = params.value;
    memory.save();
    return { configOptions: options() };
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const prompt = params.prompt[0].text;
    memory.note(prompt);
    const turn = new Turn(client);
    const messageId = newId("user");
    await turn.update({ sessionUpdate: "user_message", messageId, content: params.prompt });
    void turn.run(prompt);
    return { messageId };
  })
  .onNotification(methods.agent.session.cancel, () => cancelled.open());

await speak(acp, app);
