// Drafts across reloads, and validation of stored values.
import fc from "fast-check";
import { expect, it } from "vitest";
import { type ComposingAction, EMPTY_COMPOSING, reduceComposing, type WaitingMessage } from "./composing.ts";
import { saveDrafts, readDrafts } from "./stored-drafts.ts";
import type { KeyValueStorage } from "./settings.ts";

function createStorage(value?: string): KeyValueStorage {
  let stored = value ?? null;
  return {
    getItem: () => stored,
    setItem: (_key, given) => {
      stored = given;
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

it("stores drafts with their uploaded files", () => {
  const blob = { blob_id: "b", url: "/b", media_type: "text/plain", name: "a", bytes: 1, created_at: 0 };
  const file = { id: "f", name: "a", bytes: 1, mediaType: "", progress: 100 };
  const files = [
    { ...file, blob },
    { ...file, id: "g", progress: 50 },
  ];
  const attached: ComposingAction = { type: "attachments/added", session: "__proto__", files };
  const state = [typed("", "new"), typed("7", "text"), attached].reduce(reduceComposing, EMPTY_COMPOSING);
  const storage = createStorage();
  saveDrafts(storage, state);
  expect([...readDrafts(storage).drafts]).toEqual([
    ["", { text: "new", attachments: [] }],
    ["7", { text: "text", attachments: [] }],
    ["__proto__", { text: "", attachments: [{ ...file, blob }] }],
  ]);
});

it("stores unconfirmed messages with their IDs", () => {
  const failed = { ...MESSAGE, runId: "r2", status: "failed", error: "no", isLost: true } as const;
  const queued = { ...MESSAGE, runId: "r3", status: "queued" } as const;
  const state = [MESSAGE, failed, queued].map((one) => sent("s", one)).reduce(reduceComposing, EMPTY_COMPOSING);
  const storage = createStorage();
  saveDrafts(storage, state);
  expect([...readDrafts(storage).waiting]).toEqual([["s", [MESSAGE, failed]]]);
});

it("stores the drafts of a bounded number of sessions, in full, and reports a full storage", () => {
  const long = "x".repeat(70_000);
  const all = Array.from({ length: 40 }, (_, index) => typed(`s${index}`, long));
  const storage = createStorage();
  const state = [...all, sent("s1", { ...MESSAGE, text: long })].reduce(reduceComposing, EMPTY_COMPOSING);
  expect(saveDrafts(storage, state)).toBe(true);
  const { drafts, waiting } = readDrafts(storage);
  expect([drafts.size, drafts.get("s39")?.text, waiting.get("s1")?.[0]?.text]).toEqual([20, long, long]);
  const full: KeyValueStorage = {
    getItem: () => null,
    setItem: () => {
      throw new DOMException("full", "QuotaExceededError");
    },
  };
  expect(saveDrafts(full, state)).toBe(false);
});

it("stores a pasted text as text until its file is uploaded", () => {
  const file = { id: "f", name: "p.txt", bytes: 3, mediaType: "text/plain", progress: 0 };
  const attached: ComposingAction = {
    type: "attachments/added",
    session: "s",
    files: [{ ...file, pasted: { text: "abc", at: 2 } }],
  };
  let state = [typed("s", "12345"), attached].reduce(reduceComposing, EMPTY_COMPOSING);
  const storage = createStorage();
  saveDrafts(storage, state);
  expect(readDrafts(storage).drafts.get("s")).toEqual({ text: "12abc345", attachments: [] });
  const blob = { blob_id: "b", url: "/b", media_type: "text/plain", bytes: 3, created_at: 0 };
  state = reduceComposing(state, { type: "attachment/updated", session: "s", id: "f", changes: { blob } });
  saveDrafts(storage, state);
  state = readDrafts(storage);
  expect(state.drafts.get("s")?.text).toBe("12345");
  state = reduceComposing(state, { type: "paste/undone", session: "s", id: "f" });
  expect(state.drafts.get("s")).toEqual({ text: "12abc345", attachments: [] });
});

it("accepts any stored value", () => {
  const entry = fc.tuple(fc.string(), fc.oneof(fc.jsonValue(), fc.record({ text: fc.jsonValue() })));
  const stored = fc.record({ drafts: fc.array(entry), waiting: fc.oneof(fc.jsonValue(), fc.array(entry)) });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        stored.map((value) => JSON.stringify(value)),
      ),
      (value) => {
        const { drafts, waiting } = readDrafts(createStorage(value));
        for (const { text } of drafts.values()) expect(typeof text).toBe("string");
        for (const { runId } of [...waiting.values()].flat()) expect(typeof runId).toBe("string");
      },
    ),
  );
  expect(readDrafts(undefined)).toBe(EMPTY_COMPOSING);
});
