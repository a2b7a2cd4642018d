/** The user's message as message content: the text and references to the attached files. */
import type { AttachmentPart, UserPart } from "../models/model.ts";
import type { RunStartEvent } from "../protocol/events.generated.ts";

export type RunAttachments = NonNullable<RunStartEvent["attachments"]>;

/** Empty if there is neither text nor a file. */
export function composeQuestion(message: string, attachments: RunAttachments): readonly UserPart[] {
  return [...(isBlank(message) ? [] : [{ type: "text", text: message } as const]), ...attachments.map(toPart)];
}

export function toPart({ blob_id, media_type, bytes, name }: RunAttachments[number]): AttachmentPart {
  const named = name === undefined ? {} : { name };
  return { type: "attachment", blobId: blob_id, mediaType: media_type, bytes, ...named };
}

/** Providers reject texts that are only whitespace. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}
