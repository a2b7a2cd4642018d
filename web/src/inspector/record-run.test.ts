// Reading a run to its end: what is cut is asked for again from where it was cut, and not for ever.
import { describe, expect, it } from "vitest";
import type { FrameRequest, InspectorApi, ReadFrame } from "./inspector-api.ts";
import { createLongRun } from "../../../test/page/long-run.ts";
import { recordRun, RETRY_MS } from "./record-run.ts";
import { RunRecording } from "./run-recording.ts";

const RUN = createLongRun(30);

type Answer = (request: FrameRequest) => AsyncGenerator<ReadFrame>;

/** Answers each question in turn; the last answer again and again. */
function createStage(...answers: readonly Answer[]) {
  const recording = new RunRecording({ session: RUN.session, runId: RUN.runId, turnKey: RUN.runId });
  const asked: (string | undefined)[] = [];
  const waited: number[] = [];
  const api: InspectorApi = {
    readFrames(_session, _runId, request) {
      asked.push(request.after);
      return (answers[asked.length - 1] ?? (answers.at(-1) as Answer))(request);
    },
  };
  const stop = new AbortController();
  const wait = (ms: number): Promise<void> => {
    if (ms > 0) waited.push(ms);
    return Promise.resolve();
  };
  return {
    recording,
    asked,
    waited,
    stop,
    run: () => recordRun(recording, { api, signal: stop.signal, isLive: () => true, wait }),
  };
}

function give(from: number, to: number, error?: Error): Answer {
  return async function* () {
    for (const text of RUN.texts.slice(from, to)) yield await Promise.resolve({ text });
    if (error !== undefined) throw error;
  };
}

const lost = (): Error => Object.assign(new Error("gone"), { code: "connection_lost" });

describe("reading a run", () => {
  it("is whole when the stream ends politely", async () => {
    const { recording, run, asked } = createStage(give(0, 30));
    await run();
    expect(recording.getSnapshot()).toMatchObject({ count: 30, status: "whole", turn: { status: "completed" } });
    expect(asked).toEqual([undefined]);
  });

  it("goes on after the last frame that came", async () => {
    const { recording, run, asked, waited } = createStage(give(0, 10, lost()), give(10, 10, lost()), give(10, 30));
    await run();
    expect(recording.getSnapshot()).toMatchObject({ count: 30, status: "whole" });
    expect(asked).toEqual([undefined, "110", "110"]);
    expect(waited).toEqual([500, 1000]);
  });

  it("gives up after some tries that brought nothing, and can be asked anew", async () => {
    const stage = createStage(give(0, 5, lost()), ...RETRY_MS.map(() => give(5, 5, lost())), give(5, 30));
    await stage.run();
    expect(stage.recording.getSnapshot()).toMatchObject({ count: 5, status: "failed", error: "gone" });
    expect(stage.waited).toEqual(RETRY_MS);
    await stage.run();
    expect(stage.recording.getSnapshot()).toMatchObject({ count: 30, status: "whole", error: undefined });
  });

  it("is not whole when a live run is left politely in its middle", async () => {
    const { recording, run, asked } = createStage(give(0, 10), give(10, 30));
    await run();
    expect(recording.getSnapshot()).toMatchObject({ count: 30, status: "whole", turn: { status: "completed" } });
    expect(asked).toEqual([undefined, "110"]);
    const cut = createStage(give(0, 10), give(10, 10));
    await cut.run();
    expect(cut.recording.getSnapshot()).toMatchObject({ count: 10, status: "failed" });
    expect(cut.waited).toEqual(RETRY_MS);
  });

  it("does not ask again whoever said no", async () => {
    const refused = Object.assign(new Error("no such run"), { code: "unknown_run" });
    const { recording, run, asked } = createStage(give(0, 0, refused));
    await run();
    expect(recording.getSnapshot()).toMatchObject({ status: "failed", error: "no such run" });
    expect(asked).toHaveLength(1);
  });

  it("stops when it is told to, and says nothing", async () => {
    const stage = createStage(async function* ({ signal }) {
      yield { text: RUN.texts[0] as string };
      stage.stop.abort();
      signal.throwIfAborted();
    });
    await stage.run();
    expect(stage.recording.getSnapshot().status).toBe("reading");
    expect(stage.asked).toHaveLength(1);
  });
});
