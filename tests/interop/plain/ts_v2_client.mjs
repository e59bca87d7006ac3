// The plainest client on the official TypeScript SDK, v2: two prompts to the agent whose command are its arguments.
import { gate, loadSdk, startAgent, text } from "../peers/sdk.mjs";

const acp = await loadSdk("v2");
const { methods, RequestError } = acp;
const agent = startAgent(acp);
let opened;
let cancel;
let idle = gate();

const client = acp
  .client({ name: "plain-ts-v2-client" })
  .onNotification(methods.client.session.update, ({ params }) => {
    const { sessionUpdate, state } = params.update;
    if (params.sessionId === opened && sessionUpdate === "state_update" && state === "idle") idle.open();
  })
  .onRequest(methods.client.session.requestPermission, async ({ params }) => {
    if (params.sessionId !== opened) throw RequestError.invalidParams({ field: "sessionId" });
    if (params.title.includes("please cancel")) {
      await cancel();
      return { outcome: { outcome: "cancelled" } };
    }
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  })
  .onRequest(methods.client.elicitation.create, () => {
    throw RequestError.invalidParams({ field: "mode" });
  });

try {
  await client.connectWith(agent.stream, async (ctx) => {
    const { protocolVersion } = await ctx.request(methods.agent.initialize, {
      protocolVersion: 2,
      info: { name: "plain-ts-v2-client", version: "1" },
      capabilities: {},
    });
    if (protocolVersion !== 2) return;
    const { sessionId } = await ctx.request(methods.agent.session.new, { cwd: process.cwd() });
    opened = sessionId;
    cancel = () => ctx.notify(methods.agent.session.cancel, { sessionId });
    for (const words of ["Hello", "Something that I shall cancel"]) {
      idle = gate();
      await ctx.request(methods.agent.session.prompt, { sessionId, prompt: [text(words)] });
      await idle.promise;
    }
  });
} finally {
  await agent.end();
}
