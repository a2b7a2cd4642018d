// Runs the examples as separate processes and kills them at various points. They run the source, not dist.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { createStreamCheck, type DialectName, DIALECTS } from "../src/dialects/index.ts";
import { openSqliteLog } from "../src/log/sqlite/sqlite-log.ts";
import { openStream, type StreamFrame } from "../src/log/stream.ts";
import { nodeArgs } from "./bundle-source.ts";
import { LONG, PROGRAM_SAMPLES, sampleCases } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";
import { SOURCE_HOOK } from "./source-hook.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-examples-"));
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

let count = 0;
const newStore = (): string => join(folder, `${++count}.db`);

interface Program {
  readonly process: ChildProcess;
  /** Lines of standard output so far. */
  readonly lines: string[];
  errors(): string;
  /** Resolves when standard output has this many lines, or the program has ended. */
  waitForLines(lines: number): Promise<void>;
  /** Resolves at the first output on standard error: a follower is then ready. */
  waitForReady(): Promise<void>;
  /** Resolves when this text is on standard error, or the program has ended. */
  waitForError(words: string): Promise<void>;
  /** Resolves to the exit code, or null if the program was killed. */
  readonly ended: Promise<number | null>;
}

function start(name: string, ...args: readonly string[]): Program {
  const child = spawn(
    process.execPath,
    [...nodeArgs(), "--import", SOURCE_HOOK, join(packageRoot, "examples", name), ...args],
    {
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  children.add(child);
  const lines: string[] = [];
  let unfinished = "";
  const errorChunks: string[] = [];
  let changed = Promise.withResolvers<void>();
  const notify = (): void => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const parts = (unfinished + chunk).split("\n");
    unfinished = parts.pop() ?? "";
    lines.push(...parts);
    notify();
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errorChunks.push(chunk);
    notify();
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject).on("close", (code) => {
      children.delete(child);
      notify();
      resolve(code);
    });
  });
  return {
    process: child,
    lines,
    errors: () => errorChunks.join(""),
    async waitForLines(wanted) {
      while (lines.length < wanted && children.has(child)) await changed.promise;
    },
    async waitForReady() {
      while (errorChunks.length === 0 && children.has(child)) await changed.promise;
    },
    async waitForError(words) {
      while (!errorChunks.join("").includes(words) && children.has(child)) await changed.promise;
    },
    ended,
  };
}

const send = (store: string, ms: number): Program => start("durable-sender.ts", store, String(ms));
const follow = (store: string, dialect: DialectName): Program => start("follow.ts", dialect, store);

/** Reads all frames of the session. */
async function readFrames(store: string, dialect: DialectName): Promise<readonly StreamFrame[]> {
  const log = await openSqliteLog(store);
  try {
    const frames: StreamFrame[] = [];
    for await (const batch of openStream(log, "demo", { dialect })) frames.push(...batch);
    return frames;
  } finally {
    await log.close();
  }
}

async function readTexts(store: string, dialect: DialectName): Promise<readonly string[]> {
  return (await readFrames(store, dialect)).map(({ text }) => text);
}

const parse = (text: string | undefined): unknown => JSON.parse(text ?? "null");

