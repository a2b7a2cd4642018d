// Runs of other frameworks in real processes that are killed, cancelled and answered from outside, on one SQLite log.
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ReadableStream as NodeReadableStream } from "node:stream/web";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { conversation, foreignAgent, fromAsyncIterable, record } from "../../src/adapters/index.ts";
import { DIALECT_NAMES, type DialectName } from "../../src/dialects/index.ts";
import { openSession, sendCommand } from "../../src/engine/index.ts";
import { openSqliteLog, openStream, type SqliteLog } from "../../src/log/index.ts";
import { type AnyEvent, type Json, Verifier } from "../../src/protocol/index.ts";
import { type Child, startChild } from "../durability/child.ts";
import { sampleCases } from "../sampling.ts";

const TIMEOUT_MS = 60_000;
/** Agents without checkpoints: each process starts them again. */
const FORGETFUL = ["openai", "forgetful"];
type Fields = AnyEvent & { readonly [name: string]: Json | undefined };

const folder = mkdtempSync(join(tmpdir(), "loom-foreign-"));
const children: Child[] = [];
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(path: string, recordings: readonly string[] = []): Child {
  const child = startChild("../adapters/foreign-child.ts", [path, ...recordings]);
  children.push(child);
  return child;
}

async function kill({ process, ended }: Child): Promise<void> {
  process.kill("SIGKILL");
  await ended;
}

afterAll(() => Promise.allSettled(children.map(kill)));

async function readEvents(log: SqliteLog, session: string): Promise<readonly Fields[]> {
  if ((await log.getSession(session)) === undefined) return [];
  const { records } = await log.read(session, { after: 0, limit: 100_000 });
  const verifier = new Verifier();
  for (const record of records) expect(verifier.check(record).filter(({ level }) => level === "error")).toEqual([]);
  return records.map(({ event }) => event as Fields);
}

/** Waits for an event. Reads each record once. */
async function find(log: SqliteLog, session: string, isIt: (event: Fields) => boolean): Promise<Fields> {
  const verifier = new Verifier();
  for (let after = 0; ; await setTimeout(20)) {
    if ((await log.getSession(session)) === undefined) continue;
    const { records } = await log.read(session, { after, limit: 100_000 });
    for (const record of records) expect(verifier.check(record).filter(({ level }) => level === "error")).toEqual([]);
    const found = records.map(({ event }) => event as Fields).find(isIt);
    if (found !== undefined) return found;
    after += records.length;
  }
}

const isText = (text: string) => (event: Fields) => event.type === "message_chunk" && event["content"] === text;
const isType = (wanted: string) => (event: Fields) => event.type === wanted;

/** Follows a session in a dialect. */
class Follower {
  readonly texts: string[] = [];
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(log: SqliteLog, session: string, dialect: DialectName) {
    this.#done = this.#follow(openStream(log, session, { dialect, follow: true, signal: this.#stop.signal }));
    // `expectAll` rejects with it.
    this.#done.catch(() => undefined);
  }

  async #follow(batches: ReturnType<typeof openStream>): Promise<void> {
    for await (const batch of batches) for (const { text } of batch) this.texts.push(text);
  }

  /** Resolves when it has as many frames as a replay. Checks that they are the same. */
  async expectAll(replayed: readonly string[]): Promise<void> {
    await expect.poll(() => this.texts.length, { timeout: 10_000 }).toBe(replayed.length);
    this.#stop.abort();
    await this.#done;
    expect(this.texts).toEqual(replayed);
  }
}

async function replay(log: SqliteLog, session: string, dialect: DialectName): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const batch of openStream(log, session, { dialect })) for (const { text } of batch) texts.push(text);
  return texts;
}

/** The message that a client of the AI SDK has in the end. */
async function readMessage(frames: readonly string[]): Promise<UIMessage | undefined> {
  const chunks = frames.filter((text) => text !== "[DONE]").map((text) => JSON.parse(text) as UIMessageChunk);
  const stream = NodeReadableStream.from(chunks) as ReadableStream<UIMessageChunk>;
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream, onError: () => undefined })) last = message;
  return last;
}

async function cancel(log: SqliteLog, session: string): Promise<void> {
  const [run] = await log.listRuns(session);
  const body = { run_id: run?.runId ?? "" };
  await sendCommand(log, { commandId: "stop", sessionId: session, kind: "cancel", body });
}

