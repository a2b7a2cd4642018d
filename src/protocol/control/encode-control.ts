/** Writes a control frame as the text of one message. */
import type { DownFrame } from "./down.generated.ts";
import type { UpFrame } from "./up.generated.ts";

export function encodeControl(frame: UpFrame | DownFrame): string {
  return JSON.stringify(frame);
}
