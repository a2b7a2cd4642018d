/** A connection with a scripted transport, a counting feed and a manual clock. */
import { expect } from "vitest";
import { connect, type ConnectOptions } from "../../src/client/connection.ts";
import type { ErrorCode } from "../../src/protocol/index.ts";
import type { StreamOutcome } from "../../src/client/transport.ts";
import { ManualClock } from "./manual-clock.ts";
import { CountingFeed, type OpenCall, ScriptedTransport } from "./scripted-transport.ts";

export const LOST = { kind: "lost", message: "cut" } as const;
export const ENDED: StreamOutcome = { kind: "ended" };
export const refused = (code: ErrorCode): StreamOutcome => ({
  kind: "refused",
  code,
  message: `refused with ${code}`,
});

export function begin(options: Partial<ConnectOptions> = {}) {
  const clock = new ManualClock();
  const transport = new ScriptedTransport();
  const feeds: CountingFeed[] = [];
  const receiver = {
    openFeed() {
      const feed = new CountingFeed();
      feeds.push(feed);
      return feed;
    },
  };
  const connection = connect(receiver, { transport, session: "s", clock, ...options });
  const feed = feeds[0]!;
  const reasons = (): (string | undefined)[] => feed.repairing.map((reason) => reason?.code);
  let isDone = false;
  void connection.done.then(() => (isDone = true));
  return { clock, transport, connection, feed, feeds, reasons, isDone: () => isDone };
}

/** Resolves with the final state, and checks that nothing is left open. */
export async function finished({ clock, connection, transport, feed }: ReturnType<typeof begin>) {
  const state = await connection.done;
  expect(clock.timerCount).toBe(0);
  expect(transport.opens.filter(({ signal }) => !signal.aborted)).toEqual([]);
  expect(feed.onMissing).toBeUndefined();
  expect(feed.onOverflow).toBeUndefined();
  return state;
}

/** Loses the stream and waits until it is opened again. */
export async function lose(
  { clock, transport }: ReturnType<typeof begin>,
  outcome: StreamOutcome = LOST,
): Promise<OpenCall> {
  const { length } = transport.opens;
  await transport.last.end(outcome);
  while (transport.opens.length === length && clock.timerCount > 0) await clock.advanceToNext();
  return transport.last;
}
