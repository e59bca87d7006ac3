// An agent on the official TypeScript SDK that speaks v1 and v2, whichever the client asks for.
import { loadSdk, ownStdio } from "./sdk.mjs";

const v1 = await loadSdk("v1");
const v2 = await loadSdk("v2");

const older = v1
  .agent({ name: "router" })
  .onRequest(v1.methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
  .onRequest(v1.methods.agent.session.new, () => ({ sessionId: "older" }));
const newer = v2
  .agent({ name: "router" })
  .onRequest(v2.methods.agent.initialize, () => ({
    protocolVersion: 2,
    info: { name: "router", version: "1" },
    capabilities: { session: {} },
  }))
  .onRequest(v2.methods.agent.session.new, () => ({ sessionId: "newer" }));

v2.agentProtocolRouter().withV1(older).withV2(newer).connect(ownStdio(v2));
