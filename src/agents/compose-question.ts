/** What the user has said, as a message's content: the words, and the files that came with them by reference. */
import type { AttachmentPart, UserPart } from "../models/model.ts";
import type { RunStartEvent } from "../protocol/index.ts";

export type RunAttachments = NonNullable<RunStartEvent["attachments"]>;

/** Empty where nothing was said. */
export function composeQuestion(message: string, attachments: RunAttachments): readonly UserPart[] {
  return [...(isBlank(message) ? [] : [{ type: "text", text: message } as const]), ...attachments.map(toPart)];
}

export function toPart({ blob_id, media_type, bytes, name }: RunAttachments[number]): AttachmentPart {
  const named = name === undefined ? {} : { name };
  return { type: "attachment", blobId: blob_id, mediaType: media_type, bytes, ...named };
}

/** Providers refuse texts of nothing but spaces. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}
