// Finds the official TypeScript SDK where scripts/peers installed it.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const peer = createRequire(new URL("../../../.peers/ts/", import.meta.url));
const acp = await import(pathToFileURL(peer.resolve("@agentclientprotocol/sdk")).href);
export default acp;
