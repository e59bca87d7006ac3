// A program: an agent of Mastra with the rehearsed model on loopback, which prints the port and ends with its stdin.
//
//   node mastra_endpoint.mjs FOLDER_OF_PACKAGES
//
// `@ag-ui/mastra` brings a route for CopilotKit's own protocol and none for AG-UI itself: the events of its agent are
// written by `@ag-ui/encoder`, as its README leaves it to an application. The steps are those of `rehearsal.py`.
import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const require = createRequire(join(resolve(process.argv[2]), "program.js"));
const { EventEncoder } = require("@ag-ui/encoder");
const { MastraAgent } = require("@ag-ui/mastra");
const { Mastra } = require("@mastra/core");
const { Agent } = require("@mastra/core/agent");
const { RequestContext } = require("@mastra/core/request-context");
const { InMemoryStore } = require("@mastra/core/storage");
const { createTool } = require("@mastra/core/tools");
const { z } = require("zod");

const folder = process.env.ACCORD_ENDPOINT_FOLDER;
const HOUR = 3_600_000;

// --- the model

function conversation(messages) {
  const prompts = [];
  let results = [];
  for (const { role, content } of messages) {
    if (role === "user") {
      prompts.push(content.map((part) => part.text ?? "").join(""));
      results = [];
    } else if (role === "tool") {
      results.push(...content.map((part) => String(part.output.value)));
    }
  }
  return { prompts, results };
}

function steps({ prompts, results }) {
  const prompt = prompts.at(-1);
  const calls = {
    ask: { toolName: "ask", input: {} },
    delete: { toolName: "delete_file", input: { path: "old.txt" } },
    read: { toolName: "read_file", input: { path: "a.txt" } },
    sleep: { toolName: "sleep", input: {} },
  };
  if (results.length) return { texts: [`Done: ${results.join(" | ")}`] };
  if (prompt in calls) {
    const call = { toolCallId: `call_${prompts.length}`, ...calls[prompt] };
    return { thoughts: ["It wants something. "], texts: ["I do it."], call };
  }
  if (prompt === "remember") return { texts: [prompts.join(" / ")] };
  return { thoughts: ["Somebody ", "is there."], texts: ["Hello ", "there."] };
}

function* parts({ thoughts = [], texts, call }) {
  yield { type: "stream-start", warnings: [] };
  if (thoughts.length) {
    yield { type: "reasoning-start", id: "thoughts" };
    for (const delta of thoughts) yield { type: "reasoning-delta", id: "thoughts", delta };
    yield { type: "reasoning-end", id: "thoughts" };
  }
  yield { type: "text-start", id: "text" };
  for (const delta of texts) yield { type: "text-delta", id: "text", delta };
  yield { type: "text-end", id: "text" };
  if (call) yield { type: "tool-call", ...call, input: JSON.stringify(call.input) };
  const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };
  yield { type: "finish", finishReason: call ? "tool-calls" : "stop", usage };
}

const model = {
  specificationVersion: "v2",
  provider: "rehearsed",
  modelId: "rehearsed",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("AG-UI streams")),
  doStream: async ({ prompt }) => ({ stream: ReadableStream.from(parts(steps(conversation(prompt)))) }),
};

// --- the tools

const path = z.object({ path: z.string() });
const tools = {
  ask: createTool({
    id: "ask",
    description: "Ask for a city.",
    inputSchema: z.object({}),
    resumeSchema: z.object({ city: z.string() }),
    execute: async (_, { agent }) => agent.resumeData?.city ?? agent.suspend({ message: "Which city?" }),
  }),
  delete_file: createTool({
    id: "delete_file",
    description: "Delete a file.",
    inputSchema: path,
    resumeSchema: z.object({ approved: z.boolean() }),
    execute: async (input, { agent }) => {
      if (!agent.resumeData) return agent.suspend({ reason: "It deletes a file." });
      if (!agent.resumeData.approved) return "refused";
      await rm(join(folder, input.path), { force: true });
      return "removed";
    },
  }),
  read_file: createTool({
    id: "read_file",
    description: "Read a file.",
    inputSchema: path,
    execute: (input) => readFile(join(folder, input.path), "utf8"),
  }),
  sleep: createTool({
    id: "sleep",
    description: "Sleep for an hour.",
    inputSchema: z.object({}),
    execute: async (_, { abortSignal }) => {
      await writeFile(join(folder, "begun"), "");
      await sleep(HOUR, undefined, { signal: abortSignal });
      return "slept";
    },
  }),
};

// --- the server

// A run goes on when its stream is closed, and the next run of its thread waits for it. What stops it is a signal, which
// `@ag-ui/mastra` does not hand over: it goes by the context of the request.
const ABORT = "abort";
const rehearsed = new Agent({
  id: "rehearsed",
  name: "rehearsed",
  instructions: "Rehearse.",
  model,
  tools,
  defaultOptions: ({ requestContext }) => ({ abortSignal: requestContext.get(ABORT) }),
});
const mastra = new Mastra({ agents: { rehearsed }, storage: new InMemoryStore(), logger: false });

const server = createServer(async (request, response) => {
  const body = await request.setEncoding("utf8").toArray();
  const encoder = new EventEncoder();
  response.writeHead(200, { "Content-Type": encoder.getContentType() });
  const aborting = new AbortController();
  const requestContext = new RequestContext([[ABORT, aborting.signal]]);
  const agent = new MastraAgent({ agent: mastra.getAgent("rehearsed"), resourceId: "user", requestContext });
  const running = agent.run(JSON.parse(body.join(""))).subscribe({
    next: (event) => response.write(encoder.encodeSSE(event)),
    error: (error) => response.end(encoder.encodeSSE({ type: "RUN_ERROR", message: String(error) })),
    complete: () => response.end(),
  });
  response.on("close", () => {
    running.unsubscribe();
    aborting.abort();
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit(0));
