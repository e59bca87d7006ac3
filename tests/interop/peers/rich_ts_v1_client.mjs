// A client on the official TypeScript SDK, v1: the rich conversation over two lives of the agent, with real files.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Report, loadSdk, startAgent, text } from "./sdk.mjs";

const acp = await loadSdk("v1");
const { methods, RequestError } = acp;
const cwd = process.env.ACCORD_PROJECT;
const report = new Report();
const commands = new Map();
const { client } = methods;
const areCommands = (_, update) => update.sessionUpdate === "available_commands_update";
let onUpdate = () => {};

function readLines({ path, line, limit }) {
  if (!existsSync(path)) throw RequestError.resourceNotFound(path);
  const lines = readFileSync(path, "utf8").split(/(?<=\n)/);
  const start = Math.max((line ?? 1) - 1, 0);
  return lines.slice(start, limit == null ? undefined : start + limit).join("");
}

function runCommand({ command, args, cwd }) {
  const child = spawn(command, args ?? [], { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const run = { child, output: "", exit: null };
  child.stdout.setEncoding("utf8").on("data", (piece) => (run.output += piece));
  run.closed = once(child, "close").then(([exitCode, signal]) => (run.exit = signal ? { signal } : { exitCode }));
  const terminalId = `terminal-${child.pid}`;
  commands.set(terminalId, run);
  return { terminalId };
}

const app = acp
  .client({ name: "rich" })
  .onNotification(client.session.update, ({ params }) => {
    report.heard("session/update", params.update);
    onUpdate(params);
  })
  .onRequest(client.session.requestPermission, ({ params }) => {
    report.heard("session/request_permission", params);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  })
  .onRequest(client.fs.readTextFile, ({ params }) => {
    report.heard("fs/read_text_file", params);
    return { content: readLines(params) };
  })
  .onRequest(client.fs.writeTextFile, ({ params }) => {
    report.heard("fs/write_text_file", params);
    mkdirSync(dirname(params.path), { recursive: true });
    writeFileSync(params.path, params.content);
    return {};
  })
  .onRequest(client.terminal.create, ({ params }) => {
    report.heard("terminal/create", params);
    return runCommand(params);
  })
  .onRequest(client.terminal.output, ({ params }) => {
    report.heard("terminal/output", {});
    const { output, exit } = commands.get(params.terminalId);
    return { output, truncated: false, exitStatus: exit };
  })
  .onRequest(client.terminal.waitForExit, async ({ params }) => {
    report.heard("terminal/wait_for_exit", {});
    return commands.get(params.terminalId).closed;
  })
  .onRequest(client.terminal.kill, ({ params }) => {
    report.heard("terminal/kill", {});
    commands.get(params.terminalId).child.kill("SIGTERM");
    return {};
  })
  .onRequest(client.terminal.release, async ({ params }) => {
    const { terminalId } = params;
    const run = commands.get(terminalId);
    if (run.exit === null) run.child.kill("SIGKILL");
    await run.closed;
    commands.delete(terminalId);
    report.heard("terminal/release", { terminalId, output: run.output, exitStatus: run.exit });
    return {};
  });

// The agent from its start to its end; the handshake is in the report.
async function live(name, act) {
  const agent = startAgent(acp);
  const conversation = app.connectWith(agent.stream, async (ctx) => {
    await report.play(`${name}_initialize`, () =>
      ctx.request(methods.agent.initialize, {
        protocolVersion: 1,
        clientInfo: { name: "ts-client", version: "1" },
        clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
      }),
    );
    await act(ctx);
  });
  await conversation.catch((error) => report.broke(error));
  return agent.end();
}

const { session } = methods.agent;
let sessionId;
const prompt = (ctx, words) => () => ctx.request(session.prompt, { sessionId, prompt: [text(words)] });

await live("first", async (ctx) => {
  const call = (method, params) => () => ctx.request(method, params);
  onUpdate = ({ update }) => {
    if (update.sessionUpdate === "agent_message_chunk" && update.content.text === "Watching.") {
      void ctx.notify(session.cancel, { sessionId });
    }
  };
  await report.play("new", call(session.new, { cwd, mcpServers: [] }), areCommands);
  sessionId = report.scenes.new.result.sessionId;
  await report.play("mode", call(session.setMode, { sessionId, modeId: "code" }));
  await report.play("model", call(session.setConfigOption, { sessionId, configId: "model", value: "large" }));
  await report.play("fix", prompt(ctx, "fix"));
  await report.play("wait", prompt(ctx, "wait"));
  await report.play("list", call(session.list, { cwd }));
});
const exit = await live("second", async (ctx) => {
  const call = (method, params) => () => ctx.request(method, params);
  await report.play("load", call(session.load, { sessionId, cwd, mcpServers: [] }), areCommands);
  await report.play("recall", prompt(ctx, "recall"));
  await report.play("help", prompt(ctx, "/help tests"));
  await report.play("close", call(session.close, { sessionId }));
  await report.play("closed", prompt(ctx, "recall"));
  await report.play("resume", call(session.resume, { sessionId, cwd, mcpServers: [] }), areCommands);
});
report.scenes.left = { result: [...commands.keys()], received: [] };
report.print(exit);
