// Recording of a run: the frame that created each element, and replay to any frame.
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { createLoomReceiver, type TurnView } from "loom-agent/client";
import type { JsonObject } from "loom-agent/protocol";
import type { ElementTarget } from "../../../src/react/page-parts.ts";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Replay } from "./replay.ts";
import { createLongRun } from "../../../test/page/long-run.ts";
import { sampleCases } from "../../../test/sampling.ts";
import { RunRecording } from "./run-recording.ts";

const RUNS = new URL("../../../spec/vectors/runs/", import.meta.url);

interface Golden {
  readonly name: string;
  readonly session: string;
  readonly runId: string;
  readonly texts: readonly string[];
}

/** Every run of the golden streams that has an ID, with its whole stream. */
const GOLDEN = readdirSync(RUNS).flatMap((file): Golden[] => {
  const vector = JSON.parse(readFileSync(new URL(file, RUNS), "utf8")) as {
    readonly name: string;
    readonly dialect: string;
    readonly frames: readonly JsonObject[];
  };
  if (vector.dialect !== "loom") return [];
  const texts = vector.frames.map((frame) => JSON.stringify(frame));
  return vector.frames.flatMap(({ type, run_id, session_id }) =>
    type === "run_start" && typeof run_id === "string" && typeof session_id === "string"
      ? [{ name: `${vector.name} ${run_id}`, session: session_id, runId: run_id, texts }]
      : [],
  );
});

function record({ session, runId, texts }: Omit<Golden, "name">): RunRecording {
  const recording = new RunRecording({ session, runId, turnKey: runId });
  for (const text of texts) recording.add({ text });
  recording.frames.setStatus("whole");
  return recording;
}

/** The run after each number of frames, from a receiver that is fed the texts. */
function receiveAll({ session, runId, texts }: Omit<Golden, "name">): (TurnView | undefined)[] {
  const receiver = createLoomReceiver({ notify: "sync" });
  const source = receiver.open({ dialect: "loom", session });
  const views = texts.map((text) => {
    source.push(text);
    const view = receiver.session(session).getSnapshot();
    return view?.turns.find((turn) => turn.runId === runId);
  });
  return [undefined, ...views];
}

function play(replay: Replay, { session, runId }: Omit<Golden, "name">, position: number): TurnView | undefined {
  const view = replay.goTo(position).session(session).getSnapshot();
  return view?.turns.find((turn) => turn.runId === runId);
}

/** Every element of a turn that the page can point to. */
function listTargets(turn: TurnView | undefined): Pick<ElementTarget, "kind" | "key">[] {
  if (turn === undefined) return [];
  const message = turn.messages.at(-1);
  return [
    { kind: "turn", key: "" },
    ...(message?.role === "assistant" ? message.parts.map(({ key }) => ({ kind: "part" as const, key })) : []),
    ...turn.nodes.map(({ key }) => ({ kind: "node" as const, key })),
    ...(turn.tree?.thoughts ?? []).map(({ id }) => ({ kind: "thought" as const, key: id })),
    ...(turn.graph?.nodes ?? []).map(({ id }) => ({ kind: "graph-node" as const, key: id })),
  ];
}

describe.each(sampleCases(GOLDEN, { perKind: 8 }))("the golden run $name", (golden) => {
  const recording = record(golden);
  const received = receiveAll(golden);
  const { length } = golden.texts;

  it("replays to each frame as a receiver shows it", () => {
    const replay = new Replay(recording);
    for (let position = 0; position <= length; position++)
      expect(play(replay, golden, position)).toEqual(received[position]);
    expect(recording.frames.getSnapshot().turn).toEqual(received[length]);
  });

  it("knows the frame that created each element", () => {
    const seen = received.map((turn) => new Set(listTargets(turn).map(({ kind, key }) => `${kind}:${key}`)));
    for (const target of listTargets(received[length])) {
      const frame = recording.index.findFrame(target) ?? -1;
      const name = `${target.kind}:${target.key}`;
      expect([name, seen[frame]?.has(name), seen[frame + 1]?.has(name)]).toEqual([name, false, true]);
    }
  });

  it("never assigns a frame an element that a later frame created", () => {
    for (let i = 0; i < length; i++) {
      const target = recording.frameAt(i)?.target;
      if (target === undefined) continue;
      expect(target.turn).toBe(golden.runId);
      expect(recording.index.findFrame(target)).toBeLessThanOrEqual(i);
    }
  });

  it("has one entry for each tool call, model call, checkpoint and compression", () => {
    const { turn } = recording.frames.getSnapshot();
    const { tools, calls, checkpoints, compressions } = recording.index;
    expect(tools.map(({ partKey }) => partKey)).toEqual(
      turn?.messages.at(-1)?.parts.flatMap((part) => (part.type === "tool" ? [part.key] : [])),
    );
    expect([calls.length, checkpoints.length, compressions.length]).toEqual([
      turn?.modelCalls.length,
      turn?.checkpoints.length,
      turn?.compressions.length,
    ]);
    if (turn !== undefined && recording.usage.length > 0)
      expect(recording.usage.at(-1)?.sum).toBe(turn.usage.totalTokens);
  });
});

