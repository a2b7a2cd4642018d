/** The contract of `SessionService`, for a store and for a server, and what a server adds: tokens and lost connections. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { agent } from "../../agents/index.ts";
import { openSession } from "../../engine/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { ScriptedModel } from "../../models/testing.ts";
import { startLoomServer } from "../../server/index.ts";
import { defineTool } from "../../tools/index.ts";
import { startTcpProxy } from "../../../test/tcp-proxy.ts";
import { listActiveRuns } from "./list-active-runs.ts";
import { LocalService } from "./local-service.ts";
import { RemoteService } from "./remote-service.ts";
import type { SessionService } from "./session-service.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const tool = defineTool({
  name: "send",
  description: "Sends.",
  input: z.object({ to: z.string() }),
  approval: "always",
  execute: () => "sent",
});

/** A server whose agent asks for approval if the message is `send`. */
async function startServer(log: Log, { port = 0, hosts = [] as readonly string[] } = {}) {
  const model = new ScriptedModel(({ prompt }) => {
    const asked = JSON.stringify(prompt.at(-1));
    return asked.includes("send") && !asked.includes("tool-result")
      ? { calls: [{ name: "send", input: { to: "Ann" } }] }
      : { text: "Done, 完成." };
  });
  const server = await startLoomServer({
    log,
    port,
    agents: { main: agent({ model, tools: [tool] }) },
    hosts,
  });
  closing.push(() => server.close({ graceMs: 0 }));
  return server;
}

async function openLocal(): Promise<{ readonly log: Log; readonly service: SessionService }> {
  const log = new MemoryLog();
  return { log, service: new LocalService(log) };
}

async function openRemote(): Promise<{ readonly log: Log; readonly service: SessionService }> {
  const log = new MemoryLog();
  const { url } = await startServer(log);
  const service = new RemoteService({ url, token: undefined });
  closing.push(() => service[Symbol.asyncDispose]());
  return { log, service };
}

/** Writes a run that has ended. */
async function writeRun(log: Log, sessionId: string, message: string, reply: string): Promise<string> {
  const session = await openSession(log, sessionId);
  const run = await session.startRun({ message });
  await run.span("think", (node) => node.write(reply));
  await run.finish({ reply });
  await session.close();
  return run.runId;
}

const never = new AbortController().signal;
const utf8 = new TextEncoder();

async function* toBytes(text: string): AsyncGenerator<Uint8Array> {
  yield utf8.encode(text.slice(0, 10));
  yield utf8.encode(text.slice(10));
}

async function readText(chunks: AsyncIterable<string | Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of chunks) text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
  return text;
}

async function readFrames(service: SessionService, session: string, dialect: "loom" | "ag-ui", after?: string) {
  const frames = [];
  for await (const batch of service.openFrames(session, { dialect, after, follow: false, signal: never }))
    frames.push(...batch);
  return frames;
}

