/**
 * The files of a conversation, put in the place of their references when a model is called: images and documents as files
 * where the provider takes them, texts as texts, and of all others, what they were. One for each run; it reads every file
 * once, however often the model is asked.
 *
 * Invariant: no reference is left, no message becomes empty, and what is sent stays within its limits. The newest files
 * come first.
 */
import { describeFile, isTextType } from "../models/describe-file.ts";
import type { AttachmentPart, LanguageModel, ModelMessage, UserPart } from "../models/model.ts";
import type { SaveBlob } from "../tools/tool-host.ts";

/** The files of sessions, wherever they are kept. */
export interface AgentBlobs {
  /** Undefined where it is gone. */
  read(sessionId: string, blobId: string, options: { readonly signal: AbortSignal }): Promise<Uint8Array | undefined>;
  /** Keeps what is too large for an event; where it is found is what an event may say instead. */
  save?(sessionId: string, ...what: Parameters<SaveBlob>): ReturnType<SaveBlob>;
}

export interface AttachmentOptions {
  /** Types that the model takes as files; by what is known of its provider when absent. */
  readonly accepts?: readonly string[];
  /** Files in one prompt, those of earlier turns included; 20 when absent. The others are named as left out. */
  readonly maxFiles?: number;
  /** Bytes of them all; 20 MiB when absent. The others are named as left out. */
  readonly maxBytes?: number;
  /** Characters of a text; 100,000 when absent. The rest is cut, and said so. */
  readonly maxTextCharacters?: number;
}

export interface AttachmentsHost {
  readonly sessionId: string;
  readonly model: Pick<LanguageModel, "provider">;
  readonly blobs: AgentBlobs | undefined;
  readonly options: AttachmentOptions | undefined;
  readonly signal: AbortSignal;
  /** Told why a file could not be read. */
  readonly onError: (error: unknown) => void;
}

/** Undefined where it is gone; of one that is larger than it was said to be, nothing is kept. */
type ReadFile = Uint8Array | "larger" | undefined;

const MAX_FILES = 20;
const MAX_BYTES = 20 * 1024 * 1024;
const MAX_TEXT = 100_000;
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const DOCUMENTS = [...IMAGES, "application/pdf"];

export class Attachments {
  readonly #host: AttachmentsHost;
  readonly #accepts: ReadonlySet<string>;
  /** By blob, what stands for it: no more than one prompt may have. */
  #read = new Map<string, Promise<ReadFile>>();

  #isRefused = false;

  constructor(host: AttachmentsHost) {
    this.#host = host;
    this.#accepts = new Set(host.options?.accepts ?? listAccepted(host.model.provider));
  }

  /** The messages themselves where there is no file in them. */
  resolve(messages: readonly ModelMessage[]): readonly ModelMessage[] | Promise<readonly ModelMessage[]> {
    const parts = messages.flatMap((message) => (message.role === "user" ? message.content.filter(isAttachment) : []));
    return parts.length === 0 ? messages : this.#resolveAll(messages, parts);
  }

  async #resolveAll(
    messages: readonly ModelMessage[],
    parts: readonly AttachmentPart[],
  ): Promise<readonly ModelMessage[]> {
    const { maxFiles = MAX_FILES, maxBytes = MAX_BYTES } = this.#host.options ?? {};
    const chosen = new Map<string, AttachmentPart>();
    let bytes = 0;
    for (const part of parts.toReversed()) {
      if (chosen.has(part.blobId)) continue;
      if (chosen.size >= maxFiles || bytes + part.bytes > maxBytes) continue;
      bytes += part.bytes;
      chosen.set(part.blobId, part);
    }
    // What is in no prompt any more is not kept.
    this.#read = new Map([...this.#read].filter(([blobId]) => chosen.has(blobId)));
    const resolved: ModelMessage[] = [];
    for (const message of messages) resolved.push(await this.#resolveMessage(message, chosen));
    return resolved;
  }

  /** The provider has refused a prompt with files: from now on they are only named. Texts are sent as ever. */
  leaveOut(): void {
    this.#isRefused = true;
  }

  async #resolveMessage(message: ModelMessage, chosen: ReadonlyMap<string, AttachmentPart>): Promise<ModelMessage> {
    if (message.role !== "user" || !message.content.some(isAttachment)) return message;
    const content: UserPart[] = [];
    for (const part of message.content)
      content.push(isAttachment(part) ? await this.#resolvePart(part, chosen.has(part.blobId)) : part);
    return { role: "user", content };
  }

  async #resolvePart(part: AttachmentPart, isChosen: boolean): Promise<UserPart> {
    const { mediaType, name } = part;
    const isText = isTextType(mediaType);
    // It is told of a file, and says so itself.
    const isOffline = this.#host.model.provider === "offline";
    if (!isOffline && !isText && !this.#accepts.has(mediaType))
      return note(part, "was left out, since you cannot be given files of this type");
    if (this.#isRefused && !isText) return note(part, "was left out, since your provider has refused it");
    if (!isChosen) return note(part, "was left out, since the files of the conversation are too many or too large");
    const data = await this.#readOnce(part);
    if (data === undefined) return note(part, "is not there any more");
    if (data === "larger") return note(part, "was left out, since it is larger than that");
    if (isText && !isOffline) return this.#quote(part, data);
    return { type: "file", mediaType, ...(name === undefined ? {} : { filename: name }), data };
  }

  #quote(part: AttachmentPart, data: Uint8Array): UserPart {
    const { maxTextCharacters = MAX_TEXT } = this.#host.options ?? {};
    // Three bytes are enough for most characters, and a file may have many.
    const text = new TextDecoder().decode(data.subarray(0, 4 * maxTextCharacters));
    const isCut = text.length > maxTextCharacters || data.length > 4 * maxTextCharacters;
    const shown = isCut ? text.slice(0, maxTextCharacters).toWellFormed() : text;
    const end = isCut ? `\n[cut after ${maxTextCharacters} characters]` : "";
    return {
      type: "text",
      text: `[The user has sent ${describeFile(part)}. It reads:]\n${shown}${end}\n[End of file]`,
    };
  }

  #readOnce({ blobId, bytes }: AttachmentPart): Promise<ReadFile> {
    const { blobs, sessionId, signal, onError } = this.#host;
    let reading = this.#read.get(blobId);
    if (reading === undefined) {
      const read = async (): Promise<ReadFile> => {
        const data = await blobs?.read(sessionId, blobId, { signal });
        // The reference may be somebody else's, who may have said anything; it was chosen by what it said.
        return data !== undefined && data.length > bytes ? "larger" : data;
      };
      reading = read().catch((error: unknown) => {
        signal.throwIfAborted();
        onError(error);
        return undefined;
      });
      this.#read.set(blobId, reading);
    }
    return reading;
  }
}

/** For the tools of one session. */
export function bindSave(blobs: AgentBlobs | undefined, sessionId: string): SaveBlob | undefined {
  const save = blobs?.save?.bind(blobs);
  return save === undefined ? undefined : (bytes, about) => save(sessionId, bytes, about);
}

function isAttachment(part: UserPart): part is AttachmentPart {
  return part.type === "attachment";
}

function note(part: AttachmentPart, what: string): UserPart {
  return { type: "text", text: `[The user has sent ${describeFile(part)}, which ${what}.]` };
}

/** Images are taken by the models of today; documents by the two that say so. */
function listAccepted(provider: string): readonly string[] {
  return /^(?:openai|anthropic)(?:\.|$)/.test(provider) ? DOCUMENTS : IMAGES;
}
