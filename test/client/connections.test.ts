// Connections over every transport, to a session that is written while the network is cut repeatedly.
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connect, type Connection } from "../../src/client/connection.ts";
import { createReceiver } from "../../src/client/index.ts";
import type { TransportFixture } from "../contracts/transport.ts";
import type { Transport } from "../../src/client/transport.ts";
import { DIALECT_NAMES, type DialectName } from "../../src/dialects/index.ts";
import { sampleCases } from "../sampling.ts";
import { TRANSPORT_FIXTURES } from "./transport-fixtures.ts";

const reconnect = { initialMs: 1, maxMs: 10 };

const kindOf = ({ name }: (typeof TRANSPORT_FIXTURES)[number]): string => name.replace(/^fetch .*/, "fetch");

describe.each(sampleCases(TRANSPORT_FIXTURES, { kindOf }))("a connection over $name", ({ createFixture }) => {
  let fixture: TransportFixture;
  let connections: Connection[] = [];
  beforeEach(async () => {
    fixture = await createFixture();
  });
  afterEach(async () => {
    for (const connection of connections) connection.close();
    connections = [];
    fixture.transport.close();
    await fixture.close();
  });

  function begin(dialect: DialectName = "loom", transport: Transport = fixture.transport, follow = true) {
    const receiver = createReceiver({ notify: "sync" });
    /** All frames passed to the feed. */
    const taken: string[] = [];
    const provider: Parameters<typeof connect>[0] = {
      openFeed(stream) {
        const feed = receiver.openFeed(stream)!;
        const take = feed.take.bind(feed);
        feed.take = (text, cursor) => {
          taken.push(text);
          take(text, cursor);
        };
        return feed;
      },
    };
    const connection = connect(provider, { transport, session: "s", dialect, follow, reconnect });
    connections.push(connection);
    const view = () => receiver.getSnapshot().sessions[0];
    return { connection, taken, view, status: () => view()?.state.status };
  }

  it.each(sampleCases(DIALECT_NAMES, { perKind: 3 }))("receives what the log has, in %s", async (dialect) => {
    await fixture.write("s");
    const { connection, taken, status } = begin(dialect);
    for (let turn = 0; turn < 5; turn++) {
      const writing = fixture.write("s");
      fixture.cut();
      await writing;
      fixture.isReachable = turn % 2 === 0;
      fixture.cut();
    }
    fixture.isReachable = true;
    const expected = (await fixture.listFrames("s", dialect)).map(({ text }) => text);
    await vi.waitFor(() => expect(taken).toEqual(expected));
    await vi.waitFor(() => expect(status()).toBe("complete"));
    connection.close();
    expect((await connection.done).status).toBe("complete");
    expect(taken).toEqual(expected);
  });

  it("fetches dropped frames while the stream continues", async () => {
    await fixture.write("s");
    let opened = 0;
    const lossy: Transport = {
      ...fixture.transport,
      open(request, sink, signal) {
        opened++;
        let count = 0;
        const frame = (text: string, cursor: string | undefined): void => {
          if (!request.follow || ++count % 4 !== 0) sink.frame(text, cursor);
        };
        return fixture.transport.open(request, { ...bind(sink), frame }, signal);
      },
    };
    const { connection, view } = begin("loom", lossy);
    const { length } = await fixture.listFrames("s", "loom");
    await vi.waitFor(() => expect(view()?.state).toMatchObject({ status: "complete", verified: true }));
    expect(opened).toBeGreaterThan(1);
    expect(length).toBeGreaterThan(8);
    connection.close();
    expect(await connection.done).toMatchObject({ status: "complete", verified: true });
  });

  it("finishes without follow", async () => {
    await fixture.write("s");
    const { connection, taken } = begin("loom", fixture.transport, false);
    expect(await connection.done).toMatchObject({ status: "complete", verified: true });
    expect(taken).toEqual((await fixture.listFrames("s", "loom")).map(({ text }) => text));
  });

  it("sends commands and receives their effects", async () => {
    await fixture.write("s");
    const { connection, view } = begin();
    const answer = await connection.todo({ list_id: "list", item_id: "i0", completed: true });
    expect(answer).toMatchObject({ kind: "done" });
    await vi.waitFor(() => expect(view()?.todoLists[0]?.items[0]?.completed).toBe(true));
    fixture.isReachable = false;
    fixture.cut();
    const later = connection.todo({ list_id: "list", item_id: "i0", completed: false });
    fixture.isReachable = true;
    expect(await later).toMatchObject({ kind: "done" });
    await vi.waitFor(() => expect(view()?.todoLists[0]?.items[0]?.completed).toBe(false));
  });

  it("follows a session created by its first message", async () => {
    const { connection, view } = begin();
    expect(await connection.run({ message: "hi" })).toEqual({ kind: "accepted" });
    await fixture.write("s");
    await vi.waitFor(() => expect(view()?.state.status).toBe("complete"));
  });

  it("keeps a command through an outage", async () => {
    await fixture.write("s");
    const { connection, status } = begin();
    await vi.waitFor(() => expect(status()).toBe("complete"));
    fixture.isReachable = false;
    fixture.cut();
    const answer = connection.todo({ list_id: "list", item_id: "i0", completed: true });
    await setTimeout(200);
    fixture.isReachable = true;
    expect(await answer).toMatchObject({ kind: "done" });
  });

  it("refuses invalid commands without sending them", async () => {
    await fixture.write("s");
    const { connection, status } = begin();
    expect(await connection.run({ message: "x".repeat(70_000) })).toMatchObject({ code: "invalid_command" });
    const unserializable = connection.approve({ call_id: "c", decision: "approved", arguments: { a: 1n as never } });
    expect(await unserializable).toMatchObject({ kind: "refused", code: "invalid_command" });
    await vi.waitFor(() => expect(status()).toBe("complete"));
  });

  it("follows a session that is created later, after retry", async () => {
    const { connection, view } = begin();
    expect(await connection.done).toMatchObject({ status: "failed", reason: { code: "unknown_session" } });
    await fixture.write("s");
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
