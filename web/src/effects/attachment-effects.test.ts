// Uploads before a message is sent: retry of a failed file.
import { expect, it } from "vitest";
import { ApiError } from "../api/api-error.ts";
import { findDraft } from "../store/composing.ts";
import { createAttachmentEffects } from "./attachment-effects.ts";
import { createFakeContext, createTurn } from "../../../test/contracts/fake-context.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("retries a failed upload, and drops a removed file", async () => {
  let isDown = true;
  const context = createFakeContext((what) => {
    if (what === "putBlob" && isDown) throw new ApiError("connection_lost", "no response");
    return { blob_id: "b", bytes: 1 };
  });
  const effects = createAttachmentEffects(context);
  const files = () =>
    findDraft(context.store.getSnapshot().composing, context.store.getSnapshot().sessions.current).attachments;
  const file = new File(["x"], "notes.txt");
  effects.attach([file, new File(["y"], "other.txt")]);
  await settle();
  const [first, second] = files();
  expect([first?.error, second?.error]).toEqual(Array(2).fill("no response"));
  effects.removeAttachment(second?.id ?? "");
  effects.retryAttachment(second?.id ?? "");
  isDown = false;
  effects.retryAttachment(first?.id ?? "");
  // The upload is running already.
  effects.retryAttachment(first?.id ?? "");
  expect(files()).toMatchObject([{ name: "notes.txt", progress: 0 }]);
  expect(files()[0]).not.toHaveProperty("error");
  await settle();
  expect(files()).toMatchObject([{ blob: { blob_id: "b" }, progress: 100 }]);
  const sent = context.calls.filter(([what]) => what === "putBlob");
  expect([sent.length, sent[2]?.[2]]).toEqual([3, file]);
});

it("deletes a session that was created for a file, with its last file", async () => {
  const context = createFakeContext((what) => (what === "putBlob" ? { blob_id: "b", bytes: 1 } : undefined));
  const { store } = context;
  const effects = createAttachmentEffects(context);
  const draft = () => findDraft(store.getSnapshot().composing, store.getSnapshot().sessions.current);
  store.dispatch({ type: "draft/typed", session: "", text: "typed" });
  effects.attach([new File(["x"], "a.txt"), new File(["y"], "b.txt")]);
  const [session] = context.opened;
  await settle();
  const [first, second] = draft().attachments;
  effects.removeAttachment(first!.id);
  await settle();
  expect(context.calls.filter(([what]) => what === "deleteConversation")).toEqual([]);
  effects.removeAttachment(second!.id);
  await settle();
  expect(context.calls.at(-1)).toEqual(["deleteConversation", session]);
  expect(context.opened.at(-1)).toBeUndefined();
  expect(draft()).toEqual({ text: "typed", attachments: [] });
  // A session with runs stays.
  context.open("s");
  context.show("s", [createTurn({ runId: "r" })]);
  effects.attachText("long.txt", "a long text", 0);
  await settle();
  effects.undoPaste(draft().attachments[0]!.id);
  await settle();
  expect(draft()).toEqual({ text: "a long text", attachments: [] });
  expect(context.calls.filter(([what]) => what === "deleteConversation")).toHaveLength(1);
});
