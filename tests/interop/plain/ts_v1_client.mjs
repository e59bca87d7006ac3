// The plainest client on the official TypeScript SDK, v1: two prompts to the agent whose command are its arguments.
import { loadSdk, startAgent, text } from "../peers/sdk.mjs";

const acp = await loadSdk("v1");
const { methods, RequestError } = acp;
const agent = startAgent(acp);
let opened;
let cancel;

const client = acp
  .client({ name: "plain-ts-v1-client" })
  .onNotification(methods.client.session.update, () => {})
  .onRequest(methods.client.session.requestPermission, async ({ params }) => {
    if (params.sessionId !== opened) throw RequestError.invalidParams({ field: "sessionId" });
    if (params.toolCall.title?.includes("please cancel")) {
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
      protocolVersion: 1,
      clientInfo: { name: "plain-ts-v1-client", version: "1" },
      clientCapabilities: {},
    });
    if (protocolVersion !== 1) return;
    const { sessionId } = await ctx.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
    opened = sessionId;
    cancel = () => ctx.notify(methods.agent.session.cancel, { sessionId });
    for (const words of ["Hello", "Something that I shall cancel"]) {
      await ctx.request(methods.agent.session.prompt, { sessionId, prompt: [text(words)] });
    }
  });
} finally {
  await agent.end();
}
