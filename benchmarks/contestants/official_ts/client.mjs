// The client on the official TypeScript SDK, by its public API. What it does is in contestants/play.py.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import acp from "./sdk.mjs";

const { methods } = acp;
const argv = process.argv;
const scenario = JSON.parse(argv[argv.indexOf("--scenario") + 1]);
const command = argv.slice(argv.indexOf("--", 2) + 1);

// --- measuring

const now = () => Number(process.hrtime.bigint()) / 1e9;

const cpuSeconds = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
};

const peakKilobytes = (pid) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

const meter = (pid) => {
  const clientCpu = process.cpuUsage();
  const agentCpu = cpuSeconds(pid);
  const began = now();
  return () => {
    const wall = now() - began;
    const used = process.cpuUsage(clientCpu);
    return {
      wall,
      client_cpu: (used.user + used.system) / 1e6,
      agent_cpu: cpuSeconds(pid) - agentCpu,
      client_rss: peakKilobytes("self"),
      agent_rss: peakKilobytes(pid),
    };
  };
};

const LINE = '    value = compute("item", index=42)  # a comment line of code\n';
const fileText = (size) => LINE.repeat(Math.floor(size / LINE.length) + 1).slice(0, size);

// --- what the handlers need

const slow = scenario.slow_ms ?? 0;
let count = 0;
let outOfOrder = 0;
let firstAt = null;
let file = "";
const next = new Map();

const tally = ({ sessionId, update }) => {
  firstAt ??= now();
  const number = parseInt(update.content.text.slice(0, 8), 10);
  if (number !== (next.get(sessionId) ?? 0)) outOfOrder++;
  next.set(sessionId, number + 1);
  count++;
};

const tallyLater = async (params) => {
  if (scenario.kind === "stall") await new Promise(() => {});
  if (parseInt(params.update.content.text.slice(0, 8), 10) % 2) await new Promise((done) => setTimeout(done, slow));
  tally(params);
};

const suspends = scenario.kind === "stall" || slow > 0;
const app = acp
  .client({ name: "bench-client" })
  .onNotification(
    methods.client.session.update,
    suspends ? async ({ params }) => tallyLater(params) : ({ params }) => tally(params),
  )
  .onRequest(methods.client.fs.readTextFile, () => ({ content: file }));

// --- the scenario

const text = (work) => ({ type: "text", text: JSON.stringify(work) });
const stream = (n, size) => [text({ op: "stream", n, size })];
const until = async (n) => {
  while (count < n) await new Promise((done) => setImmediate(done));
};

const began = now();
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const out = {};

await app.connectWith(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (connection) => {
  await connection.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: false } },
  });
  out.init_s = now() - began;
  const newSession = async () =>
    (await connection.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] })).sessionId;
  const prompt = (sessionId, blocks) => connection.request(methods.agent.session.prompt, { sessionId, prompt: blocks });
  const session = await newSession();
  const ping = () => connection.request(methods.agent.session.setMode, { sessionId: session, modeId: "m" });
  const timed = async (n, work) => {
    const latencies = [];
    for (let i = 0; i < n; i++) {
      const start = performance.now();
      await work();
      latencies.push((performance.now() - start) * 1e3);
    }
    return latencies;
  };

  const plays = {
    startup: async () => {
      await prompt(session, stream(1, 100));
      await until(1);
      Object.assign(out, { first_update_s: firstAt - began, first_update_abs: firstAt });
    },
    stream: async () => {
      const stop = meter(agent.pid);
      await prompt(session, stream(scenario.n, scenario.size));
      await until(scenario.n);
      Object.assign(out, stop(), { received: count, ooo: outOfOrder });
    },
    sessions: async () => {
      const stop = meter(agent.pid);
      const sessions = await Promise.all(Array.from({ length: scenario.sessions }, newSession));
      await Promise.all(sessions.map((each) => prompt(each, stream(scenario.chunks, scenario.size))));
      await until(scenario.sessions * scenario.chunks);
      Object.assign(out, stop(), { received: count, ooo: outOfOrder });
    },
    stall: async () => {
      const stop = meter(agent.pid);
      void prompt(session, stream(scenario.n, scenario.size));
      await new Promise((done) => setTimeout(done, scenario.secs * 1000));
      Object.assign(out, stop());
    },
    ping: async () => {
      await timed(scenario.warm, ping);
      const stop = meter(agent.pid);
      const latencies = await timed(scenario.n, ping);
      Object.assign(out, stop(), { lat_us: latencies });
    },
    read: async () => {
      file = fileText(scenario.size);
      const work = { op: "read", n: scenario.n, path: `/bench/${scenario.size}`, size: scenario.size };
      const stop = meter(agent.pid);
      const answer = await prompt(session, [text(work)]);
      Object.assign(out, stop(), { lat_us: answer._meta.lat_us });
    },
    bigprompt: async () => {
      const data = "iVBORw0KGgoAAAAN".repeat(Math.floor(scenario.size / 16));
      const stop = meter(agent.pid);
      const latencies = await timed(scenario.n, async () => {
        const answer = await prompt(session, [text({ op: "noop" }), { type: "image", data, mimeType: "image/png" }]);
        if (answer._meta.bytes !== data.length) throw new Error("the image did not arrive whole");
      });
      Object.assign(out, stop(), { lat_us: latencies });
    },
  };
  await plays[scenario.kind]();
});
agent.stdin.end();
agent.kill();
process.stdout.write(`${JSON.stringify(out)}\n`, () => process.exit(0));
