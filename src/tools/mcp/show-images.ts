/** Shows the images in a response of an MCP server. Images that are too large for an event are saved as blobs. */
import { Buffer } from "node:buffer";
import { isLoomError } from "../../protocol/index.ts";
import type { ImageEvent } from "../../protocol/events.generated.ts";
import { sniffImage } from "../fetch/sniff-image.ts";
import type { ToolContext } from "../tool.ts";

/** Returns the number of images that could not be shown. */
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
  // The type declared by the server may be wrong.
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
