import { describe, expect, it } from "vitest";
import {
  MAX_INSTRUCTIONS,
  NO_INSTRUCTIONS,
  readInstructions,
  reduceInstructions,
  saveInstructions,
} from "./instructions.ts";

const write = (session: string, text: string) => ({ type: "instructions/written", session, text }) as const;

describe("the system prompt of a session", () => {
  it("is moved to the session that the first message creates, and copied to its versions", () => {
    let state = reduceInstructions(NO_INSTRUCTIONS, write("", "Be brief."));
    state = reduceInstructions(state, { type: "instructions/copied", from: "", to: "s" });
    expect([...state]).toEqual([["s", "Be brief."]]);
    state = reduceInstructions(state, { type: "instructions/copied", from: "s", to: "fork" });
    expect(state.get("fork")).toBe("Be brief.");
    state = reduceInstructions(state, write("s", " "));
    expect([...state.keys()]).toEqual(["fork"]);
    expect(reduceInstructions(state, { type: "instructions/copied", from: "s", to: "fork" })).toBe(state);
  });

  it("is limited and survives a reload", () => {
    const stored = new Map<string, string>();
    const storage = {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => void stored.set(key, value),
    };
    const state = reduceInstructions(NO_INSTRUCTIONS, write("s", "x".repeat(MAX_INSTRUCTIONS + 1)));
    saveInstructions(storage, state);
    expect(readInstructions(storage)).toEqual(state);
    expect(state.get("s")).toHaveLength(MAX_INSTRUCTIONS);
    for (const text of ["", "{", "null", '[["s",1],7,["t"]]']) {
      stored.set("loom.instructions", text);
      expect(readInstructions(storage).size).toBe(0);
    }
  });
});
