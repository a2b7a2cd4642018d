/**
 * Replaces file references in messages before a model call. Images and documents become files if the provider accepts
 * them, text files become text, and other files become a note. Each run has one instance, which reads every file once.
 *
 * Invariant: no reference remains, no message becomes empty, and the files stay within the limits. Newer files have
 * priority.
 */
import { describeFile, isTextType } from "../models/describe-file.ts";
import type { AttachmentPart, LanguageModel, ModelMessage, UserPart } from "../models/model.ts";
import type { SaveBlob } from "../tools/tool-host.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import {
  acceptNumber,
  type OptionsOf,
  type OptionTable,
  readOptions,
  TEXTS_OPTION,
  withDefault,
} from "../protocol/read-options.ts";

/** Storage for the files of sessions. */
export interface AgentBlobs {
  /** Undefined if the blob does not exist. */
  read(sessionId: string, blobId: string, options: { readonly signal: AbortSignal }): Promise<Uint8Array | undefined>;
  /** Stores data that is too large for an event and returns its location for the event. */
  save?(sessionId: string, ...what: Parameters<SaveBlob>): ReturnType<SaveBlob>;
}

/** Limits on the files of a prompt. */
export interface AttachmentOptions {
  /** Media types that the model accepts as files. Default: images, and PDF for OpenAI and Anthropic. */
  readonly accepts?: readonly string[];
  /** Maximum files in one prompt, earlier turns included. Omitted files are named to the model. Default: 20. */
  readonly maxFiles?: number;
  /** Maximum bytes of all files in one prompt. Omitted files are named to the model. Default: 20 MiB. */
  readonly maxBytes?: number;
  /** Maximum characters of a text file; the rest is cut off with a note. Default: 100,000. */
  readonly maxTextCharacters?: number;
}

export const ATTACHMENT_OPTIONS = {
  accepts: TEXTS_OPTION,
  maxFiles: withDefault(acceptNumber(0), 20),
  maxBytes: withDefault(acceptNumber(0), 20 * 1024 * 1024),
  maxTextCharacters: withDefault(acceptNumber(0), 100_000),
} as const satisfies OptionTable<AttachmentOptions>;

export interface AttachmentsHost {
  readonly sessionId: string;
  readonly model: Pick<LanguageModel, "provider">;
  readonly blobs: AgentBlobs | undefined;
  readonly options: AttachmentOptions | undefined;
  readonly signal: AbortSignal;
  /** Called when a file cannot be read. */
  readonly onError: (error: unknown) => void;
}

/** Undefined if the blob does not exist; `larger` if it has more bytes than its reference says. */
type ReadFile = Uint8Array | "larger" | undefined;

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const DOCUMENTS = [...IMAGES, "application/pdf"];

export class Attachments {
  readonly #host: AttachmentsHost;
  readonly #limits: OptionsOf<typeof ATTACHMENT_OPTIONS>;
  readonly #accepts: ReadonlySet<string>;
  /** Files by blob ID, only those of the latest prompt. */
  #read = new Map<string, Promise<ReadFile>>();

  #isRefused = false;

  constructor(host: AttachmentsHost) {
    this.#host = host;
    this.#limits = readOptions(ATTACHMENT_OPTIONS, host.options ?? {});
    this.#accepts = new Set(this.#limits.accepts ?? listAccepted(host.model.provider));
  }

  /** Returns the same array if the messages have no files. */
  resolve(messages: readonly ModelMessage[]): readonly ModelMessage[] | Promise<readonly ModelMessage[]> {
    const parts = messages.flatMap((message) => (message.role === "user" ? message.content.filter(isAttachment) : []));
    return parts.length === 0 ? messages : this.#resolveAll(messages, parts);
  }

  async #resolveAll(
    messages: readonly ModelMessage[],
    parts: readonly AttachmentPart[],
  ): Promise<readonly ModelMessage[]> {
    const { maxFiles, maxBytes } = this.#limits;
    const chosen = new Map<string, AttachmentPart>();
    let bytes = 0;
    for (const part of parts.toReversed()) {
      if (chosen.has(part.blobId)) continue;
      if (chosen.size >= maxFiles || bytes + part.bytes > maxBytes) continue;
      bytes += part.bytes;
      chosen.set(part.blobId, part);
    }
    // Drop files that are no longer in the prompt.
    this.#read = new Map([...this.#read].filter(([blobId]) => chosen.has(blobId)));
    const resolved: ModelMessage[] = [];
    for (const message of messages) resolved.push(await this.#resolveMessage(message, chosen));
    return resolved;
  }

  /**
   * Stops sending files because the provider rejected a prompt with files. They are only named from now on; text files
   * are still sent as text.
   */
  omitFiles(): void {
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
    if (!isText && !this.#accepts.has(mediaType))
      return note(part, "was omitted because you cannot read files of this type");
    if (this.#isRefused && !isText) return note(part, "was omitted because your provider rejected it");
    if (!isChosen) return note(part, "was omitted because the files of the conversation are too many or too large");
    const data = await this.#readOnce(part);
    if (data === undefined) return note(part, "no longer exists");
    if (data === "larger") return note(part, "was omitted because it is larger than stated");
    if (isText) return this.#quote(part, data);
    return { type: "file", mediaType, ...dropUndefined({ filename: name }), data };
  }

  #quote(part: AttachmentPart, data: Uint8Array): UserPart {
    const { maxTextCharacters } = this.#limits;
    // At most four bytes per character, so the rest of a large file need not be decoded.
    const text = new TextDecoder().decode(data.subarray(0, 4 * maxTextCharacters));
    const isCut = text.length > maxTextCharacters || data.length > 4 * maxTextCharacters;
    const shown = isCut ? text.slice(0, maxTextCharacters).toWellFormed() : text;
    const end = isCut ? `\n[cut off after ${maxTextCharacters} characters]` : "";
    return {
      type: "text",
      text: `[The user sent ${describeFile(part)}. Content:]\n${shown}${end}\n[End of file]`,
    };
  }

  #readOnce({ blobId, bytes }: AttachmentPart): Promise<ReadFile> {
    const { blobs, sessionId, signal, onError } = this.#host;
    let reading = this.#read.get(blobId);
    if (reading === undefined) {
      const read = async (): Promise<ReadFile> => {
        const data = await blobs?.read(sessionId, blobId, { signal });
        // The reference may come from an untrusted client; the file was chosen by the size it states.
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

/** Binds `blobs.save` to one session, for its tools. */
export function bindSaveBlob(blobs: AgentBlobs | undefined, sessionId: string): SaveBlob | undefined {
  const save = blobs?.save?.bind(blobs);
  return save === undefined ? undefined : (bytes, about) => save(sessionId, bytes, about);
}

function isAttachment(part: UserPart): part is AttachmentPart {
  return part.type === "attachment";
}

function note(part: AttachmentPart, what: string): UserPart {
  return { type: "text", text: `[The user sent ${describeFile(part)}, which ${what}.]` };
}

/** Current models accept images; only OpenAI and Anthropic also document PDF input. */
function listAccepted(provider: string): readonly string[] {
  return /^(?:openai|anthropic)(?:\.|$)/.test(provider) ? DOCUMENTS : IMAGES;
}