describe.each([
  ["a store", openLocal],
  ["a server", openRemote],
])("sessions of %s", (_, open) => {
  test("are listed, searched, described, forked and deleted", async () => {
    const { log, service } = await open();
    const runId = await writeRun(log, "a", "Where is Kyoto?", "In Japan.");
    await writeRun(log, "b/ü", "Hello", "Hi.");
    const first = await service.listSessions({ limit: 1 });
    expect(first).toMatchObject({ items: [{ session_id: "b/ü" }], next: "b/ü" });
    const second = await service.listSessions({ limit: 1, after: "b/ü" });
    expect([second.items[0]?.session_id, second.next]).toEqual(["a", undefined]);
    const { items } = await service.listSessions({ limit: 5, query: "kyoto" });
    expect(items).toMatchObject([{ session_id: "a", match: { where: "message" } }]);
    expect(await service.getSession("a")).toMatchObject({ is_busy: false, runs: [{ run_id: runId }], queued: [] });
    expect(await service.getSession("none")).toBeUndefined();
    expect(await service.listRuns("a", { limit: 5 })).toMatchObject({ items: [{ status: "completed" }] });
    expect((await service.forkSession("a", { session_id: "c", title: "Copy" })).title).toBe("Copy");
    const before = await service.forkSession("a", { before_run: runId });
    expect(before).toMatchObject({ last_event_id: 0, forked_from: { run_id: runId } });
    await expect(service.forkSession("none", {})).rejects.toMatchObject({ code: "unknown_session" });
    await expect(service.forkSession("a", { session_id: "b/ü" })).rejects.toMatchObject({ code: "session_exists" });
    expect([await service.deleteSession("c"), await service.deleteSession("c")]).toEqual([true, false]);
  });

  test("have a title of one line with a visible character", async () => {
    const { log, service } = await open();
    await writeRun(log, "a", "Hello", "Hi.");
    await service.renameSession("a", " two\nlines ");
    expect((await service.getSession("a"))?.title).toBe("two lines");
    await expect(service.renameSession("a", " \u200B ")).rejects.toMatchObject({ code: "invalid_name" });
    await expect(service.forkSession("a", { title: "\n" })).rejects.toMatchObject({ code: "invalid_name" });
  });

  test("are exported and imported, and record other streams", async () => {
    const { log, service } = await open();
    await writeRun(log, "a", "Hello", "Hi, 你好.");
    const text = await readText(service.exportSession("a", never));
    const imported = await service.importSession({ body: toBytes(text), sessionId: "b", title: "B", signal: never });
    expect(imported).toMatchObject({ session_id: "b", title: "B", last_event_id: text.trimEnd().split("\n").length });
    expect(await readText(service.exportSession("b", never))).toContain("Hi, 你好.");
    await expect(service.importSession({ body: toBytes("{}\n"), signal: never })).rejects.toMatchObject({
      code: "import_invalid",
    });
    await expect(readText(service.exportSession("none", never))).rejects.toMatchObject({ code: "unknown_session" });
    const record = { sessionId: "c", dialect: undefined, framing: undefined, signal: never };
    const recorded = await service.ingest({ ...record, body: toBytes(text) });
    expect(recorded).toMatchObject({ session_id: "c", dialect: "loom", runs: [{ status: "completed" }] });
    await expect(service.ingest({ ...record, body: toBytes("nothing\n") })).rejects.toMatchObject({
      code: "ingest_invalid",
    });
  });

  test("are read from any cursor, and followed until the reader stops", async () => {
    const { log, service } = await open();
    await writeRun(log, "a", "Hello", "Hi.");
    const expected = await readFrames(new LocalService(log), "a", "ag-ui");
    const frames = await readFrames(service, "a", "ag-ui");
    expect(frames).toEqual(expected);
    expect(await readFrames(service, "a", "ag-ui", frames[2]?.cursor)).toEqual(expected.slice(3));
    const stop = new AbortController();
    const types: string[] = [];
    for await (const { records, lastId } of service.followRecords("a", { follow: true, signal: stop.signal })) {
      types.push(...records.map(({ event }) => event.type));
      if (lastId === 1 || lastId === (await log.getSession("a"))?.lastId)
        if (types.filter((type) => type === "run_start").length < 2) await writeRun(log, "a", "Again", "Yes.");
        else stop.abort();
    }
    expect(types.filter((type) => type === "run_end")).toHaveLength(2);
    await expect(readFrames(service, "none", "loom")).rejects.toMatchObject({ code: "unknown_session" });
    await expect(readFrames(service, "a", "loom", "1.wrong.2")).rejects.toMatchObject({ code: /^cursor_/ });
  });

  test("list what waits, and take decisions and cancels", async () => {
    const { log, service } = await open();
    await writeRun(log, "old", "Hello", "Hi.");
    const session = await openSession(log, "s");
    const run = await session.startRun({ message: "Send it" });
    const answers = ["x", "y"].map((callId) => run.requestApproval({ callId, name: "send", arguments: { to: "Bo" } }));
    await run.settled();
    const runs = await listActiveRuns(service);
    expect(runs).toMatchObject([{ session_id: "s", run_id: run.runId, status: "live" }]);
    const [call] = runs[0]?.approvals ?? [];
    expect(call).toMatchObject({ call_id: "x", name: "send", arguments: { to: "Bo" } });
    const approve = { type: "approve", session: "s", run_id: run.runId, decision: "rejected", reason: "no" } as const;
    expect(await service.send({ ...approve, id: randomUUID(), call_id: "x" })).toMatchObject({ kind: "done" });
    expect(await answers[0]).toMatchObject({ decision: "rejected", reason: "no" });
    expect(await service.send({ ...approve, id: randomUUID(), call_id: "z" })).toMatchObject({ code: "unknown_call" });
    answers[1]?.catch(() => undefined);
    const cancel = { type: "cancel", id: randomUUID(), session: "s", run_id: run.runId, reason: "enough" } as const;
    expect(await service.send(cancel)).toMatchObject({ kind: "done" });
    expect(await listActiveRuns(service)).toEqual([]);
    const missing = await service.findRejection("s", { runId: "r9", commandId: "c9" });
    expect(service.isRemote ? missing : "").toEqual(service.isRemote ? expect.stringContaining("cancelled") : "");
    await session.close();
  });

  test("report a message as rejected only if it will not run", async () => {
    const { log, service } = await open();
    const session = await openSession(log, "s");
    const live = await session.startRun({ message: "First" });
    for (let n = 1; n <= 30; n++)
      await service.send({ type: "run", id: `c${n}`, session: "s", run_id: `r${n}`, message: `Message ${n}` });
    const find = (n: number) => service.findRejection("s", { runId: `r${n}`, commandId: `c${n}` });
    expect([await find(1), await find(30)]).toEqual([undefined, undefined]);
    for (let n = 11; n <= 29; n++)
      await service.send({ type: "cancel", id: `x${n}`, session: "s", run_id: `r${n}`, reason: "enough" });
    expect([await find(10), await find(29), await find(30)]).toEqual([
      undefined,
      expect.stringMatching(service.isRemote ? "cancelled" : "enough"),
      undefined,
    ]);
    await live.finish({ reply: "Done." });
    await session.close();
    for (let n = 0; n < 25; n++) await writeRun(log, "t", `Old ${n}`, "Hi.");
    const { runId } = (await log.listRuns("t", { limit: 25 })).at(-1) ?? {};
    expect(await service.findRejection("t", { runId: runId ?? "", commandId: "none" })).toBeUndefined();
  });
});

