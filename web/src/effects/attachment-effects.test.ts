// Files before their message: one that did not go up is tried again, as the same file.
import { expect, it } from "vitest";
import { ApiError } from "../api/api-error.ts";
import { findDraft } from "../store/composing.ts";
import { createAttachmentEffects } from "./attachment-effects.ts";
import { createFakeKit } from "./fake-kit.contract.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("tries a file again that did not go up, and forgets one that was removed", async () => {
  let isDown = true;
  const kit = createFakeKit((what) => {
    if (what === "putBlob" && isDown) throw new ApiError("connection_lost", "the server does not answer");
    return { blob_id: "b", bytes: 1 };
  });
  const effects = createAttachmentEffects(kit);
  const files = () =>
    findDraft(kit.store.getSnapshot().composing, kit.store.getSnapshot().sessions.current).attachments;
  const file = new File(["x"], "notes.txt");
  effects.attach([file, new File(["y"], "other.txt")]);
  await settle();
  const [first, second] = files();
  expect([first?.error, second?.error]).toEqual(Array(2).fill("the server does not answer"));
  effects.removeAttachment(second?.id ?? "");
  effects.retryAttachment(second?.id ?? "");
  isDown = false;
  effects.retryAttachment(first?.id ?? "");
  // It goes up already.
  effects.retryAttachment(first?.id ?? "");
  expect(files()).toMatchObject([{ name: "notes.txt", progress: 0 }]);
  expect(files()[0]).not.toHaveProperty("error");
  await settle();
  expect(files()).toMatchObject([{ blob: { blob_id: "b" }, progress: 100 }]);
  const sent = kit.asked.filter(([what]) => what === "putBlob");
  expect([sent.length, sent[2]?.[2]]).toEqual([3, file]);
});
