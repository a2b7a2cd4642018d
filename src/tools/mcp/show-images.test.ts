import { expect, it } from "vitest";
import { LoomError } from "../../protocol/index.ts";
import type { ImageEvent } from "../../protocol/events.generated.ts";
import { showImages } from "./show-images.ts";

const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(200)]);
const imageOf = (bytes: Buffer): ImageEvent => ({
  type: "image",
  url: `data:image/png;base64,${bytes.toString("base64")}`,
  media_type: "image/png",
});

it("saves images that are too large for an event, and counts those that cannot be shown", async () => {
  const shown: unknown[] = [];
  const context = { show: (event: unknown) => void shown.push(event), ready: async () => undefined };
  const small = imageOf(png.subarray(0, 20));
  const images = [small, imageOf(png), imageOf(Buffer.alloc(300))];
  const saveBlob = async (bytes: Uint8Array) => ({ blob_id: "b", url: `/blobs/${bytes.length}` });
  expect(await showImages(images, 100, { ...context, saveBlob })).toBe(1);
  expect(shown).toEqual([small, { type: "image", url: "/blobs/208", media_type: "image/png" }]);
  expect(await showImages(images, 100, context)).toBe(2);
  const full = () => Promise.reject(new LoomError("blobs_full", "full"));
  expect(await showImages([imageOf(png)], 100, { ...context, saveBlob: full })).toBe(1);
  const broken = () => Promise.reject(new Error("disk"));
  await expect(showImages([imageOf(png)], 100, { ...context, saveBlob: broken })).rejects.toThrow("disk");
});
