// What the rich agents on the TypeScript SDK share: the story, and one session that is kept over restarts.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const story = JSON.parse(readFileSync(new URL("./rich_story.json", import.meta.url), "utf8"));
export const SESSION = "session-1";

export class Memory {
  #file = join(process.env.XDG_STATE_HOME, "session.json");
  cwd = "";
  title = null;
  mode = "ask";
  model = "small";
  said = [];
  noted = [];
  updates = [];

  load() {
    if (existsSync(this.#file)) Object.assign(this, JSON.parse(readFileSync(this.#file, "utf8")));
    return this.cwd !== "";
  }

  save() {
    writeFileSync(this.#file, JSON.stringify(this));
  }

  note(prompt) {
    this.said.push(prompt);
    if (!prompt.startsWith("/")) this.noted.push(prompt);
    this.save();
  }

  recall() {
    return `You said ${this.said.join(", ")}; I noted ${this.noted.join(", ")}.`;
  }
}

export const count = " 5 tool calls, the last one cancelled.";

export function planEntries(done) {
  return story.steps.map((step, index) => ({
    ...step,
    status: index < done ? "completed" : index === done ? "in_progress" : "pending",
  }));
}

export const better = (greeting) => greeting.replace("Go away", "Welcome");
export const CHANGES = "made it friendly\n";
export const greetingOf = (cwd) => join(cwd, "greeting.txt");
export const changesOf = (cwd) => join(cwd, "log", "changes.txt");
