import { expect, test } from "vitest";
import type { JsonObject } from "../../protocol/index.ts";
import { lumine } from "./index.ts";

const BASE = { id: "", role: "assistant", session_id: "s" };
const SESSION = { ...BASE, type: "session_id" };
const CANCELLED = { ...BASE, type: "error", error: "Stopped", code: "CANCELLED" };
const UPDATE = { ...BASE, type: "todo_update", list_id: "l", item_id: "i", completed: true };

function decode(frames: readonly (JsonObject | string)[]): readonly string[] {
  const decoder = lumine.createDecoder();
  const texts = frames.map((frame) => (typeof frame === "string" ? frame : JSON.stringify(frame)));
  return texts.flatMap((text) => decoder.decode(text).records.map(({ event }) => event.type));
}

test("the error that is the reason of a cancelled run is not repeated after a bare [DONE]", () => {
  expect(decode([SESSION, CANCELLED, "[DONE]", UPDATE])).toEqual(["run_start", "run_end", "todo_update"]);
});

test("a cancellation before the next request is an error", () => {
  expect(decode([SESSION, CANCELLED, SESSION, UPDATE])).toEqual(["run_start", "error", "run_start", "todo_update"]);
});
