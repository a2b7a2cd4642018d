/** Encodes control frames. */
import type { DownFrame } from "./down.generated.ts";
import type { UpFrame } from "./up.generated.ts";

/** Encodes a control frame as the text of one socket message. */
export function encodeControl(frame: UpFrame | DownFrame): string {
  return JSON.stringify(frame);
}