describe("a process that records runs", () => {
  const path = join(folder, "record.db");
  let log: SqliteLog;
  let child: Child;
  beforeAll(async () => {
    log = await openSqliteLog(path);
    child = start(path, ["shown=endless", "asked=approve", "cancelled=endless", "deaf=deaf"]);
    await find(log, "asked", isType("tool_approval"));
    for (const session of ["shown", "cancelled", "deaf"]) await find(log, session, isText("It is "));
  }, TIMEOUT_MS);
  afterAll(() => log.close());

  it.each(sampleCases(["cancelled", "deaf"]))(
    "aborts the source when another process cancels the run: %s",
    async (session) => {
      const begun = performance.now();
      await cancel(log, session);
      await child.next(`aborted ${session}`);
      // Milliseconds as a rule. The limit is for slow machines.
      expect(performance.now() - begun).toBeLessThan(5000);
      expect(await child.next(`ended ${session}`)).toBe(`ended ${session} cancelled`);
      expect(await log.listRuns(session)).toMatchObject([{ status: "cancelled" }]);
    },
  );

  it("keeps its sessions: another process is refused, and its source is not started", async () => {
    let isStarted = false;
    const source = fromAsyncIterable(() => {
      isStarted = true;
      return [];
    });
    const second = record(log, { sessionId: "shown", message: "Hi" }, source);
    await expect(second).rejects.toMatchObject({ code: "lease_held" });
    expect(isStarted).toBe(false);
    expect(await log.listRuns("shown")).toHaveLength(1);
  });

  it(
    "leaves runs that the next process ends when it is killed, and every reader sees the end",
    async () => {
      await find(log, "shown", isText("3 "));
      const dialects = sampleCases(DIALECT_NAMES, { perKind: 3 });
      const followers = new Map(dialects.map((dialect) => [dialect, new Follower(log, "shown", dialect)]));
      await find(log, "shown", isText("8 "));
      await kill(child);
      // A source that asked the user is gone as well: no process could pass the answer on.
      for (const session of ["shown", "asked"]) {
        await (await openSession(log, session)).close();
        expect(await log.listRuns(session)).toMatchObject([{ status: "error", code: "interrupted" }]);
      }
      for (const [dialect, follower] of followers) await follower.expectAll(await replay(log, "shown", dialect));
      const message = await readMessage(await replay(log, "shown", "ai-sdk"));
      expect(JSON.stringify(message?.parts)).toContain("It is 0 1 2 3 4 5 6 7 8 ");
      const { messages } = await conversation(log, "shown");
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
      // The session is free again.
      const next = await record(log, { sessionId: "asked", message: "Hi" }, fromAsyncIterable(["Hello"]));
      await expect(next.ended).resolves.toMatchObject({ status: "completed" });
    },
    TIMEOUT_MS,
  );
});

