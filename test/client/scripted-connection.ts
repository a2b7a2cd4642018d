/** A connection on a scripted transport, with a track that counts and a clock that stands: all a test needs to play with it. */
import { expect } from "vitest";
import { connect, type ConnectOptions } from "../../src/client/connection.ts";
import type { ErrorCode } from "../../src/protocol/index.ts";
import type { StreamOutcome } from "../../src/client/transport.ts";
import { ManualClock } from "./manual-clock.ts";
import { CountingTrack, type OpenCall, ScriptedTransport } from "./scripted-transport.ts";

export const LOST = { kind: "lost", message: "cut" } as const;
export const ENDED: StreamOutcome = { kind: "ended" };
export const refused = (code: ErrorCode): StreamOutcome => ({
  kind: "refused",
  code,
  message: `it is ${code}`,
});

export function begin(options: Partial<ConnectOptions> = {}) {
  const clock = new ManualClock();
  const transport = new ScriptedTransport();
  const tracks: CountingTrack[] = [];
  const receiver = {
    track() {
      const track = new CountingTrack();
      tracks.push(track);
      return track;
    },
  };
  const connection = connect(receiver, { transport, session: "s", clock, ...options });
  const track = tracks[0]!;
  const reasons = (): (string | undefined)[] => track.repairing.map((reason) => reason?.code);
  let isDone = false;
  void connection.done.then(() => (isDone = true));
  return { clock, transport, connection, track, tracks, reasons, isDone: () => isDone };
}

/** Resolves to the state, and checks that nothing is left. */
export async function finished({ clock, connection, transport, track }: ReturnType<typeof begin>) {
  const state = await connection.done;
  expect(clock.timerCount).toBe(0);
  expect(transport.opens.filter(({ signal }) => !signal.aborted)).toEqual([]);
  expect(track.onMissing).toBeUndefined();
  expect(track.onOverflow).toBeUndefined();
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
