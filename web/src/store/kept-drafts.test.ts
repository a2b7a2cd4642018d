// What of the composer outlives a reload, and what is made of whatever was kept.
import fc from "fast-check";
import { expect, it } from "vitest";
import { type ComposingAction, NOTHING_COMPOSED, reduceComposing, type WaitingMessage } from "./composing.ts";
import { keepDrafts, readDrafts } from "./kept-drafts.ts";
import type { Keeper } from "./settings.ts";

function createKeeper(value?: string): Keeper {
  let kept = value ?? null;
  return {
    getItem: () => kept,
    setItem: (_key, given) => {
      kept = given;
    },
  };
}

const typed = (session: string, text: string): ComposingAction => ({ type: "draft/typed", session, text });
const sent = (session: string, message: WaitingMessage): ComposingAction => ({
  type: "message/sent",
  session,
  message,
  clearsDraft: true,
});
const MESSAGE: WaitingMessage = { commandId: "c", runId: "r", text: "hello", files: [], status: "sending" };

it("keeps what was written, with the files that have gone up", () => {
  const blob = { blob_id: "b", url: "/b", media_type: "text/plain", name: "a", bytes: 1, created_at: 0 };
  const file = { id: "f", name: "a", bytes: 1, mediaType: "", progress: 100 };
  const files = [
    { ...file, blob },
    { ...file, id: "g", progress: 50 },
  ];
  const attached: ComposingAction = { type: "attachments/added", session: "__proto__", files };
  const state = [typed("", "new"), typed("7", "text"), attached].reduce(reduceComposing, NOTHING_COMPOSED);
  const keeper = createKeeper();
  keepDrafts(keeper, state);
  expect([...readDrafts(keeper).drafts]).toEqual([
    ["", { text: "new", attachments: [] }],
    ["7", { text: "text", attachments: [] }],
    ["__proto__", { text: "", attachments: [{ ...file, blob }] }],
  ]);
});

it("keeps messages that nobody has answered for, to be sent as the same", () => {
  const failed = { ...MESSAGE, runId: "r2", status: "failed", error: "no", isLost: true } as const;
  const queued = { ...MESSAGE, runId: "r3", status: "queued" } as const;
  const state = [MESSAGE, failed, queued].map((one) => sent("s", one)).reduce(reduceComposing, NOTHING_COMPOSED);
  const keeper = createKeeper();
  keepDrafts(keeper, state);
  expect([...readDrafts(keeper).waiting]).toEqual([["s", [MESSAGE, failed]]]);
});

it("keeps so much", () => {
  const all = Array.from({ length: 40 }, (_, index) => typed(`s${index}`, "x".repeat(60_000)));
  const keeper = createKeeper();
  keepDrafts(keeper, all.reduce(reduceComposing, NOTHING_COMPOSED));
  const { drafts } = readDrafts(keeper);
  expect([drafts.size, drafts.get("s39")?.text.length]).toEqual([20, 50_000]);
});

it("begins with whatever was kept", () => {
  const entry = fc.tuple(fc.string(), fc.oneof(fc.jsonValue(), fc.record({ text: fc.jsonValue() })));
  const kept = fc.record({ drafts: fc.array(entry), waiting: fc.oneof(fc.jsonValue(), fc.array(entry)) });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        kept.map((value) => JSON.stringify(value)),
      ),
      (value) => {
        const { drafts, waiting } = readDrafts(createKeeper(value));
        for (const { text } of drafts.values()) expect(typeof text).toBe("string");
        for (const { runId } of [...waiting.values()].flat()) expect(typeof runId).toBe("string");
      },
    ),
  );
  expect(readDrafts(undefined)).toBe(NOTHING_COMPOSED);
});
