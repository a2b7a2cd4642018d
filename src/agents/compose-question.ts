/** The user's message as message content: the text and references to the attached files. Also the prompts of searches. */
import type { AttachmentPart, ModelMessage, UserPart } from "../models/model.ts";
import type { RunStartEvent } from "../protocol/events.generated.ts";
import type { QuestionContext } from "./agent-kind.ts";

export type RunAttachments = NonNullable<RunStartEvent["attachments"]>;

/** Empty if there is neither text nor a file. */
export function composeQuestion(message: string, attachments: RunAttachments): readonly UserPart[] {
  return [...(isBlank(message) ? [] : [{ type: "text", text: message } as const]), ...attachments.map(toPart)];
}

export function toPart({ blob_id, media_type, bytes, name }: RunAttachments[number]): AttachmentPart {
  const named = name === undefined ? {} : { name };
  return { type: "attachment", blobId: blob_id, mediaType: media_type, bytes, ...named };
}

/** The prompt of a search: the question first, then the other parts. It must work with any model. */
export function composePrompt(
  { system, history, question, files = [] }: QuestionContext,
  parts: readonly string[],
): readonly ModelMessage[] {
  const text = [`Question:\n${question}`, ...parts].join("\n\n");
  return [
    ...(system === undefined ? [] : [{ role: "system", content: system } as const]),
    ...history,
    { role: "user", content: [{ type: "text", text }, ...files] },
  ];
}

/** Providers reject texts that are only whitespace. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}
