// Finds the official TypeScript SDK where scripts/peers installed it.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const peer = createRequire(new URL("../../../.peers/ts/", import.meta.url));
export const load = (name) => import(pathToFileURL(peer.resolve(name)).href);
const acp = await load("@agentclientprotocol/sdk");
export default acp;
