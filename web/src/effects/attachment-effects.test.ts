// Uploads before a message is sent: retry of a failed file.
import { expect, it } from "vitest";
import { ApiError } from "../api/api-error.ts";
import { findDraft } from "../store/composing.ts";
import { createAttachmentEffects } from "./attachment-effects.ts";
import { createFakeContext } from "./fake-context.contract.ts";

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
