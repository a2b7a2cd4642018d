// Reading a run to its end: broken streams are continued, with a limited number of retries.
import { describe, expect, it } from "vitest";
import type { FrameRequest, InspectorApi, WireFrame } from "./inspector-api.ts";
import { createLongRun } from "../../../test/page/long-run.ts";
import { recordRun, RETRY_MS } from "./record-run.ts";
import { RunRecording } from "./run-recording.ts";

const RUN = createLongRun(30);

type Answer = (request: FrameRequest) => AsyncGenerator<WireFrame>;

/** Returns one response per request, then repeats the last. */
function createStage(...answers: readonly Answer[]) {
  const recording = new RunRecording({ session: RUN.session, runId: RUN.runId, turnKey: RUN.runId });
  const asked: (string | undefined)[] = [];
  const waited: number[] = [];
  const api: Pick<InspectorApi, "readFrames"> = {
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

describe("recordRun", () => {
  it("completes when the stream ends", async () => {
    const { recording, run, asked } = createStage(give(0, 30));
    await run();
    expect(recording.frames.getSnapshot()).toMatchObject({ count: 30, status: "whole", turn: { status: "completed" } });
    expect(asked).toEqual([undefined]);
  });

  it("continues after the last frame", async () => {
    const { recording, run, asked, waited } = createStage(give(0, 10, lost()), give(10, 10, lost()), give(10, 30));
    await run();
    expect(recording.frames.getSnapshot()).toMatchObject({ count: 30, status: "whole" });
    expect(asked).toEqual([undefined, "110", "110"]);
    expect(waited).toEqual([500, 1000]);
  });

  it("fails after several attempts without a frame, and can be restarted", async () => {
    const stage = createStage(give(0, 5, lost()), ...RETRY_MS.map(() => give(5, 5, lost())), give(5, 30));
    await stage.run();
    expect(stage.recording.frames.getSnapshot()).toMatchObject({ count: 5, status: "failed", error: "gone" });
    expect(stage.waited).toEqual(RETRY_MS);
    await stage.run();
    expect(stage.recording.frames.getSnapshot()).toMatchObject({ count: 30, status: "whole", error: undefined });
  });

  it("does not complete if the stream of a live run ends early", async () => {
    const { recording, run, asked } = createStage(give(0, 10), give(10, 30));
    await run();
    expect(recording.frames.getSnapshot()).toMatchObject({ count: 30, status: "whole", turn: { status: "completed" } });
    expect(asked).toEqual([undefined, "110"]);
    const cut = createStage(give(0, 10), give(10, 10));
    await cut.run();
    expect(cut.recording.frames.getSnapshot()).toMatchObject({ count: 10, status: "failed" });
    expect(cut.waited).toEqual(RETRY_MS);
  });

  it("does not retry a refusal", async () => {
    const refused = Object.assign(new Error("no such run"), { code: "unknown_run" });
    const { recording, run, asked } = createStage(give(0, 0, refused));
    await run();
    expect(recording.frames.getSnapshot()).toMatchObject({ status: "failed", error: "no such run" });
    expect(asked).toHaveLength(1);
  });

  it("stops when aborted, without an error", async () => {
    const stage = createStage(async function* ({ signal }) {
      yield { text: RUN.texts[0] as string };
      stage.stop.abort();
      signal.throwIfAborted();
    });
    await stage.run();
    expect(stage.recording.frames.getSnapshot().status).toBe("reading");
    expect(stage.asked).toHaveLength(1);
  });
});
