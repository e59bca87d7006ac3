// Knows where the official TypeScript SDK is, and what every program here needs: the story, the pipes, a report.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const ENTRY = { v1: "@agentclientprotocol/sdk", v2: "@agentclientprotocol/sdk/experimental/v2" };

function load(name) {
  const require = createRequire(join(process.env.ACCORD_TS_PEER, "program.js"));
  return import(pathToFileURL(require.resolve(name)));
}

export function loadSdk(edition) {
  return load(ENTRY[edition]);
}

export function loadStory(edition) {
  return JSON.parse(readFileSync(new URL(`./story_${edition}.json`, import.meta.url), "utf8"));
}

export function ownStdio(acp) {
  return acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
}

// Serves an agent: over its own stdio, or, with ACCORD_SERVE, over HTTP and WebSocket on a port that it prints.
export async function speak(acp, app) {
  if (!process.env.ACCORD_SERVE) {
    app.connect(ownStdio(acp));
    return;
  }
  const { AcpServer } = await load("@agentclientprotocol/sdk/experimental/server");
  const node = await load("@agentclientprotocol/sdk/experimental/node");
  const { WebSocketServer } = (await load("ws")).default;
  const server = new AcpServer({ agent: app });
  const http = createServer(node.createNodeHttpHandler(server));
  http.on("upgrade", node.createNodeWebSocketUpgradeHandler(server, new WebSocketServer({ noServer: true })));
  http.listen(0, "127.0.0.1", () => process.stdout.write(`${http.address().port}\n`));
}

export function text(value) {
  return { type: "text", text: value };
}

// What the other side answered instead of a result.
export async function refusal(promise) {
  try {
    return { result: await promise };
  } catch (error) {
    if (typeof error?.code !== "number") throw error;
    return { code: error.code, message: error.message, data: error.data ?? null };
  }
}

export function gate() {
  let open;
  const promise = new Promise((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

// Numbered notes of the client, and whether they came in order.
export class Notes {
  count = 0;
  ordered = true;

  take(n) {
    this.ordered &&= n === this.count;
    this.count += 1;
  }

  stock() {
    return { count: this.count, ordered: this.ordered };
  }
}

// Starts the agent that the arguments name. `end` closes its stdin and tells how it ended.
export function startAgent(acp) {
  const [program, ...args] = process.argv.slice(2);
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const exit = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
  return {
    stream: acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)),
    async end() {
      child.stdin.end();
      const { code, signal } = await exit;
      return { pid: child.pid, code, signal };
    },
  };
}

// Plays scenes one after the other and keeps what each gave and what arrived meanwhile.
export class Report {
  scenes = {};
  received = [];
  #waiting = [];

  heard(method, params) {
    this.received.push([method, params]);
    for (const waiting of this.#waiting) if (waiting.is(method, params)) waiting.open();
  }

  // A scene is over when its call is answered and what else is expected has arrived. The SDK runs the handlers of
  // different methods beside each other, so the last to be sent need not be the last to be handled.
  async play(name, act, ...expected) {
    this.received = [];
    this.#waiting = expected.map((is) => ({ ...gate(), is }));
    const scene = {};
    try {
      Object.assign(scene, await refusal(act()));
      if ("result" in scene) await Promise.all(this.#waiting.map((each) => each.promise));
    } catch (error) {
      scene.broke = String(error?.stack ?? error);
    }
    scene.received = this.received;
    this.scenes[name] = scene;
  }

  broke(error) {
    this.scenes.connection = { broke: String(error?.stack ?? error), received: [] };
  }

  print(exit) {
    // Five megabytes are compared here; the report says only whether they are equal.
    const brief = (_, value) => (value?.length > 100_000 ? (value === BIG ? "equal" : "different") : value);
    process.stdout.write(JSON.stringify({ scenes: this.scenes, exit }, brief) + "\n");
  }
}

// Whether only the handshake is to be played.
export const BRIEF = process.argv[2] === "--handshake";
if (BRIEF) process.argv.splice(2, 1);

export const saw = (method) => method === "_interop/saw";

export const BIG = "0123456789abcdef".repeat((5 * 1024 * 1024) / 16);
export const ODD =
  "line\u2028separator\u2029paragraph\u0085next 👩‍👩‍👧 🌍 \u0000\u001f\u007f \ufeff é e\u0301 \\ \" \r\n\t";