describe("a server with agents of other frameworks", () => {
  const path = join(folder, "serve.db");
  let log: SqliteLog;
  let first: Child;
  let second: Child;
  const followers = new Map<DialectName, Follower>();
  const answers = new Map<string, Awaited<ReturnType<typeof approve>>>();

  /** Starts a server, and returns it when it listens. */
  async function serve(): Promise<{ readonly child: Child; readonly url: string }> {
    const child = start(path);
    const line = await child.next("listening");
    if (line === undefined) await child.ended;
    return { child, url: line?.split(" ")[1] ?? "" };
  }

  async function ask(url: string, session: string, message: string, run_id = "run-1"): Promise<void> {
    const response = await fetch(`${url}/v1/sessions/${session}/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ message, run_id }),
    });
    expect(response.status).toBeLessThan(300);
    await response.body?.cancel();
  }

  /** Approves what waits in a session over HTTP, and again over a WebSocket. */
  async function approve(url: string, session: string) {
    const listed = await fetch(`${url}/v1/sessions/${session}/approvals`);
    const { approvals } = (await listed.json()) as { readonly approvals: readonly { readonly call_id: string }[] };
    const callId = approvals[0]?.call_id;
    const answer = { run_id: "run-1", decision: "approved" };
    const answered = await fetch(`${url}/v1/sessions/${session}/approvals/${callId}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(answer),
    });
    await answered.body?.cancel();
    const socket = new WebSocket(`${url.replace("http", "ws")}/v1/ws`);
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "approve", id: "again", session, call_id: callId, ...answer }));
    const refusal = await new Promise<unknown>((resolve) => {
      socket.addEventListener("message", ({ data }) => {
        const frame = JSON.parse(data as string) as { readonly id?: string };
        if (frame.id === "again") resolve(frame);
      });
    });
    socket.close();
    return { count: approvals.length, status: answered.status, refusal };
  }

  beforeAll(async () => {
    log = await openSqliteLog(path);
    const { child, url } = await serve();
    first = child;
    const plans = ["once", "endless", "tool", "approve", "graph", "deaf"];
    for (const plan of [...plans, ...FORGETFUL]) await ask(url, plan, plan);
    for (const session of ["approve", "graph", ...FORGETFUL]) await find(log, session, isType("tool_approval"));
    await find(log, "tool", isType("tool_call"));
    await first.next("tool tool");
    await find(log, "deaf", isText("It is "));
    // A source that ignores the signal does not block its session.
    await cancel(log, "deaf");
    await first.next("aborted deaf");
    await ask(url, "deaf", "once", "run-2");
    await find(log, "deaf", isText("0 "));
    await find(log, "endless", isText("0 "));
    await find(log, "once", isText("3 "));
    for (const dialect of DIALECT_NAMES) followers.set(dialect, new Follower(log, "once", dialect));
    await find(log, "once", isText("5 "));
    await kill(first);
    // Answered while no process has the agent.
    for (const session of ["approve", "graph"]) {
      const { call_id } = await find(log, session, isType("tool_approval"));
      const body = { run_id: "run-1", call_id: call_id as string, decision: "approved" };
      await sendCommand(log, { commandId: "yes", sessionId: session, kind: "approve", body });
      expect(await log.listRuns(session), session).toMatchObject([{ status: "live" }]);
    }
    const restarted = await serve();
    second = restarted.child;
    for (const session of FORGETFUL) answers.set(session, await approve(restarted.url, session));
    for (const session of ["once", "tool", "approve", "graph", ...FORGETFUL])
      await find(log, session, isType("run_end"));
    await find(log, "endless", (event) => isType("error")(event) && event["attempt"] === 2);
    await second.next("attempt endless 2");
    await kill(second);
  }, 2 * TIMEOUT_MS);
  afterAll(() => log.close());

  it("is asked again when it is killed, and sees the calls that were finished", async () => {
    expect(second.lines).toContain("attempt once 2 user,assistant,tool");
    expect(first.lines).toContain("tool once Oslo");
    expect(second.lines).not.toContain("tool once Oslo");
    const events = await readEvents(log, "once");
    expect(events.at(-1)).toMatchObject({ reply: "It is cold." });
    expect(events.filter(isType("error"))).toMatchObject([{ code: "interrupted", attempt: 2 }]);
    const { messages } = await conversation(log, "once");
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(JSON.stringify(messages)).not.toContain("It is 0 1");
  });

  it("sends readers of every dialect the same as a replay, and the AI SDK the answer", async () => {
    for (const [dialect, follower] of followers) await follower.expectAll(await replay(log, "once", dialect));
    const message = await readMessage(await replay(log, "once", "ai-sdk"));
    const texts = message?.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    expect(texts?.at(-1)).toBe("It is cold.");
    const tools = message?.parts.filter(({ type }) => type === "tool-weather" || type === "dynamic-tool");
    expect(tools).toMatchObject([{ toolCallId: "call-Oslo", state: "output-available" }]);
  });

  it("ends the run when it was interrupted too often", async () => {
    const last = foreignAgent(() => fromAsyncIterable(["Never asked"]), { maxAttempts: 2 });
    await (await last.openSession(log, "endless")).close();
    expect(await log.listRuns("endless")).toMatchObject([{ status: "error", code: "too_many_attempts" }]);
  });

  it("sees that a call was running when it was killed, and does not run it again", async () => {
    expect(second.lines).toContain("attempt tool 2 user,assistant,tool");
    expect(second.lines).not.toContain("tool tool Oslo");
    const events = await readEvents(log, "tool");
    expect(events.filter(isType("tool_end"))).toMatchObject([{ call_id: "call-Oslo", is_error: true }]);
    expect(events.at(-1)).toMatchObject({ reply: "It is cold." });
  });

  it.each(FORGETFUL)("waits on for an approval that the killed process asked for: %s", async (session) => {
    const code = expect.stringMatching(/^(already_answered|run_ended)$/) as string;
    expect(answers.get(session)).toMatchObject({ count: 1, status: 200, refusal: { type: "refusal", code } });
    const events = await readEvents(log, session);
    expect(events.filter(isType("tool_approval"))).toHaveLength(1);
    expect(events.filter(isType("tool_end"))).toMatchObject([{ is_error: false }]);
    expect(events.at(-1)).toMatchObject({ reply: "It is cold." });
    expect(second.lines.filter((line) => line === `tool ${session} Oslo`)).toHaveLength(1);
  });

  it.each(["approve", "graph"])("keeps an approval that was answered while no process lived: %s", async (session) => {
    const events = await readEvents(log, session);
    const asked = events.filter(isType("tool_approval"));
    expect(asked).toHaveLength(1);
    expect(events.filter(isType("tool_end"))).toMatchObject([{ call_id: asked[0]?.["call_id"], is_error: false }]);
    expect(events.at(-1)).toMatchObject({ reply: "It is cold." });
    const { messages } = await conversation(log, session);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(first.lines).not.toContain(`tool ${session} Oslo`);
    expect(second.lines.filter((line) => line === `tool ${session} Oslo`)).toHaveLength(1);
  });
});
