/**
 * Records what model calls send and receive, for the owner of the session. A value that an earlier record has is not stored
 * again: the record refers to it. A conversation of n messages therefore stores n messages, not n² / 2.
 *
 * Invariants:
 * - Recording never fails a call, and waits for nothing.
 * - A reference names a record that was posted before, so it is durable if the reference is.
 */
import { createHash } from "node:crypto";
import type { PushResult } from "../engine/sequencer.ts";
import type { Log, SessionInfo } from "../log/index.ts";
import { type ContentPart, MAX_REFERRED } from "../log/carried-content.ts";
import { readContent } from "../log/model-content.ts";
import type { LanguageModel, ModelMessage, ModelRequest } from "../models/model.ts";
import { translateReasoning } from "../models/request-reasoning.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import type { Json } from "../protocol/index.ts";
import type { LlmContentEvent } from "../protocol/events.generated.ts";
import { acceptNumber, type OptionTable } from "../protocol/read-options.ts";

/** Options of recorded prompts. */
export interface RecordPromptsOptions {
  /** Maximum bytes of new values that one model call stores; of others only the size is stored. Default: 4 MiB. */
  readonly maxBytes?: number;
}

export const RECORD_PROMPTS_OPTIONS: OptionTable<RecordPromptsOptions> = { maxBytes: acceptNumber(0) };

const MAX_BYTES = 4 * 1024 * 1024;
/** Bytes of one record and of one value. Records have at most 1 MiB by default. */
const MAX_RECORD_BYTES = 256 * 1024;
/** Values up to this length are their own hash. */
const SHORT = 64;

interface RememberedContent {
  readonly eventId: number;
  /** Undefined for a value that is no longer stored. */
  readonly hashes: readonly (string | undefined)[];
}

/** Where a value is stored. */
interface StoredAt {
  readonly content: RememberedContent;
  readonly index: number;
}

/** Writes an event and returns its ID. */
type PostContent = (event: LlmContentEvent) => Pick<PushResult, "lastId">;

export class ContentRecorder {
  readonly #maxBytes: number;
  /** Oldest first. */
  #remembered: RememberedContent[] = [];
  #index = new Map<string, StoredAt>();
  #firstId = 0;

  constructor({ maxBytes = MAX_BYTES }: RecordPromptsOptions = {}) {
    this.#maxBytes = maxBytes;
  }

  /** Remembers the latest contents of earlier runs, unless this recorder wrote them itself. */
  async catchUp(
    log: Log,
    { sessionId, firstId }: Pick<SessionInfo, "sessionId" | "firstId">,
    latest: readonly number[],
  ): Promise<void> {
    // Values may have been pruned since, so that references to them would be lost.
    if (firstId > this.#firstId) this.#forget();
    this.#firstId = firstId;
    for (const eventId of latest) {
      if (this.#remembered.some((known) => known.eventId === eventId)) continue;
      const values = await readContent(log, sessionId, eventId);
      const hashes = values.map((value) => (value === undefined ? undefined : hashText(JSON.stringify(value))));
      this.#remember({ eventId, hashes });
    }
  }

  /** Records the request of a call. */
  request(post: PostContent, callId: string, model: LanguageModel, request: ModelRequest): void {
    const { tools = [], toolChoice, responseFormat, messages } = request;
    const parameters = {
      provider: model.provider,
      model: model.modelId,
      ...translateReasoning(model, request),
      ...dropUndefined({ toolChoice, responseFormat }),
    };
    this.#record(post, callId, "request", [parameters, tools, ...messages.map(describeFiles)]);
  }

  /** Records the message that a call returned. */
  response(post: PostContent, callId: string, message: ModelMessage): void {
    this.#record(post, callId, "response", [message]);
  }

  #record(post: PostContent, callId: string, role: LlmContentEvent["role"], values: readonly unknown[]): void {
    try {
      this.#write(post, callId, role, values);
    } catch {
      // A value that cannot be stored, or a run that has ended. The call itself matters more.
    }
  }

  #write(post: PostContent, llm_call_id: string, role: LlmContentEvent["role"], values: readonly unknown[]): void {
    const hashes: (string | undefined)[] = [];
    let parts: ContentPart[] = [];
    let bytes = 0;
    let stored = 0;
    let at: StoredAt | undefined;
    const flush = (isLast: boolean): number => {
      const { lastId } = post({
        type: "llm_content",
        llm_call_id,
        role,
        parts,
        ...(isLast ? {} : { is_partial: true }),
      });
      this.#remember({ eventId: lastId, hashes: [...hashes] });
      return lastId;
    };
    for (const value of values) {
      const text = JSON.stringify(value);
      const hash = hashText(text);
      let isOverBudget = false;
      at = this.#find(hash, at);
      if (at === undefined) {
        const size = Buffer.byteLength(text);
        isOverBudget = size <= MAX_RECORD_BYTES && stored + size > this.#maxBytes;
        const isOmitted = isOverBudget || size > MAX_RECORD_BYTES;
        const kept = isOmitted ? { $omitted: { bytes: size } } : (JSON.parse(text) as Json);
        const added = isOmitted ? SHORT : size;
        if (bytes > 0 && bytes + added > MAX_RECORD_BYTES) {
          const event_id = flush(false);
          parts = [{ event_id, start: 0, count: hashes.length }];
          bytes = 0;
        }
        parts.push({ value: kept });
        bytes += added;
        stored += added;
      } else extend(parts, at);
      // The next call has room for what this one had not.
      hashes.push(isOverBudget ? undefined : hash);
    }
    flush(true);
  }

  /** Prefers the value after the last one: then one reference covers both. */
  #find(hash: string, last: StoredAt | undefined): StoredAt | undefined {
    if (last !== undefined) {
      const index = last.index + 1;
      if (last.content.hashes[index] === hash) return { content: last.content, index };
    }
    return this.#index.get(hash);
  }

  #remember(content: RememberedContent): void {
    this.#remembered.push(content);
    for (const [index, hash] of content.hashes.entries())
      if (hash !== undefined) this.#index.set(hash, { content, index });
    if (this.#remembered.length <= MAX_REFERRED) return;
    const dropped = this.#remembered.shift();
    for (const hash of dropped?.hashes ?? [])
      if (hash !== undefined && this.#index.get(hash)?.content === dropped) this.#index.delete(hash);
  }

  #forget(): void {
    this.#remembered = [];
    this.#index = new Map();
  }
}

/** Adds a reference, or extends the last one. */
function extend(parts: ContentPart[], { content: { eventId: event_id }, index }: StoredAt): void {
  const last = parts.at(-1);
  const { start = 0, count = 0 } = last ?? {};
  if (last?.event_id === event_id && start + count === index)
    parts[parts.length - 1] = { event_id, start, count: count + 1 };
  else parts.push({ event_id, start: index, count: 1 });
}

function hashText(text: string): string {
  return text.length <= SHORT ? text : createHash("sha256").update(text).digest("base64url");
}

/** The bytes of files are stored elsewhere; the record names them. */
function describeFiles(message: ModelMessage): unknown {
  if (message.role !== "user" || message.content.every(({ type }) => type !== "file")) return message;
  const content = message.content.map((part) => {
    if (part.type !== "file") return part;
    const { data, ...about } = part;
    return { ...about, bytes: data.length, sha256: createHash("sha256").update(data).digest("hex") };
  });
  return { role: "user", content };
}
