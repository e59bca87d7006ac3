// A client on the official TypeScript SDK, v2: the rich conversation over two lives of the agent.
import { Report, loadSdk, startAgent, text } from "./sdk.mjs";

const acp = await loadSdk("v2");
const { methods } = acp;
const cwd = process.env.ACCORD_PROJECT;
const report = new Report();
const isIdle = (method, update) => update.sessionUpdate === "state_update" && update.state === "idle";
let onUpdate = () => {};

const app = acp
  .client({ name: "rich" })
  .onNotification(methods.client.session.update, ({ params }) => {
    report.heard("session/update", params.update);
    onUpdate(params);
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    report.heard("session/request_permission", params);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  });

// The agent from its start to its end; the handshake is in the report.
async function live(name, act) {
  const agent = startAgent(acp);
  const conversation = app.connectWith(agent.stream, async (ctx) => {
    await report.play(`${name}_initialize`, () =>
      ctx.request(methods.agent.initialize, {
        protocolVersion: 2,
        info: { name: "ts-client", version: "1" },
        capabilities: {},
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
  const set = (configId, value) => call(session.setConfigOption, { sessionId, configId, type: "id", value });
  onUpdate = ({ update }) => {
    if (update.sessionUpdate === "agent_message_chunk" && update.content.text === "Watching.") {
      void ctx.notify(session.cancel, { sessionId });
    }
  };
  await report.play("new", call(session.new, { cwd, mcpServers: [] }));
  sessionId = report.scenes.new.result.sessionId;
  await report.play("mode", set("mode", "code"));
  await report.play("model", set("model", "large"));
  await report.play("fix", prompt(ctx, "fix"), isIdle);
  await report.play("wait", prompt(ctx, "wait"), isIdle);
  await report.play("list", call(session.list, { cwd }));
});
const exit = await live("second", async (ctx) => {
  const call = (method, params) => () => ctx.request(method, params);
  const setup = { sessionId, cwd, mcpServers: [] };
  await report.play("load", call(session.resume, { ...setup, replayFrom: { type: "start" } }), isIdle);
  await report.play("recall", prompt(ctx, "recall"), isIdle);
  await report.play("help", prompt(ctx, "/help tests"), isIdle);
  await report.play("close", call(session.close, { sessionId }));
  await report.play("closed", prompt(ctx, "recall"), isIdle);
  await report.play("resume", call(session.resume, setup), isIdle);
});
report.print(exit);
