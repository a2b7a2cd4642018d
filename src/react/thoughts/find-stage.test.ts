import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { frameText, listVectorFiles, readVector } from "../../../test/vectors.ts";
import { ViewFeed } from "../../../test/view-feed.ts";
import { createReceiver, type TurnView } from "../../client/index.ts";
import { findStage } from "./find-stage.ts";
import { STAGE_WORDS } from "./stage-words.ts";
import { describeStage } from "./stage.tsx";

const FILES = new Map(listVectorFiles("runs").map((file) => [basename(file, ".json"), file]));

/** What is said while a golden run comes in, each once per change; `.` where it is over. */
function follow(name: string, language: "en" | "zh" = "en"): string[] {
  const { dialect, frames } = readVector(FILES.get(name) ?? "");
  const receiver = createReceiver();
  const source = receiver.open({ dialect });
  const said: string[] = [];
  for (const frame of frames) {
    source.push(frameText(frame));
    const turn = receiver.getSnapshot().sessions[0]?.turns.at(-1);
    const stage = turn && findStage(turn);
    const title = stage === undefined ? "." : describeStage(stage, STAGE_WORDS[language]).title;
    if (said.at(-1) !== title) said.push(title);
  }
  return said;
}

describe("the stage of a golden run", () => {
  it("says which tool is prepared and called", () => {
    expect(follow("agent-rounds-used-up")).toEqual([
      "Starting",
      "Thinking",
      "Preparing a call of add",
      "Calling add",
      "Working",
      "Thinking",
      "Answering",
      "Finishing",
      ".",
    ]);
  });

  it("says whose approval is waited for before anything else", () => {
    const said = follow("agent-parallel-approval");
    const asked = said.indexOf("Waiting for your approval of remove");
    expect(asked).toBeGreaterThan(0);
    expect(said.slice(asked + 1)).toContain("Calling remove");
    expect(follow("agent-parallel-approval", "zh")[asked]).toBe("等待你批准 remove");
  });

  it("says once that a tree is searched, whatever happens in it", () => {
    expect(follow("agent-tot-backtrack")).toEqual([
      "Starting",
      "Searching the tree of thoughts",
      "Preparing a call of add",
      "Calling add",
      "Searching the tree of thoughts",
      "Answering",
      "Finishing",
      ".",
    ]);
  });

  it("says once that a graph is worked through", () => {
    const said = ["Starting", "Planning the steps", "Working through the graph", "Answering", "Finishing", "."];
    expect(follow("agent-agot-nested").filter((each) => each !== "Working")).toEqual(said);
  });

  it("has something to say of every golden run, in both languages, until it is over", () => {
    for (const name of FILES.keys())
      for (const language of ["en", "zh"] as const) {
        const said = follow(name, language);
        expect(said.every((each) => each.length > 0)).toBe(true);
      }
  });
});

describe("the stage of a run", () => {
  it("names the stage of thinking, and the steps of a tree", () => {
    const feed = new ViewFeed().start("hello");
    expect(findStage(feed.turn)).toEqual({ kind: "starting" });
    feed.put({ type: "reasoning_chunk", content: "hm", stage: "analyzing" });
    expect(findStage(feed.turn)).toEqual({ kind: "thinking", stage: "analyzing" });
    feed.enter("think_evaluate").put({ type: "tot_expand", candidates: ["a", "b"] });
    expect(findStage(feed.turn)).toEqual({ kind: "judging", depth: 1, thoughts: 2 });
  });

  it("looks at the end of a list only", () => {
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

  it("cuts what a stream calls things", () => {
    const long = "x".repeat(500);
    const stage = { kind: "calling", tool: long, callId: "1", others: 2, message: long } as const;
    const { title, detail } = describeStage(stage, STAGE_WORDS.en);
    expect(title.length).toBeLessThan(80);
    expect(detail).toMatch(/^and 2 more · x{120}$/);
  });
});
