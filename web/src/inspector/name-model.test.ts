import { expect, it } from "vitest";
import { nameModel } from "./name-model.ts";

it.each([
  ["offline/offline", "offline"],
  ["openai/gpt-5", "openai/gpt-5"],
  ["a/ab", "a/ab"],
  ["a/a/a", "a/a/a"],
  ["m", "m"],
])("shortens %s to %s", (model, name) => {
  expect(nameModel(model)).toBe(name);
});
