// A client on the official TypeScript SDK, v2: starts the agent it is given, plays every scene, prints a report.
import { BIG, BRIEF, ODD, Report, gate, loadSdk, loadStory, saw, startAgent, text } from "./sdk.mjs";

const acp = await loadSdk("v2");
const story = loadStory("v2");
const { methods } = acp;

const report = new Report();
const agent = startAgent(acp);
const answers = [{ outcome: "selected", optionId: "yes" }, { outcome: "cancelled" }];
const hanging = gate();
const raw = (params) => params;
const isIdle = (method, update) => update.sessionUpdate === "state_update" && update.state === "idle";
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
  const { session } = methods.agent;
  const setup = { cwd: "/story", mcpServers: [] };
  const call = (method, params) => () => ctx.request(method, params);
  const prompt = (...words) => call(session.prompt, { sessionId, prompt: words.map((each) => text(each)) });

  await report.play(
    "initialize",
    call(methods.agent.initialize, {
      protocolVersion: 2,
      info: { name: "ts-client", version: "1" },
      capabilities: { elicitation: { form: {}, url: {} } },
    }),
  );
  if (BRIEF) return;
  await report.play("new", call(session.new, setup));
  for (const name of ["ask_twice", "elicit", "extend"]) await report.play(name, prompt(name), isIdle, saw);
  for (const name of ["tell", "fail", "crash", "break_down"]) await report.play(name, prompt(name), isIdle);
  onUpdate = (update) => {
    if (update.sessionUpdate !== "agent_message_chunk") return;
    onUpdate = () => {};
    void ctx.notify(session.cancel, { sessionId });
  };
  await report.play("wait", prompt("wait"), isIdle);
  onAsked = async () => {
    await ctx.notify(session.cancel, { sessionId });
    return { outcome: "cancelled" };
  };
  await report.play("interrupt", prompt("interrupt"), isIdle, saw);
  onUpdate = (update) => {
    if (update.sessionUpdate !== "tool_call_update") return;
    onUpdate = () => {};
    void ctx.request(methods.agent.toolCall.cancel, { sessionId, toolCallId: update.toolCallId });
  };
  await report.play("long_tool", prompt("long_tool"), isIdle);
  const set = (params) => call(session.setConfigOption, { sessionId, ...params });
  await report.play("set_model", set({ configId: "model", type: "id", value: "large" }));
  await report.play("set_web", set({ configId: "web", type: "boolean", value: true }));
  await report.play("list", call(session.list, { cwd: "/story" }));
  await report.play("list_more", call(session.list, { cursor: "page-2" }));
  await report.play("replay", call(session.resume, { sessionId, ...setup, replayFrom: { type: "start" } }), isIdle);
  await report.play("resume", call(session.resume, { sessionId, ...setup }), isIdle);
  await report.play("resume_missing", call(session.resume, { sessionId: "nowhere", ...setup }));
  await report.play("close", call(session.close, { sessionId }));
  await report.play("delete", call(session.delete, { sessionId }));
  await report.play("add", call("_interop/add", { a: 20, b: 22 }));
  await report.play("unknown", call("_interop/unknown", {}));
  await report.play("foreign", call("no/such_method", {}));
  await report.play("burst", prompt("burst"), isIdle);
  await report.play("notes", async () => {
    const sent = [];
    for (let n = 0; n < 2000; n += 1) sent.push(ctx.notify("_interop/note", { n }));
    await Promise.all(sent);
    return ctx.request("_interop/noted", {});
  });
  await report.play("echo_odd", prompt("echo", ODD), isIdle, saw);
  await report.play("echo_big", prompt("echo", BIG), isIdle, saw);
  await report.play("withdraw", async () => {
    const stop = new AbortController();
    const hung = ctx.request("_interop/hang", {}, { cancellationSignal: stop.signal });
    await hanging.promise;
    stop.abort();
    await hung.catch(() => {});
    return ctx.request("_interop/hung", {});
  });
  await report.play("counts", call("_interop/counts", {}));
});
await conversation.catch((error) => report.broke(error));
report.print(await agent.end());
