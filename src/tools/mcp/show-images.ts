/** Shows the images an MCP server has answered with; those too large for an event are kept, and shown by where they are. */
import { Buffer } from "node:buffer";
import { type ImageEvent, isLoomError } from "../../protocol/index.ts";
import { sniffImage } from "../fetch/sniff-image.ts";
import type { ToolContext } from "../tool.ts";

/** How many could not be shown: the call itself has worked. */
export async function showImages(
  images: readonly ImageEvent[],
  maxCharacters: number,
  { show, ready, saveBlob }: Pick<ToolContext, "show" | "ready" | "saveBlob">,
): Promise<number> {
  let missed = 0;
  for (const image of images) {
    const shown = image.url.length <= maxCharacters ? image : await keep(image, saveBlob);
    if (shown === undefined) missed += 1;
    else show(shown);
    await ready();
  }
  return missed;
}

async function keep(image: ImageEvent, saveBlob: ToolContext["saveBlob"]): Promise<ImageEvent | undefined> {
  const bytes = Buffer.from(image.url.slice(image.url.indexOf(",") + 1), "base64");
  // What the server calls an image need not be one.
  const mediaType = sniffImage(bytes);
  if (mediaType === undefined || saveBlob === undefined) return undefined;
  try {
    const { url } = await saveBlob(bytes, { mediaType });
    return { ...image, url, media_type: mediaType };
  } catch (error) {
    if (isLoomError(error, "blob_too_large", "blobs_full", "too_many_open")) return undefined;
    throw error;
  }
}
