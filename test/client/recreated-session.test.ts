/**
 * A session that is recreated or pruned while a client is disconnected, or a server of another version: the view shows
 * only one of the sessions, or reports that something is missing.
 */
import { describe, expect, it, vi } from "vitest";
import { connect, createFetchTransport, createReceiver, type Receiver } from "../../src/client/index.ts";
import { DIALECT_NAMES, type DialectName } from "../../src/dialects/index.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import { createEventsHandler } from "../../src/server/index.ts";
import { makeRun, writeRecords } from "../log-sessions.ts";
import { sampleCases } from "../sampling.ts";

const CLOCK = {
  now: () => performance.now(),
  random: () => 0,
  setTimeout: (run: () => void, ms: number) => (ms > 1000 ? undefined : setTimeout(run, 1)),
  clearTimeout: (timer: unknown) => clearTimeout(timer as NodeJS.Timeout),
};

function follow(log: Log, dialect: DialectName, framing: "sse" | "ndjson") {
  const handler = createEventsHandler({ log, heartbeatMs: 0, allowPublic: true });
  let isAway = false;
  let stop = new AbortController();
  let isUpgraded = false;
  const statuses: number[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    if (isAway) throw new TypeError("unreachable");
    const signal = AbortSignal.any([request.signal, stop.signal]);
    const { headers } = request;
    const last = headers.get("last-event-id");
    if (isUpgraded && last !== null) headers.set("last-event-id", toOlder(last));
    const response = await handler(new Request(isUpgraded ? toOlder(request.url) : request.url, { headers, signal }));
    statuses.push(response.status);
    return response;
  };
  const receiver = createReceiver();
  const transport = createFetchTransport({ url: "http://loom.test", framing, fetch });
  const connection = connect(receiver, { transport, session: "s", dialect, clock: CLOCK });
  return {
    receiver,
    connection,
    statuses,
    /** The cursors of this client are now those of an older version. */
    upgrade: (): void => {
      isUpgraded = true;
    },
    leave: (): void => {
      isAway = true;
      stop.abort();
      stop = new AbortController();
    },
    comeBack: (): void => {
      isAway = false;
      connection.retry();
    },
  };
}

/** Makes a cursor one of another encoder version. */
function toOlder(text: string): string {
  return text.replaceAll(/\b\d+\.(?=[\w-]{8}\.\d)/g, "5.");
}

function show(receiver: Receiver): unknown {
  const [session] = receiver.getSnapshot().sessions;
  return [session?.state.status, session?.turns.map(({ messages }) => messages.at(-1)?.mainContent)];
}

describe.each(sampleCases(DIALECT_NAMES, { perKind: 4 }))("%s", (dialect) => {
  it.each(["sse", "ndjson"] as const)("shows only the new session after it was recreated, over %s", async (framing) => {
    const log = new MemoryLog();
    await writeRecords(log, makeRun("old"));
    const { receiver, connection, leave, comeBack } = follow(log, dialect, framing);
    await vi.waitFor(() => expect(show(receiver)).toEqual(["complete", ["of old"]]));
    leave();
    await log.deleteSession("s");
    await writeRecords(log, [...makeRun("new-1", { ts: 9000 }), ...makeRun("new-2", { after: 4, ts: 9100 })]);
    comeBack();
    await vi.waitFor(() => expect(show(receiver)).toEqual(["complete", ["of new-1", "of new-2"]]));
    connection.close();
  });

  it.each(["sse", "ndjson"] as const)("shows everything after the server was upgraded, over %s", async (framing) => {
    const log = new MemoryLog();
    await writeRecords(log, makeRun("run-1"));
    const client = follow(log, dialect, framing);
    await vi.waitFor(() => expect(show(client.receiver)).toEqual(["complete", ["of run-1"]]));
    client.leave();
    await writeRecords(log, makeRun("run-2", { after: 4, ts: 10 }));
    client.upgrade();
    client.comeBack();
    await vi.waitFor(() => expect(show(client.receiver)).toEqual(["complete", ["of run-1", "of run-2"]]));
    // The cursor was refused, and the client has read the session again; `loom` continues at any record.
    expect(client.statuses).toEqual(dialect === "loom" ? [200, 200] : [200, 410, 200]);
    client.connection.close();
  });

  it("reports missing records after pruning, over ndjson", async () => {
    const log = new MemoryLog();
    await writeRecords(log, makeRun("run-1"));
    const { receiver, connection, leave, comeBack } = follow(log, dialect, "ndjson");
    await vi.waitFor(() => expect(show(receiver)).toEqual(["complete", ["of run-1"]]));
    leave();
    await writeRecords(log, [...makeRun("run-2", { after: 4, ts: 10 }), ...makeRun("run-3", { after: 8, ts: 1e6 })]);
    await log.prune({ maxAgeMs: 500_000, now: 1e6 });
    expect((await log.getSession("s"))?.firstId).toBe(9);
    comeBack();
    await vi.waitFor(() => expect(show(receiver)).toEqual(["gap", ["of run-1", "of run-3"]]));
    connection.close();
  });
});