describe("a server", () => {
  test("continues a stream byte for byte after the connection was cut", async () => {
    const log = new MemoryLog();
    // The server must know the address of the proxy, and the proxy that of the server.
    const first = await startServer(log);
    const port = Number(new URL(first.url).port);
    const proxy = await startTcpProxy(port);
    closing.push(() => proxy.close());
    await closing.shift()?.();
    await startServer(log, { port, hosts: [`127.0.0.1:${proxy.port}`] });
    await using service = new RemoteService({ url: `http://127.0.0.1:${proxy.port}`, token: undefined });
    const session = await openSession(log, "s");
    const run = await session.startRun({ message: "Count" });
    const node = run.enter("think");
    const stop = new AbortController();
    const notices: (string | undefined)[] = [];
    const seen: string[] = [];
    const onInterruption = (message: string | undefined): void => void notices.push(message);
    const request = { dialect: "ag-ui", follow: true, signal: stop.signal, onInterruption } as const;
    let written = 0;
    for await (const frames of service.openFrames("s", request)) {
      seen.push(...frames.map(({ text }) => text));
      if (seen.at(-1)?.includes("RUN_FINISHED") === true) stop.abort();
      else if (seen.join("").includes(`word ${written}`) || written === 0) {
        // The frames that are written while nothing is connected arrive after the cut.
        if (written === 3) await run.finish({ reply: "Done." });
        else {
          proxy.setUp(false);
          await node.write(`word ${++written} `);
          proxy.setUp(true);
        }
      }
    }
    expect(seen).toEqual((await readFrames(new LocalService(log), "s", "ag-ui")).map(({ text }) => text));
    expect(notices.length).toBeGreaterThanOrEqual(6);
    expect(notices.at(-1)).toBeUndefined();
    // Requests are repeated as well, once the server was reached.
    await service.getSession("s");
    proxy.setUp(false);
    const asked = service.getSession("s");
    setTimeout(() => proxy.setUp(true), 300);
    expect(await asked).toMatchObject({ session_id: "s" });
    await session.close();
  });

  test("continues an export after the connection was cut, unless the session was created again", async () => {
    const text = '{"event_id":1}\n{"event_id":2}\n{"event_id":3}\n';
    let requests = 0;
    let createdAt = 1;
    const server = createServer((request, response) => {
      if (request.url?.endsWith("/export") !== true) {
        response.end(JSON.stringify({ session_id: "a", created_at: createdAt, first_event_id: 1 }));
        return;
      }
      const sent = [10, 25, text.length][requests++ % 3] ?? 0;
      if (sent === text.length) response.end(text);
      else response.write(text.slice(0, sent), () => setImmediate(() => response.destroy()));
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    await using service = new RemoteService({ url: `http://127.0.0.1:${port}`, token: undefined });
    expect(await readText(service.exportSession("a", never))).toBe(text);
    expect(requests).toBe(3);
    const again = readText(
      (async function* () {
        for await (const chunk of service.exportSession("a", never)) {
          createdAt = 2;
          yield chunk;
        }
      })(),
    );
    await expect(again).rejects.toMatchObject({ code: "cursor_stale" });
  });

  test("reports an invalid position at once, not as a lost connection", async () => {
    const { log, service } = await openRemote();
    await writeRun(log, "a", "Hello", "Hi.");
    const notices: unknown[] = [];
    const onInterruption = (message: string | undefined): void => void notices.push(message);
    for (const [after, code] of [
      ["foo", "cursor_invalid"],
      ["9999", "cursor_ahead"],
    ]) {
      const request = { dialect: "loom", after, follow: true, signal: never, onInterruption } as const;
      await expect(service.openFrames("a", request)[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code });
    }
    expect(notices).toEqual([]);
  });

  test("reports that it cannot be reached, is not a Loom server, or needs a token", async () => {
    const log = new MemoryLog();
    const { url } = await startServer(log);
    await using elsewhere = new RemoteService({ url: `${url}/nowhere`, token: undefined });
    await expect(elsewhere.listSessions({ limit: 1 })).rejects.toMatchObject({ code: "not_found" });
    const proxy = await startTcpProxy(Number(new URL(url).port));
    const address = `http://127.0.0.1:${proxy.port}`;
    await proxy.close();
    await using away = new RemoteService({ url: address, token: undefined });
    await expect(away.listSessions({ limit: 1 })).rejects.toMatchObject({
      code: "connection_lost",
      message: `Cannot reach ${address}: connection refused`,
    });
    await using refused = new RemoteService({ url, token: () => "two words" });
    await expect(refused.listSessions({ limit: 1 })).rejects.toMatchObject({ code: "unauthorized" });
  });
});
