// Drafts outlive a reload; whatever was kept, the page begins.
import fc from "fast-check";
import { expect, it } from "vitest";
import { type ComposingAction, NOTHING_COMPOSED, reduceComposing } from "./composing.ts";
import { keepDrafts, readDrafts } from "./kept-drafts.ts";
import type { Keeper } from "./settings.ts";

function createKeeper(value?: string): Keeper & { value: string | undefined } {
  return {
    value,
    getItem() {
      return this.value ?? null;
    },
    setItem(_key, next) {
      this.value = next;
    },
  };
}

const typed = (session: string, text: string): ComposingAction => ({ type: "draft/typed", session, text });

it("keeps what was written, without the files, which went up in another life of the page", () => {
  const file = { id: "f", name: "a", bytes: 1, mediaType: "", progress: 0 };
  const attached: ComposingAction = { type: "attachments/added", session: "b", files: [file] };
  const state = [typed("", "new"), typed("a", "text"), attached].reduce(reduceComposing, NOTHING_COMPOSED);
  const keeper = createKeeper();
  keepDrafts(keeper, state.drafts);
  expect(readDrafts(keeper).drafts).toEqual({
    "": { text: "new", attachments: [] },
    a: { text: "text", attachments: [] },
  });
});

it("keeps so much", () => {
  const all = Array.from({ length: 40 }, (_, index) => typed(`s${index}`, "x".repeat(60_000)));
  const keeper = createKeeper();
  keepDrafts(keeper, all.reduce(reduceComposing, NOTHING_COMPOSED).drafts);
  const { drafts } = readDrafts(keeper);
  expect([Object.keys(drafts).length, drafts["s39"]?.text.length]).toEqual([20, 50_000]);
});

it("begins with whatever was kept", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (value) => {
      for (const { text } of Object.values(readDrafts(createKeeper(value)).drafts)) expect(typeof text).toBe("string");
    }),
  );
  expect(readDrafts(undefined)).toBe(NOTHING_COMPOSED);
});
