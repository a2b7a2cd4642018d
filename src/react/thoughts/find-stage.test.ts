import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { frameText, listVectorFiles, readVector } from "../../../test/vectors.ts";
import { ViewFeed } from "../../../test/view-feed.ts";
import { createReceiver, type TurnView } from "../../client/index.ts";
import { findRunPhase } from "./describe-stream.ts";
import { findStage } from "./find-stage.ts";
import { describeStage, STAGE_WORDS } from "./stage.tsx";

const FILES = new Map(listVectorFiles("runs").map((file) => [basename(file, ".json"), file]));

/** Stage titles while a golden run arrives, once per change; `.` after its end. */
function follow(name: string, language: "en" | "zh" = "en"): string[] {
  const { dialect, frames } = readVector(FILES.get(name) ?? "");
  const receiver = createReceiver();
  const source = receiver.open({ dialect });
  const titles: string[] = [];
  for (const frame of frames) {
    source.push(frameText(frame));
    const turn = receiver.getSnapshot().sessions[0]?.turns.at(-1);
    const stage = turn && findStage(turn);
    const title = stage === undefined ? "." : describeStage(stage, STAGE_WORDS[language]).title;
    if (titles.at(-1) !== title) titles.push(title);
  }
  return titles;
}

describe("the stage of a golden run", () => {
  it("names the tool being prepared and called", () => {
    expect(follow("agent-rounds-used-up")).toEqual([
      "Starting",
      "Thinking",
      "Preparing: Add",
      "Adds two numbers",
      "Working",
      "Thinking",
      "Answering",
      "Finishing",
      ".",
    ]);
  });

  it("puts approvals first", () => {
    const titles = follow("agent-parallel-approval");
    const approvalAt = titles.indexOf("Waiting for your approval: Removes a file");
    expect(approvalAt).toBeGreaterThan(0);
    expect(titles.slice(approvalAt + 1)).toContain("Removes a file");
    expect(follow("agent-parallel-approval", "zh")[approvalAt]).toBe("等待你审批：Removes a file");
  });

  it("names the tool that the client carries out", () => {
    const at = follow("agent-client-tools").indexOf("Waiting for the client: Close tab");
    expect(at).toBeGreaterThan(0);
    expect(follow("agent-client-tools", "zh")[at]).toBe("等待客户端：Close tab");
  });

  it("announces a tree search once", () => {
    expect(follow("agent-tot-backtrack")).toEqual([
      "Starting",
      "Exploring thoughts",
      "Preparing: Add",
      "Adds two numbers",
      "Exploring thoughts",
      "Answering",
      "Finishing",
      ".",
    ]);
  });

  it("announces a graph once", () => {
    const titles = ["Starting", "Planning steps", "Running steps", "Answering", "Finishing", "."];
    expect(follow("agent-agot-nested").filter((each) => each !== "Working")).toEqual(titles);
  });

  it("has a title in both languages until the run ends", () => {
    for (const name of FILES.keys())
      for (const language of ["en", "zh"] as const) {
        const titles = follow(name, language);
        expect(titles.every((each) => each.length > 0)).toBe(true);
      }
  });
});

describe("findStage", () => {
  it("names the stage of thinking and the steps of a tree search", () => {
    const feed = new ViewFeed().start("hello");
    expect(findStage(feed.turn)).toEqual({ kind: "starting" });
    feed.put({ type: "reasoning_chunk", content: "hm", stage: "analyzing" });
    expect(findStage(feed.turn)).toEqual({ kind: "thinking", stage: "analyzing" });
    feed.enter("think_evaluate").put({ type: "tot_expand", candidates: ["a", "b"] });
    expect(findStage(feed.turn)).toEqual({ kind: "judging", depth: 1, thoughts: 2 });
  });

  it("reads only the end of a list", () => {
    const call = { toolId: "1", toolName: "old", status: "running" };
    const done = Array.from({ length: 1000 }, (_, at) => ({ toolId: `${at}`, toolName: "new", status: "success" }));
    const turn = {
      status: "running",
      messages: [{ role: "assistant", parts: [{ type: "tool" }], toolCalls: [call, ...done] }],
      nodes: [],
      modelCalls: [],
    } as unknown as TurnView;
    expect(findStage(turn)).toEqual({ kind: "working" });
  });

  it("truncates names from the stream", () => {
    const long = "x".repeat(500);
    const stage = { kind: "calling", tool: long, callId: "1", others: 2, message: long } as const;
    const { title, detail } = describeStage(stage, STAGE_WORDS.en);
    expect(title.length).toBeLessThan(80);
    expect(detail).toMatch(/^\+2 more · x{120}$/);
  });
});

describe("the phase of a golden run", () => {
  const followPhase = (name: string): (string | undefined)[] => {
    const { dialect, frames } = readVector(FILES.get(name) ?? "");
    const receiver = createReceiver();
    const source = receiver.open({ dialect });
    const phases: (string | undefined)[] = [];
    for (const frame of frames) {
      source.push(frameText(frame));
      const phase = findRunPhase(receiver.getSnapshot().sessions[0]);
      if (phases.length === 0 || phases.at(-1) !== phase) phases.push(phase);
    }
    return phases;
  };

  it("is waiting during an approval, and nothing after the run completed", () => {
    expect(followPhase("approval")).toEqual(["running", "waiting", "running", undefined]);
  });

  it("is failed or nothing after a run that did not complete", () => {
    expect(followPhase("error").at(-1)).toBe("failed");
    expect(followPhase("cancel").at(-1)).toBeUndefined();
  });
});
