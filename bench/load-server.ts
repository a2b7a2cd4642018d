/**
 * A whole server under load, in a process of its own: the doors, agents and sessions as they are, on a store on disk. Its
 * model says a token at a time, at a steady pace, and each token bears the time at which it was said; so whoever sees one
 * knows how long it took. Told `{rate, tokens}` it listens and answers with its port; all runs speak after `go`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent } from "../src/agents/index.ts";
import { openSqliteLog } from "../src/log/sqlite/sqlite-log.ts";
import type { LanguageModel } from "../src/models/index.ts";
import { startLoomServer } from "../src/server/index.ts";
import { findMarks, mark, now, spreadOf } from "./marked-tokens.ts";

interface Opening {
  readonly rate: number;
  readonly tokens: number;
  /** Sessions that are there at the start: s0, s1, … */
  readonly sessions: number;
}

const go = Promise.withResolvers<void>();
let said = 0;
const acks: number[] = [];

class PacedModel implements LanguageModel {
  readonly specificationVersion = "v4";
  readonly provider = "bench";
  readonly modelId = "paced";
  readonly supportedUrls = {};
  readonly #opening: Opening;

  constructor(opening: Opening) {
    this.#opening = opening;
  }

  doGenerate(): Promise<never> {
    return Promise.reject(new Error("it only streams"));
  }

  async doStream(): Promise<{ stream: ReadableStream<unknown> }> {
    const { rate, tokens } = this.#opening;
    const stream = new ReadableStream<unknown>({
      async start(controller) {
        controller.enqueue({ type: "stream-start", warnings: [] });
        controller.enqueue({ type: "text-start", id: "1" });
        await go.promise;
        // Not all in the same moment, and not later than due because an earlier one was.
        let due = performance.now() + (Math.random() * 1000) / rate;
        let left = tokens;
        const say = (): void => {
          if (left-- > 0) {
            said++;
            controller.enqueue({ type: "text-delta", id: "1", delta: mark() });
            due += 1000 / rate;
            setTimeout(say, Math.max(0, due - performance.now()));
            return;
          }
          controller.enqueue({ type: "text-end", id: "1" });
          const usage = { inputTokens: { total: 3 }, outputTokens: { total: tokens } };
          controller.enqueue({ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage });
          controller.close();
        };
        setTimeout(say, due - performance.now());
      },
    });
    return { stream };
  }
}

async function open(opening: Opening): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "loom-bench-"));
  const log = await openSqliteLog(join(folder, "loom.db"));
  const append = log.append.bind(log);
  log.append = async (request) => {
    const done = await append(request);
    const at = now();
    for (const { text } of request.entries) for (const since of findMarks(text)) acks.push(at - since);
    return done;
  };
  for (let n = 0; n < opening.sessions; n++) await log.createSession(`s${n}`);
  const server = await startLoomServer({ log, agents: { main: agent({ model: new PacedModel(opening) }) }, port: 0 });
  process.on("disconnect", () => {
    rmSync(folder, { recursive: true, force: true });
    process.exit();
  });
  process.send?.({ port: server.port });
}

let before = process.cpuUsage();
let beganAt = performance.now();

function obey(order: Opening | "go" | "memory" | "report"): void {
  if (order === "go") {
    before = process.cpuUsage();
    beganAt = performance.now();
    go.resolve();
  } else if (order === "memory") {
    for (let n = 0; n < 4; n++) globalThis.gc?.();
    const { heapUsed, external, rss } = process.memoryUsage();
    process.send?.({ held: heapUsed + external, rss });
  } else if (order === "report") {
    const { user, system } = process.cpuUsage(before);
    const ms = performance.now() - beganAt;
    process.send?.({ said, share: (user + system) / 1000 / ms, ack: spreadOf(acks) });
  } else void open(order);
}

process.on("message", obey);
