import { describe, expect, it } from "vitest";
import {
  findInstructions,
  MAX_INSTRUCTIONS,
  NO_INSTRUCTIONS,
  readInstructions,
  reduceInstructions,
  saveInstructions,
} from "./instructions.ts";

const write = (session: string, text: string) => ({ type: "instructions/written", session, text }) as const;
const send = (from: string, session: string, text: string, runId: string) =>
  ({ type: "instructions/sent", from, session, text, runId }) as const;

describe("the system prompt of a session", () => {
  it("is that of the latest run, unless the user wrote another for the next message", () => {
    const turns = [
      { runId: "r1", instructions: "Old." },
      { runId: "r2", instructions: "Be brief." },
    ];
    expect(findInstructions(undefined, [])).toBe("");
    expect(findInstructions(undefined, turns)).toBe("Be brief.");
    expect(findInstructions({ text: "Be kind." }, turns)).toBe("Be kind.");
    expect(findInstructions({ text: " " }, turns)).toBe("");
    // It was sent, and another tab may have changed it since its run started.
    expect(findInstructions({ text: "Be kind.", runId: "r3" }, turns)).toBe("Be kind.");
    expect(findInstructions({ text: "Old.", runId: "r1" }, turns)).toBe("Be brief.");
    expect(findInstructions({ text: "Old.", runId: "r1" }, [...turns, { runId: "r3" }])).toBe("");
    const later = Array.from({ length: 60 }, (_, index) => ({ runId: `later${index}`, instructions: "New." }));
    expect(findInstructions({ text: "Old.", runId: "r1" }, [...turns, ...later])).toBe("New.");
  });

  it("is moved to the session that the first message creates, and kept in versions", () => {
    let state = reduceInstructions(NO_INSTRUCTIONS, write("", "Be brief."));
    state = reduceInstructions(state, send("", "s", "Be brief.", "r"));
    expect([...state]).toEqual([["s", { text: "Be brief.", runId: "r" }]]);
    state = reduceInstructions(state, send("s", "fork", "Be brief.", "r2"));
    expect(state.get("fork")).toEqual({ text: "Be brief.", runId: "r2" });
    expect(state.get("s")).toEqual({ text: "Be brief.", runId: "r" });
    expect(reduceInstructions(NO_INSTRUCTIONS, send("", "t", "", "r3"))).toBe(NO_INSTRUCTIONS);
  });

  it("is that of the log as soon as its run has appeared", () => {
    const start = (...runIds: string[]) =>
      ({ type: "instructions/started", session: "s", runIds: new Set(runIds) }) as const;
    let state = reduceInstructions(NO_INSTRUCTIONS, send("s", "s", "Be brief.", "r"));
    expect(reduceInstructions(state, start("q"))).toBe(state);
    expect(reduceInstructions(state, start("q", "r")).size).toBe(0);
    // Written after the message was sent.
    state = reduceInstructions(state, write("s", "Be kind."));
    expect(reduceInstructions(state, start("q", "r"))).toBe(state);
  });

  it("is limited, and what was not sent survives a reload", () => {
    const stored = new Map<string, string>();
    const storage = {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => void stored.set(key, value),
    };
    let state = reduceInstructions(NO_INSTRUCTIONS, write("s", "x".repeat(MAX_INSTRUCTIONS + 1)));
    state = reduceInstructions(state, send("t", "t", "sent", "r"));
    saveInstructions(storage, "ann", NO_INSTRUCTIONS, state);
    expect(readInstructions(storage, "ann")).toEqual(state);
    for (const other of ["bob", ""]) expect(readInstructions(storage, other).size).toBe(0);
    expect(state.get("s")?.text).toHaveLength(MAX_INSTRUCTIONS);
    const invalid = '{"owner":"ann","prompts":[["s",1],7,["t"],["a","b","c","d"]]}';
    for (const text of ["", "{", "null", '[["s","x"]]', '{"prompts":[["s","x"]]}', invalid]) {
      stored.set("loom.instructions", text);
      expect(readInstructions(storage, "ann").size).toBe(0);
    }
  });
});
