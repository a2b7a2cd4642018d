/** Senders that number each run of a session from 1. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createReceiver, type SessionView } from "../../src/client/index.ts";
import { SAMPLES } from "../sampling.ts";

type Frame = object;

/** One turn numbered from 1. Without `runId`, only numbers, types and texts tell the frames of two turns apart. */
function makeTurn(text: string, runId?: string): readonly Frame[] {
  const run = runId === undefined ? {} : { run_id: runId };
  return [
    { type: "run_start", ...run, message: `Say ${text}` },
    { type: "node_enter", id: "think", node_id: "run-think-1" },
    ...Array.from(text, (content) => ({ type: "message_chunk", content, id: "think", node_id: "run-think-1" })),
    { type: "node_exit", id: "think", result: "Ok", node_id: "run-think-1" },
    { reply: text, node_id: "run-think-1" },
  ].map((frame, index) => ({ session_id: "s", event_id: index + 1, ...run, ...frame }));
}

/** Pushes frames, each from the source with this index. */
function receive(frames: readonly (readonly [source: number, frame: Frame])[]): SessionView {
  const receiver = createReceiver();
  const sources = [0, 1].map(() => receiver.open({ dialect: "loom" }));
  for (const [source, frame] of frames) sources[source]?.push(JSON.stringify(frame));
  for (const source of sources) source.end();
  return receiver.getSnapshot().sessions[0]!;
}

const from = (source: number, frames: readonly Frame[]) => frames.map((frame) => [source, frame] as const);

function expectTurns(session: SessionView, texts: readonly string[]): void {
  expect(session.turns.map(({ messages, status }) => [messages.at(-1)?.mainContent, status])).toEqual(
    texts.map((text) => [text, "completed"]),
  );
  expect(session.state).toMatchObject({ status: "complete", verified: false });
  expect(session.issues).toEqual([]);
}

describe.each([
  ["with run IDs", ["r1", "r2", "r3"]],
  ["without run IDs", []],
])("runs numbered from 1, %s", (_, ids) => {
  const texts = ["one", "two!", "six"];
  const turns = texts.map((text, index) => makeTurn(text, ids[index]));

  it("are all received", () => {
    expectTurns(receive(from(0, turns.flat())), texts);
  });

  it("are received from two sources in turn", () => {
    const [a = [], b = [], c = []] = turns;
    expectTurns(receive([...from(0, a), ...from(1, b), ...from(0, c)]), texts);
  });

  it("are received once if a second source repeats them, at any time", () => {
    const all = turns.flat();
    fc.assert(
      fc.property(fc.array(fc.nat(all.length), { minLength: all.length, maxLength: all.length }), (draws) => {
        const frames: (readonly [number, Frame])[] = [];
        let repeated = 0;
        for (const [index, frame] of all.entries()) {
          frames.push([0, frame]);
          // The second source is behind by any number of frames.
          for (; repeated <= Math.min(index, draws[index]!); repeated++) frames.push([1, all[repeated]!]);
        }
        expectTurns(receive([...frames, ...from(1, all.slice(repeated))]), texts);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  it("are received once if a late frame of an earlier run is repeated", () => {
    const [a = [], b = []] = turns;
    for (let at = 1; at < b.length; at++) {
      const late = from(ids.length > 0 ? 0 : 1, a.slice(2));
      expectTurns(receive([...from(0, a), ...from(0, b.slice(0, at)), ...late, ...from(0, b.slice(at))]), [
        "one",
        "two!",
      ]);
    }
  });
});

it("numbers of a contiguous run that start again are a conflict", () => {
  const [first, ...others] = makeTurn("b", "r2");
  const { state } = receive(from(0, [...makeTurn("a", "r1"), { ...first, contiguous: true }, ...others]));
  expect(state).toMatchObject({ status: "gap", reason: { code: "id_conflict" } });
});
