/** Images in the data of an event. */
import type { EventOf } from "../../protocol/index.ts";

/** Returns an image event for data that 004 can show: an image with a URL. */
export function imageOf({ data_type, data }: EventOf<"data">): EventOf<"image"> | undefined {
  const { url, media_type, mediaType, alt } = data;
  if (data_type !== "image" || typeof url !== "string") return undefined;
  const media = media_type ?? mediaType;
  return {
    type: "image",
    url,
    ...(typeof media === "string" ? { media_type: media } : {}),
    ...(typeof alt === "string" ? { alt } : {}),
  };
}
