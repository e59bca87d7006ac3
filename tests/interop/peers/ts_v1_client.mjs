// A client on the official TypeScript SDK, v1: starts the agent it is given, plays every scene, prints a report.
import { BIG, BRIEF, ODD, Report, gate, loadSdk, loadStory, saw, startAgent, text } from "./sdk.mjs";

const acp = await loadSdk("v1");
const story = loadStory("v1");
const { methods, RequestError } = acp;

const report = new Report();
const agent = startAgent(acp);
const files = new Map([["/story/notes.txt", "Zeile 2: 🌍\n"]]);
const answers = [{ outcome: "selected", optionId: "yes" }, { outcome: "cancelled" }];
const exited = gate();
const hanging = gate();
const raw = (params) => params;
let onUpdate = () => {};
let onAsked = () => answers.shift();

const app = acp
  .client({ name: "interop" })
  .onNotification(methods.client.session.update, ({ params }) => {
    report.heard("session/update", params.update);
    onUpdate(params.update);
  })
  .onRequest(methods.client.session.requestPermission, async ({ params }) => {
    report.heard("session/request_permission", params);
    return { outcome: await onAsked() };
  })
  .onRequest(methods.client.fs.readTextFile, ({ params }) => {
    report.heard("fs/read_text_file", params);
    if (!files.has(params.path)) throw RequestError.resourceNotFound(params.path);
    return { content: files.get(params.path) };
  })
  .onRequest(methods.client.fs.writeTextFile, ({ params }) => {
    report.heard("fs/write_text_file", params);
    return {};
  })
  .onRequest(methods.client.terminal.create, ({ params }) => {
    report.heard("terminal/create", params);
    return { terminalId: "term-7" };
  })
  .onRequest(methods.client.terminal.output, ({ params }) => {
    report.heard("terminal/output", params);
    return exited.done
      ? { output: "building…\nkilled\n", truncated: true, exitStatus: { signal: "SIGTERM" } }
      : { output: "building…\n", truncated: false };
  })
  .onRequest(methods.client.terminal.waitForExit, async ({ params }) => {
    report.heard("terminal/wait_for_exit", params);
    await exited.promise;
    return { signal: "SIGTERM" };
  })
  .onRequest(methods.client.terminal.kill, ({ params }) => {
    report.heard("terminal/kill", params);
    exited.done = true;
    exited.open();
    return {};
  })
  .onRequest(methods.client.terminal.release, ({ params }) => {
    report.heard("terminal/release", params);
    return {};
  })
  .onRequest(methods.client.elicitation.create, ({ params }) => {
    report.heard("elicitation/create", params);
    return params.mode === "form" ? { action: "accept", content: story.answer } : { action: "decline" };
  })
  .onNotification(methods.client.elicitation.complete, ({ params }) => report.heard("elicitation/complete", params))
  .onRequest("_interop/add", raw, ({ params }) => ({ sum: params.a + params.b }))
  .onNotification("_interop/saw", raw, ({ params }) => report.heard("_interop/saw", params))
  .onNotification("_interop/hanging", raw, () => hanging.open());

const conversation = app.connectWith(agent.stream, async (ctx) => {
  const sessionId = "session-1";
  const prompt = (...words) => () =>
    ctx.request(methods.agent.session.prompt, { sessionId, prompt: words.map((each) => text(each)) });
  const call = (method, params) => () => ctx.request(method, params);
  const { session } = methods.agent;
  const setup = { cwd: "/story", mcpServers: [] };

  await report.play(
    "initialize",
    call(methods.agent.initialize, {
      protocolVersion: 1,
      clientInfo: { name: "ts-client", version: "1" },
      clientCapabilities: {
        fs: { readTextFile: true, writeTextFile: true },
        terminal: true,
        session: { configOptions: { boolean: {} } },
        elicitation: { form: {}, url: {} },
      },
    }),
  );
  if (BRIEF) return;
  await report.play("new", call(session.new, setup));
  for (const name of ["tell", "fail", "crash"]) await report.play(name, prompt(name));
  for (const name of ["ask_twice", "files", "terminal", "elicit", "extend"]) {
    await report.play(name, prompt(name), saw);
  }
  onUpdate = () => {
    onUpdate = () => {};
    void ctx.notify(session.cancel, { sessionId });
  };
  await report.play("wait", prompt("wait"));
  onAsked = async () => {
    await ctx.notify(session.cancel, { sessionId });
    return { outcome: "cancelled" };
  };
  await report.play("interrupt", prompt("interrupt"), saw);
  await report.play("set_mode", call(session.setMode, { sessionId, modeId: "code" }));
  await report.play("set_model", call(session.setConfigOption, { sessionId, configId: "model", value: "large" }));
  await report.play(
    "set_web",
    call(session.setConfigOption, { sessionId, configId: "web", type: "boolean", value: true }),
  );
  await report.play("list", call(session.list, { cwd: "/story" }));
  await report.play("list_more", call(session.list, { cursor: "page-2" }));
  await report.play("load", call(session.load, { sessionId, ...setup }));
  await report.play("load_missing", call(session.load, { sessionId: "nowhere", ...setup }));
  await report.play("resume", call(session.resume, { sessionId, ...setup }));
  await report.play("close", call(session.close, { sessionId }));
  await report.play("add", call("_interop/add", { a: 20, b: 22 }));
  await report.play("unknown", call("_interop/unknown", {}));
  await report.play("foreign", call("no/such_method", {}));
  await report.play("burst", prompt("burst"));
  await report.play("notes", async () => {
    const sent = [];
    for (let n = 0; n < 2000; n += 1) sent.push(ctx.notify("_interop/note", { n }));
    await Promise.all(sent);
    return ctx.request("_interop/noted", {});
  });
  await report.play("echo_odd", prompt("echo", ODD), saw);
  await report.play("echo_big", prompt("echo", BIG), saw);
  await report.play("withdraw", async () => {
    const stop = new AbortController();
    const call = ctx.request("_interop/hang", {}, { cancellationSignal: stop.signal });
    await hanging.promise;
    stop.abort();
    await call.catch(() => {});
    return ctx.request("_interop/hung", {});
  });
  await report.play("counts", call("_interop/counts", {}));
});
await conversation.catch((error) => report.broke(error));
report.print(await agent.end());
