/** Compares two PNGs in a browser, which decodes them. */
import type { Page } from "playwright-core";

/** Channels may differ by this much: processors round colours differently. */
const MAX_CHANNEL = 6;
/** Share of the pixels that may differ more. */
const MAX_SHARE = 0.0002;

export interface PictureDifference {
  /** Pixels that differ, of all pixels. */
  readonly pixels: number;
  readonly share: number;
  readonly isEqual: boolean;
  /** PNG with the differing pixels in red over the pale expected picture. */
  readonly png: Buffer;
}

export async function comparePictures(page: Page, expected: Buffer, taken: Buffer): Promise<PictureDifference> {
  const { pixels, share, png } = await page.evaluate(
    async ([first, second, maxChannel]) => {
      const read = async (base64: string): Promise<ImageBitmap> =>
        createImageBitmap(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], { type: "image/png" }));
      const bitmaps = [await read(first), await read(second)] as const;
      const width = Math.max(...bitmaps.map((bitmap) => bitmap.width));
      const height = Math.max(...bitmaps.map((bitmap) => bitmap.height));
      const canvas = document.createElement("canvas");
      Object.assign(canvas, { width, height });
      const context = canvas.getContext("2d", { willReadFrequently: true, colorSpace: "srgb" });
      if (context === null) throw new Error("no canvas");
      const [a, b] = bitmaps.map((bitmap) => {
        context.clearRect(0, 0, width, height);
        context.drawImage(bitmap, 0, 0);
        return context.getImageData(0, 0, width, height);
      }) as [ImageData, ImageData];
      let pixels = 0;
      for (let at = 0; at < a.data.length; at += 4) {
        let isSame = true;
        for (let channel = 0; channel < 4; channel++)
          if (Math.abs((a.data[at + channel] ?? 0) - (b.data[at + channel] ?? 0)) > maxChannel) isSame = false;
        if (isSame) {
          for (let channel = 0; channel < 3; channel++) a.data[at + channel] = 192 + (a.data[at + channel] ?? 0) / 4;
        } else {
          pixels++;
          a.data.set([230, 0, 0, 255], at);
        }
      }
      context.putImageData(a, 0, 0);
      return { pixels, share: pixels / (width * height), png: canvas.toDataURL("image/png").split(",")[1] ?? "" };
    },
    [expected.toString("base64"), taken.toString("base64"), MAX_CHANNEL] as const,
  );
  return { pixels, share, isEqual: share <= MAX_SHARE, png: Buffer.from(png, "base64") };
}