/** Counts the starts of each tool. */
function countStarts(lines: readonly string[]): { readonly [name: string]: number } {
  const counts: { [name: string]: number } = {};
  for (const line of lines) {
    const { type, name = "" } = parse(line) as { readonly type?: string; readonly name?: string };
    if (type === "tool_start") counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function findIssues(dialect: DialectName, texts: readonly string[]): readonly unknown[] {
  const check = createStreamCheck(DIALECTS[dialect]);
  return [...texts.flatMap((text) => check.check(text).issues), ...check.end()];
}

// A busy machine needs longer than the default.
describe("examples", { timeout: 120_000 }, () => {
  it("receive.ts receives a complete run over a bad connection, and reports a truncated one", async () => {
    const receiver = start("receive.ts");
    expect(await receiver.ended, receiver.errors()).toBe(0);
    expect(receiver.lines).toEqual([
      "The answer is 42, and each word arrived once.",
      "complete, verified",
      "The answer is 42, and each word arrived ",
      "truncated: The stream ended during a run",
    ]);
  });

  it.runIf(LONG)(
    "durable-sender.ts streams a run to follow.ts, which prints it once and rejects invalid arguments",
    async () => {
      const store = newStore();
      // The follower starts first and waits for the session.
      const follower = follow(store, "engine");
      const sender = send(store, 0);
      expect(await sender.ended, sender.errors()).toBe(0);
      expect(sender.lines).toEqual([`writing session "demo" to ${store}`, "done"]);
      expect(await follower.ended, follower.errors()).toBe(0);
      expect(follower.lines).toEqual(await readTexts(store, "engine"));
      expect(findIssues("engine", follower.lines)).toEqual([]);
      expect([...new Set(follower.lines.map((line) => (parse(line) as { type: string }).type))]).toEqual([
        "session_start",
        "thinking",
        "tool_call_start",
        "tool_call_progress",
        "tool_call_end",
        "data",
        "content",
        "session_end",
      ]);
      // After a restart, no frame is left to print.
      const again = follow(store, "engine");
      expect(await again.ended).toBe(0);
      expect(again.lines).toEqual([]);

      const unknown = follow(store, "nope" as DialectName);
      expect([await unknown.ended, unknown.lines, unknown.errors()]).toMatchObject([
        2,
        [],
        /unknown dialect .*; choose one of loom, /,
      ]);
      writeFileSync(`${store}.loom.cursor`, "1.abcdefgh.3");
      const stale = follow(store, "loom");
      expect([await stale.ended, stale.lines]).toEqual([2, []]);
      expect(stale.errors()).toContain("cursor_stale: ");
      expect(stale.errors()).toContain(`remove ${store}.loom.cursor`);
    },
  );

  it.runIf(LONG).concurrent.each<DialectName>(["engine", "loom", "lumine"])(
    "follow.ts prints exactly the rest after a kill, in %s",
    async (dialect) => {
      const store = newStore();
      const first = follow(store, dialect);
      await first.waitForReady();
      // Slow enough to be stopped before its end, also on a busy machine.
      const sender = send(store, 100);
      await first.waitForLines(10);
      // The follower is idle, so the printed frames and the saved cursor agree.
      sender.process.kill("SIGSTOP");
      const seen = await vi.waitFor(
        async () => {
          const frames = await readFrames(store, dialect);
          expect(first.lines).toEqual(frames.map(({ text }) => text));
          expect(readFileSync(`${store}.${dialect}.cursor`, "utf8")).toBe(frames.at(-1)?.cursor);
          return frames.length;
        },
        { timeout: 10_000 },
      );
      first.process.kill("SIGKILL");
      await first.ended;
      sender.process.kill("SIGCONT");
      const second = follow(store, dialect);
      expect(await second.ended, second.errors()).toBe(0);
      const all = await readTexts(store, dialect);
      expect(seen).toBeLessThan(all.length);
      expect(second.lines).toEqual(all.slice(seen));
      expect(findIssues(dialect, all)).toEqual([]);
    },
  );

  it.runIf(LONG).concurrent("follow.ts loses no frame when it is killed repeatedly", async () => {
    const store = newStore();
    const sender = send(store, 40);
    const printed: string[] = [];
    for (let kills = 0; ; kills++) {
      const follower = follow(store, "loom");
      await follower.waitForLines(1 + (kills % 4));
      if (kills < PROGRAM_SAMPLES.kills) follower.process.kill("SIGKILL");
      const code = await follower.ended;
      // After a kill between printing and saving, a frame is printed again.
      const isRepeated = printed.length > 0 && follower.lines[0] === printed.at(-1);
      printed.push(...follower.lines.slice(isRepeated ? 1 : 0));
      if (code !== null) break;
    }
    expect(await sender.ended).toBe(0);
    expect(printed).toEqual(await readTexts(store, "loom"));
  });

  it.runIf(LONG).concurrent(
    "follow.ts reports how a run ended whose sender was killed, and prints the next run",
    async () => {
      const store = newStore();
      const followers = [follow(store, "loom"), follow(store, "engine")] as const;
      await Promise.all(followers.map((follower) => follower.waitForReady()));
      const sender = send(store, 60);
      await Promise.all(followers.map((follower) => follower.waitForLines(5)));
      sender.process.kill("SIGKILL");
      expect(await Promise.all(followers.map(({ ended }) => ended))).toEqual([1, 1]);
      const [loom, engine] = followers;
      expect(loom.errors() + engine.errors()).toContain("the sender is no longer running");
      for (const { errors } of followers) expect(errors()).toContain("the run has ended: error interrupted");
      expect(parse(loom.lines.at(-2))).toMatchObject({ type: "run_end", status: "error", code: "interrupted" });
      expect(parse(loom.lines.at(-1))).toMatchObject({ reply: "" });
      expect(parse(engine.lines.at(-1))).toMatchObject({ type: "session_end", data: { status: "error" } });
      for (const dialect of ["loom", "engine"] as const) {
        const { lines } = dialect === "loom" ? loom : engine;
        expect(lines).toEqual(await readTexts(store, dialect));
        expect(findIssues(dialect, lines)).toEqual([]);
      }
      expect(await send(store, 0).ended).toBe(0);
      const next = follow(store, "loom");
      expect(await next.ended).toBe(0);
      const all = [...loom.lines, ...next.lines];
      expect(all).toEqual(await readTexts(store, "loom"));
      expect(parse(next.lines[0])).toMatchObject({ type: "run_start" });
      expect(findIssues("loom", all)).toEqual([]);
    },
  );

  // The test before starts a new run too.
  it.runIf(LONG).concurrent("durable-sender.ts starts a new run after a kill", async () => {
    const store = newStore();
    const first = follow(store, "loom");
    await first.waitForReady();
    const killed = send(store, 60);
    await first.waitForLines(4);
    first.process.kill("SIGKILL");
    await first.ended;
    killed.process.kill("SIGKILL");
    await killed.ended;
    expect(await send(store, 0).ended).toBe(0);
    const second = follow(store, "loom");
    expect(await second.ended).toBe(0);
    const all = await readTexts(store, "loom");
    expect(all.slice(-second.lines.length)).toEqual(second.lines);
    const statuses = all.filter((text) => text.includes('"run_end"')).map((text) => parse(text));
    expect(statuses).toMatchObject([{ status: "error", code: "interrupted" }, { status: "completed" }]);
    expect(findIssues("loom", all)).toEqual([]);
  });

  // The test after it takes a decision from a second process too.
  it.runIf(LONG).concurrent("react.ts takes a decision from a second shell", async () => {
    const store = newStore();
    const asking = start("react.ts", store);
    await asking.waitForError("is waiting for your approval");
    const answering = start("react.ts", store, "yes");
    expect([await answering.ended, answering.lines], answering.errors()).toEqual([0, []]);
    expect(await asking.ended, asking.errors()).toBe(0);
    expect(findIssues("loom", asking.lines)).toEqual([]);
    expect(countStarts(asking.lines)).toEqual({ calculator: 1, current_time: 1, write_file: 1 });
    expect(readFileSync(join(`${store}.files`, "answer.txt"), "utf8")).toContain("42");
    expect(parse(asking.lines.at(-1))).toMatchObject({ reply: expect.stringContaining("42") as string });
    const late = start("react.ts", store, "yes");
    expect([await late.ended, late.errors()]).toMatchObject([1, /no call is waiting/]);
  });

  it.concurrent.each(sampleCases(["yes", "no"]))(
    "react.ts finishes a run that was killed while it waited: %s",
    async (word) => {
      const store = newStore();
      const killed = start("react.ts", store);
      await killed.waitForError("is waiting for your approval");
      killed.process.kill("SIGKILL");
      expect(await killed.ended).toBeNull();
      const second = start("react.ts", store, word);
      expect(await second.ended, second.errors()).toBe(0);
      // The run starts with the frames seen before the kill.
      expect(second.lines.slice(0, killed.lines.length)).toEqual(killed.lines);
      expect(findIssues("loom", second.lines)).toEqual([]);
      const starts = { calculator: 1, current_time: 1, ...(word === "yes" ? { write_file: 1 } : {}) };
      expect(countStarts(second.lines)).toEqual(starts);
      expect(existsSync(join(`${store}.files`, "answer.txt"))).toBe(word === "yes");
    },
  );
});

describe("one-line.ts and define-a-tool.ts", () => {
  it.concurrent.each([
    ["one-line.ts", [/17\*23 = 391/, /joke/]],
    [
      "define-a-tool.ts",
      [/^request_start execute$/, /^tool_calls_start/, /^tool_result/, /^agent_finish/, /There it is\. \(1 call\)/],
    ],
  ])("prints the expected output: %s", async (name, expected) => {
    const program = start(name);
    expect(await program.ended, program.errors()).toBe(0);
    expect(program.lines).toHaveLength(expected.length);
    for (const [index, words] of expected.entries()) expect(program.lines[index]).toMatch(words);
  });
});
