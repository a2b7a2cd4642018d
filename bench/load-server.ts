/**
 * A complete server under load, in a separate process: endpoints, agents and sessions on a store on disk. Its model
 * emits tokens at a steady rate, each with its emission time, so that a client can compute the delay. The message
 * `{rate, tokens, sessions}` starts the server and returns its port; all runs start to emit after `go`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent } from "../src/agents/index.ts";
import { openSqliteLog } from "../src/log/sqlite/sqlite-log.ts";
import type { LanguageModel } from "../src/models/index.ts";
import { startLoomServer } from "../src/server/index.ts";
import { findMarks, createMark, nowUs, spreadOf } from "./marked-tokens.ts";

interface ServerSettings {
  readonly rate: number;
  readonly tokens: number;
  /** Number of sessions to create at the start: s0, s1, … */
  readonly sessions: number;
}

const go = Promise.withResolvers<void>();
let emitted = 0;
const acks: number[] = [];

class PacedModel implements LanguageModel {
  readonly specificationVersion = "v4";
  readonly provider = "bench";
  readonly modelId = "paced";
  readonly supportedUrls = {};
  readonly #settings: ServerSettings;

  constructor(settings: ServerSettings) {
    this.#settings = settings;
  }

  doGenerate(): Promise<never> {
    return Promise.reject(new Error("PacedModel only streams; use doStream()"));
  }

  async doStream(): Promise<{ stream: ReadableStream<unknown> }> {
    const { rate, tokens } = this.#settings;
    const stream = new ReadableStream<unknown>({
      async start(controller) {
        controller.enqueue({ type: "stream-start", warnings: [] });
        controller.enqueue({ type: "text-start", id: "1" });
        await go.promise;
        // Start at random offsets so that runs do not emit in step, and compute each due time from the last one so that
        // delays do not add up.
        let due = performance.now() + (Math.random() * 1000) / rate;
        let left = tokens;
        const emit = (): void => {
          if (left-- > 0) {
            emitted++;
            controller.enqueue({ type: "text-delta", id: "1", delta: createMark() });
            due += 1000 / rate;
            setTimeout(emit, Math.max(0, due - performance.now()));
            return;
          }
          controller.enqueue({ type: "text-end", id: "1" });
          const usage = { inputTokens: { total: 3 }, outputTokens: { total: tokens } };
          controller.enqueue({ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage });
          controller.close();
        };
        setTimeout(emit, due - performance.now());
      },
    });
    return { stream };
  }
}

async function open(settings: ServerSettings): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "loom-bench-"));
  const log = await openSqliteLog(join(folder, "loom.db"));
  const append = log.append.bind(log);
  log.append = async (request) => {
    const done = await append(request);
    const at = nowUs();
    for (const { text } of request.entries) for (const since of findMarks(text)) acks.push(at - since);
    return done;
  };
  for (let n = 0; n < settings.sessions; n++) await log.createSession(`s${n}`);
  const server = await startLoomServer({ log, agents: { main: agent({ model: new PacedModel(settings) }) }, port: 0 });
  process.on("disconnect", () => {
    rmSync(folder, { recursive: true, force: true });
    process.exit();
  });
  process.send?.({ port: server.port });
}

let before = process.cpuUsage();
let beganAt = performance.now();

function handleMessage(message: ServerSettings | "go" | "memory" | "report"): void {
  if (message === "go") {
    before = process.cpuUsage();
    beganAt = performance.now();
    go.resolve();
  } else if (message === "memory") {
    for (let n = 0; n < 4; n++) globalThis.gc?.();
    const { heapUsed, external, rss } = process.memoryUsage();
    process.send?.({ held: heapUsed + external, rss });
  } else if (message === "report") {
    const { user, system } = process.cpuUsage(before);
    const ms = performance.now() - beganAt;
    process.send?.({ emitted, share: (user + system) / 1000 / ms, ack: spreadOf(acks) });
  } else void open(message);
}

process.on("message", handleMessage);
