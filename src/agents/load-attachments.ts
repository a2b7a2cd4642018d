/**
 * Loads the files of a message from paths, addresses or memory, and stores them for the run: as blobs if the agent has a
 * store, otherwise in memory until the run ends.
 */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { basename, extname } from "node:path";
import { fileURLToPath } from "node:url";
import { MAX_ATTACHMENTS } from "../engine/run-origin.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { LoomError } from "../protocol/index.ts";
import { requestPage } from "../tools/fetch/request-page.ts";
import { sniffImage } from "../tools/fetch/sniff-image.ts";
import type { InputAttachment } from "./agent-input.ts";
import { readOptions } from "../protocol/read-options.ts";
import { type AgentBlobs, ATTACHMENT_OPTIONS, type AttachmentOptions } from "./attachments.ts";
import type { RunAttachments } from "./compose-question.ts";

/** Where the files of an agent are stored, and how many it accepts. */
export interface FileStorage {
  readonly blobs: AgentBlobs | undefined;
  readonly options: Pick<AttachmentOptions, "maxBytes"> | undefined;
  /** Hosts whose files can be fetched although their addresses are not public. Default: none. */
  readonly allow?: readonly string[];
}

interface LoadedFile {
  readonly bytes: Uint8Array;
  readonly name: string | undefined;
  readonly mediaType: string | undefined;
}

const FETCH_MS = 30_000;

const TYPES: ReadonlyMap<string, string> = new Map([
  [".pdf", "application/pdf"],
  [".json", "application/json"],
  [".txt", "text/plain"],
  [".md", "text/markdown"],
  [".csv", "text/csv"],
  [".html", "text/html"],
  [".xml", "text/xml"],
]);

/** Loads and stores files for runs of one session. */
export class AttachmentLoader {
  readonly #sessionId: string;
  readonly #storage: FileStorage;
  readonly #signal: AbortSignal;
  readonly #inMemory = new Map<string, Uint8Array>();

  constructor(sessionId: string, storage: FileStorage, signal: AbortSignal) {
    this.#sessionId = sessionId;
    this.#storage = storage;
    this.#signal = signal;
  }

  /** The store of the agent, and the files in memory. Undefined if there is neither. */
  get blobs(): AgentBlobs | undefined {
    const { blobs } = this.#storage;
    if (this.#inMemory.size === 0) return blobs;
    return {
      read: async (sessionId, blobId, options) =>
        this.#inMemory.get(blobId) ?? (await blobs?.read(sessionId, blobId, options)),
    };
  }

  /** Throws `invalid_command`, `blob_too_large`, or the error of the file or the address. */
  async load(attachments: readonly InputAttachment[]): Promise<RunAttachments> {
    if (attachments.length > MAX_ATTACHMENTS)
      throw new LoomError("invalid_command", `A message can have at most ${MAX_ATTACHMENTS} attachments`);
    const { maxBytes } = readOptions(ATTACHMENT_OPTIONS, this.#storage.options ?? {});
    const loaded: RunAttachments[number][] = [];
    let left = maxBytes;
    for (const attachment of attachments) {
      this.#signal.throwIfAborted();
      const file = await this.#read(attachment, left);
      left -= file.bytes.length;
      if (left < 0) throw createTooLarge(maxBytes);
      loaded.push(await this.#store(file));
    }
    return loaded;
  }

  async #read(attachment: InputAttachment, maxBytes: number): Promise<LoadedFile> {
    const { mediaType, name } = attachment;
    if ("data" in attachment) return { bytes: attachment.data, name, mediaType };
    const url = "url" in attachment ? URL.parse(attachment.url) : undefined;
    if ("url" in attachment && url?.protocol !== "file:") {
      const fetched = await this.#fetch(String(attachment.url), maxBytes);
      // The end of a `data:` URL is content, not a name.
      const last = url?.protocol === "data:" ? "" : basename(url?.pathname ?? "");
      return { name: last || undefined, ...fetched, ...dropUndefined({ mediaType, name }) };
    }
    const path = "path" in attachment ? attachment.path : fileURLToPath(attachment.url);
    return { bytes: await readFile(path, maxBytes), name: name ?? basename(path), mediaType };
  }

  async #fetch(url: string, maxBytes: number): Promise<Pick<LoadedFile, "bytes" | "mediaType">> {
    if (/^data:/i.test(url)) return readDataUrl(url);
    const limits = { maxBytes, maxRedirects: 3, timeoutMs: FETCH_MS };
    const page = await requestPage({ url, method: "GET" }, { allow: this.#storage.allow }, limits, this.#signal);
    if (page.status !== 200)
      throw new LoomError("url_refused", `The attachment ${page.url} responded with status ${page.status}`);
    if (page.isCut) throw createTooLarge(maxBytes);
    return { bytes: page.bytes, mediaType: readType(page.contentType) };
  }

  async #store({ bytes, name, mediaType: given }: LoadedFile): Promise<RunAttachments[number]> {
    const mediaType =
      given ?? sniffImage(bytes) ?? TYPES.get(extname(name ?? "").toLowerCase()) ?? "application/octet-stream";
    const about = { media_type: mediaType, bytes: bytes.length, ...dropUndefined({ name }) };
    const { blobs } = this.#storage;
    if (blobs?.save !== undefined) {
      const { blob_id } = await blobs.save(this.#sessionId, bytes, { mediaType, name, signal: this.#signal });
      return { blob_id, ...about };
    }
    const blobId = createHash("sha256").update(bytes).digest("hex");
    this.#inMemory.set(blobId, bytes);
    return { blob_id: blobId, ...about };
  }
}

async function readDataUrl(url: string): Promise<Pick<LoadedFile, "bytes" | "mediaType">> {
  let response;
  try {
    response = await fetch(url);
  } catch (cause) {
    throw new LoomError("invalid_command", "The `data:` URL of an attachment cannot be decoded", {}, { cause });
  }
  return { bytes: await response.bytes(), mediaType: readType(response.headers.get("content-type") ?? "") };
}

/** Reads no more than the limit, also from a file that grows. */
async function readFile(path: string, maxBytes: number): Promise<Uint8Array> {
  let file;
  try {
    file = await open(path);
  } catch (cause) {
    throw new LoomError("invalid_command", `The attachment ${basename(path)} cannot be read`, {}, { cause });
  }
  try {
    const { size } = await file.stat();
    if (size > maxBytes) throw createTooLarge(maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function readType(contentType: string): string | undefined {
  const [type = ""] = contentType.split(";", 1);
  return type.trim() === "" ? undefined : type.trim().toLowerCase();
}

function createTooLarge(limit: number): LoomError {
  return new LoomError("blob_too_large", `The attachments of a message can have at most ${limit} bytes`, { limit });
}