describe("replay", () => {
  it("reaches the same state from any position", () => {
    const golden = GOLDEN.find(({ name }) => name.startsWith("agent-tot-backtrack")) as Golden;
    const recording = record(golden);
    const received = receiveAll(golden);
    fc.assert(
      fc.property(fc.array(fc.nat(golden.texts.length + 3), { minLength: 1, maxLength: 6 }), (positions) => {
        const replay = new Replay(recording);
        for (const position of positions) {
          const reached = Math.min(position, golden.texts.length);
          expect(play(replay, golden, position)).toEqual(received[reached]);
          expect(replay.position).toBe(reached);
        }
      }),
      { numRuns: 30 },
    );
  });

  it("keeps the receiver when going forward, and replaces it when going back", () => {
    const replay = new Replay(record(createLongRun(50)));
    const first = replay.goTo(10);
    expect(replay.goTo(30)).toBe(first);
    expect(replay.goTo(9)).not.toBe(first);
  });
});

describe("a recording", () => {
  it("assigns each frame its element", () => {
    const run = createLongRun(60);
    const recording = record(run);
    const kinds = new Map<string, Set<string | undefined>>();
    for (let i = 0; i < recording.count; i++) {
      const { type, target } = recording.frameAt(i) ?? {};
      kinds.set(type ?? "", (kinds.get(type ?? "") ?? new Set()).add(target?.kind));
    }
    expect(Object.fromEntries([...kinds].map(([type, found]) => [type, [...found]]))).toEqual({
      run_start: ["turn"],
      node_enter: ["node"],
      node_exit: ["node"],
      llm_start: [undefined],
      llm_end: [undefined],
      usage: [undefined],
      reasoning_chunk: ["part"],
      message_chunk: ["part"],
      tool_call: ["part"],
      tool_start: ["part"],
      tool_end: ["part"],
      run_end: [undefined],
      reply: ["turn"],
    });
  });

  it("handles twenty thousand frames", () => {
    const run = createLongRun(20_000);
    const recording = record(run);
    expect(recording.count).toBe(20_000);
    const replay = new Replay(recording);
    for (const position of [20_000, 19_999, 10_000, 10_001, 3, 20_000])
      expect(play(replay, run, position)?.status).toBe(position === 20_000 ? "completed" : "running");
    expect(recording.findUsage(19_999)).toBe(recording.usage.at(-1));
    expect(recording.findUsage(0)).toBeUndefined();
  });

  it("is not blocked by a missing frame", () => {
    const run = createLongRun(40);
    const holed = { ...run, texts: run.texts.filter((_, i) => i !== 7) };
    expect(record(holed).frames.getSnapshot().turn?.status).toBe("completed");
  });

  it("keeps an unreadable frame and continues", () => {
    const { texts, ...run } = createLongRun(20);
    const recording = record({ ...run, texts: [...texts.slice(0, 5), "not a frame", ...texts.slice(5)] });
    expect(recording.frameAt(5)).toEqual({ text: "not a frame", record: undefined, type: "", target: undefined });
    expect(recording.frames.getSnapshot()).toMatchObject({ count: 21, turn: { status: "completed" } });
  });

  it.each([{ maxFrames: 10 }, { maxCharacters: 1300 }])("keeps frames up to the limit, without gaps: %o", (limits) => {
    const { session, runId, texts } = createLongRun(40);
    const recording = new RunRecording({ session, runId, turnKey: runId, limits });
    for (const text of texts) recording.add({ text });
    recording.frames.setStatus("reading");
    const { count, omitted, turn } = recording.frames.getSnapshot();
    expect(count).toBeLessThanOrEqual(10);
    expect(count + omitted).toBe(40);
    expect(turn).toEqual(receiveAll({ session, runId, texts })[count]);
  });

  it("returns the last cursor, or the number of the last record", () => {
    const { session, runId, texts } = createLongRun(3);
    const recording = new RunRecording({ session, runId, turnKey: runId });
    expect(recording.cursor).toBeUndefined();
    recording.add({ text: texts[0] as string });
    expect(recording.cursor).toBe("101");
    recording.add({ text: texts[1] as string, cursor: "1.abc.102" });
    expect(recording.cursor).toBe("1.abc.102");
  });

  it("counts parts as the page does when a list of an earlier run is updated", () => {
    const items = [{ id: "i", text: "do", completed: false }];
    const frames = [
      { type: "run_start", run_id: "a", contiguous: true },
      { type: "todo_list", run_id: "a", list_id: "l", items },
      { type: "reply", run_id: "a", reply: "one" },
      { type: "run_start", run_id: "b", contiguous: true },
      { type: "todo_list", run_id: "b", list_id: "l", items },
      { type: "reply", run_id: "b", reply: "two" },
    ].map((frame, i) => JSON.stringify({ session_id: "s", event_id: i + 1, ...frame }));
    const page = receiveAll({ session: "s", runId: "b", texts: frames })[6];
    const earlierLists = [{ listId: "l", items }];
    const recording = new RunRecording({ session: "s", runId: "b", turnKey: "b", earlierLists });
    for (const text of frames.slice(3)) recording.add({ text });
    recording.frames.setStatus("reading");
    expect(recording.frames.getSnapshot().turn).toEqual(page);
    expect(play(new Replay(recording), { session: "s", runId: "b", texts: frames }, 3)).toEqual(page);
  });

  it("notifies listeners once for many frames", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { session, runId, texts } = createLongRun(30);
    const recording = new RunRecording({ session, runId, turnKey: runId });
    let told = 0;
    const unsubscribe = recording.frames.subscribe(() => told++);
    const before = recording.frames.getSnapshot();
    for (const text of texts) recording.add({ text });
    expect([told, recording.frames.getSnapshot()]).toEqual([0, before]);
    vi.advanceTimersByTime(120);
    expect([told, recording.frames.getSnapshot().count]).toEqual([1, 30]);
    unsubscribe();
    recording.frames.setStatus("whole");
    expect([told, recording.frames.getSnapshot().status]).toEqual([1, "whole"]);
  });
});
