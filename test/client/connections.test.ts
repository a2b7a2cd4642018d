// Connections over every transport, to a session that is being written while the network is cut again and again.
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connect, type Connection } from "../../src/client/connection.ts";
import { createReceiver } from "../../src/client/index.ts";
import type { TransportStage } from "../../src/client/transport/transport.contract.ts";
import type { Transport } from "../../src/client/transport.ts";
import { DIALECT_NAMES, type DialectName } from "../../src/dialects/index.ts";
import { STAGES } from "./transport-stages.ts";

const reconnect = { initialMs: 1, maxMs: 10 };

describe.each(STAGES)("a connection by $name", ({ setStage }) => {
  let stage: TransportStage;
  let connections: Connection[] = [];
  beforeEach(async () => {
    stage = await setStage();
  });
  afterEach(async () => {
    for (const connection of connections) connection.close();
    connections = [];
    stage.transport.close();
    await stage.close();
  });

  function begin(dialect: DialectName = "loom", transport: Transport = stage.transport, follow = true) {
    const receiver = createReceiver({ notify: "sync" });
    /** What was given to the track since the stream last began anew. */
    const taken: string[] = [];
    const tracker: Parameters<typeof connect>[0] = {
      track(stream) {
        const track = receiver.track(stream)!;
        const take = track.take.bind(track);
        track.take = (text, cursor) => {
          taken.push(text);
          take(text, cursor);
        };
        return track;
      },
    };
    const connection = connect(tracker, { transport, session: "s", dialect, follow, reconnect });
    connections.push(connection);
    const view = () => receiver.getSnapshot().sessions[0];
    return { connection, taken, view, status: () => view()?.state.status };
  }

  it.each(DIALECT_NAMES)("ends with what the log has, in %s", async (dialect) => {
    await stage.write("s");
    const { connection, taken, status } = begin(dialect);
    for (let turn = 0; turn < 5; turn++) {
      const writing = stage.write("s");
      stage.cut();
      await writing;
      stage.isReachable = turn % 2 === 0;
      stage.cut();
    }
    stage.isReachable = true;
    const expected = (await stage.listFrames("s", dialect)).map(({ text }) => text);
    await vi.waitFor(() => expect(taken).toEqual(expected));
    await vi.waitFor(() => expect(status()).toBe("complete"));
    connection.close();
    expect((await connection.done).status).toBe("complete");
    expect(taken).toEqual(expected);
  });

  it("fetches what vanished on the way, beside the stream", async () => {
    await stage.write("s");
    let opened = 0;
    const lossy: Transport = {
      ...stage.transport,
      open(request, sink, signal) {
        opened++;
        let count = 0;
        const frame = (text: string, cursor: string | undefined): void => {
          if (!request.follow || ++count % 4 !== 0) sink.frame(text, cursor);
        };
        return stage.transport.open(request, { ...bind(sink), frame }, signal);
      },
    };
    const { connection, view } = begin("loom", lossy);
    const { length } = await stage.listFrames("s", "loom");
    await vi.waitFor(() => expect(view()?.state).toMatchObject({ status: "complete", verified: true }));
    expect(opened).toBeGreaterThan(1);
    expect(length).toBeGreaterThan(8);
    connection.close();
    expect(await connection.done).toMatchObject({ status: "complete", verified: true });
  });

  it("finishes by itself when it is not followed", async () => {
    await stage.write("s");
    const { connection, taken } = begin("loom", stage.transport, false);
    expect(await connection.done).toMatchObject({ status: "complete", verified: true });
    expect(taken).toEqual((await stage.listFrames("s", "loom")).map(({ text }) => text));
  });

  it("carries commands up, and brings back what came of them", async () => {
    await stage.write("s");
    const { connection, view } = begin();
    const answer = await connection.todo({ list_id: "list", item_id: "i0", completed: true });
    expect(answer).toMatchObject({ kind: "done" });
    await vi.waitFor(() => expect(view()?.todoLists[0]?.items[0]?.completed).toBe(true));
    stage.isReachable = false;
    stage.cut();
    const later = connection.todo({ list_id: "list", item_id: "i0", completed: false });
    stage.isReachable = true;
    expect(await later).toMatchObject({ kind: "done" });
    await vi.waitFor(() => expect(view()?.todoLists[0]?.items[0]?.completed).toBe(false));
  });

  it("follows a session that its own first message makes, whichever is answered first", async () => {
    const { connection, view } = begin();
    expect(await connection.run({ message: "hi" })).toEqual({ kind: "accepted" });
    await stage.write("s");
    await vi.waitFor(() => expect(view()?.state.status).toBe("complete"));
  });

  it("keeps a command through an outage", async () => {
    await stage.write("s");
    const { connection, status } = begin();
    await vi.waitFor(() => expect(status()).toBe("complete"));
    stage.isReachable = false;
    stage.cut();
    const answer = connection.todo({ list_id: "list", item_id: "i0", completed: true });
    await setTimeout(200);
    stage.isReachable = true;
    expect(await answer).toMatchObject({ kind: "done" });
  });

  it("refuses what no server takes without asking one", async () => {
    await stage.write("s");
    const { connection, status } = begin();
    expect(await connection.run({ message: "x".repeat(70_000) })).toMatchObject({ code: "invalid_command" });
    const unsayable = connection.approve({ call_id: "c", decision: "approved", arguments: { a: 1n as never } });
    expect(await unsayable).toMatchObject({ kind: "refused", code: "invalid_command" });
    await vi.waitFor(() => expect(status()).toBe("complete"));
  });

  it("follows a session from its first message on", async () => {
    const { connection, view } = begin();
    expect(await connection.done).toMatchObject({ status: "failed", reason: { code: "unknown_session" } });
    await stage.write("s");
    connection.retry();
    await vi.waitFor(() => expect(view()?.state.status).toBe("complete"));
  });
});

function bind(sink: Parameters<Transport["open"]>[1]): Parameters<Transport["open"]>[1] {
  return {
    frame: (text, cursor) => sink.frame(text, cursor),
    alive: () => sink.alive(),
    begin: (cursor) => sink.begin?.(cursor),
    fault: (reason, detail) => sink.fault(reason, detail),
  };
}
