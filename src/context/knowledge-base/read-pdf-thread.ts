/**
 * The thread that reads PDFs. It may block, use much memory and be terminated at any time without affecting the
 * process. The package that parses PDFs is optional and loaded for the first PDF.
 */
import { Buffer } from "node:buffer";
import { parentPort } from "node:worker_threads";
import { constants, createInflate, inflateSync } from "node:zlib";
import { LoomError, toPlainError } from "../../protocol/loom-error.ts";
import type { PdfResponse, PdfRequest, PdfText } from "./read-pdf.ts";

const MAX_TITLE = 500;

async function read({ bytes, maxPages, maxCharacters, maxExpandedBytes }: PdfRequest): Promise<PdfText> {
  const { getDocumentProxy, getMeta } = await load();
  await assertExpansion(bytes, maxExpandedBytes);
  // 0 disables console output.
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 });
  try {
    if (pdf.numPages > maxPages)
      throw new LoomError("document_too_large", `The PDF has ${pdf.numPages} pages; the limit is ${maxPages}`);
    const pages: string[] = [];
    let room = maxCharacters;
    for (let number = 1; number <= pdf.numPages; number++) {
      const page = await pdf.getPage(number);
      const parts: string[] = [];
      // Stream the text: a page can contain more than fits into memory.
      const reader = (page.streamTextContent() as ReadableStream<PdfTextChunk>).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        for (const { str, hasEOL } of value.items) {
          if (str === undefined) continue;
          parts.push(hasEOL === true ? `${str}\n` : str);
          room -= str.length + 1;
        }
        if (room < 0)
          throw new LoomError("document_too_large", `The PDF has more than ${maxCharacters} characters of text`);
      }
      pages.push(parts.join(""));
      page.cleanup();
    }
    if (pages.every((page) => page.trim() === ""))
      throw new LoomError("unreadable_document", "The PDF contains no text, only images. It may be scanned.");
    const { info } = await getMeta(pdf);
    const title: unknown = (info as { readonly Title?: unknown }).Title;
    const named = typeof title === "string" ? title.trim().slice(0, MAX_TITLE) : "";
    return { title: named === "" ? undefined : named, pages };
  } finally {
    // Not awaited: it can take long for a long page, and the thread is terminated anyway.
    void pdf.loadingTask.destroy().catch(() => undefined);
  }
}

/**
 * Throws `document_too_large` if the compressed streams expand to more than `limit` bytes. A small file can contain a text
 * that takes minutes to parse. Images are not read, and streams with other filters are left to the limits of time and
 * memory.
 */
async function assertExpansion(bytes: Uint8Array, limit: number): Promise<void> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let room = limit;
  // This also finds `endstream`; no zlib stream follows that.
  for (let at = file.indexOf(STREAM); at !== -1; at = file.indexOf(STREAM, at + STREAM.length)) {
    let start = at + STREAM.length;
    if (file[start] === CARRIAGE_RETURN) start++;
    if (file[start] === LINE_FEED) start++;
    if (!isDeflated(file, start) || isImage(file, at)) continue;
    room -= await measureStream(file.subarray(start), room);
    if (room < 0) throw new LoomError("document_too_large", `The PDF expands to more than ${limit} bytes`, { limit });
  }
}

const STREAM = "stream";
const CARRIAGE_RETURN = 13;
const LINE_FEED = 10;
const DEFLATE = 8;
/** Bytes before a stream in which its dictionary is searched. */
const MAX_DICTIONARY = 4096;

/** Whether a zlib stream begins here (RFC 1950): the method in the lower four bits, and a header divisible by 31. */
function isDeflated(file: Buffer, at: number): boolean {
  return at + 2 <= file.length && ((file[at] ?? 0) & 15) === DEFLATE && file.readUInt16BE(at) % 31 === 0;
}

/** Whether the dictionary before the keyword `stream` says that the stream is an image. */
function isImage(file: Buffer, at: number): boolean {
  const before = file.toString("latin1", Math.max(0, at - MAX_DICTIONARY), at);
  return /\/Subtype\s*\/Image\b/.test(before.slice(before.lastIndexOf(" obj") + 1));
}

/** Returns the expanded size of a stream; more than `room` if it does not fit. */
async function measureStream(bytes: Uint8Array, room: number): Promise<number> {
  // With this option, a stream that ends too early gives what it has instead of an error.
  const finishFlush = constants.Z_SYNC_FLUSH;
  try {
    // Ten times as fast for the many short streams of a long PDF.
    return inflateSync(bytes, { maxOutputLength: Math.max(1, room), finishFlush }).length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return Infinity;
  }
  // The stream is damaged: expanded in pieces, it gives what is before the damage.
  const inflate = createInflate({ chunkSize: 64 * 1024, finishFlush });
  inflate.end(bytes);
  let size = 0;
  try {
    for await (const chunk of inflate) {
      size += (chunk as Uint8Array).length;
      if (size > room) break;
    }
  } catch {
    // Readers of PDFs take what is before the damage.
  }
  return size;
}

interface PdfTextChunk {
  readonly items: readonly { readonly str?: string; readonly hasEOL?: boolean }[];
}

async function load() {
  try {
    return await import("unpdf");
  } catch {
    throw new LoomError("missing_package", "Reading PDFs needs the package unpdf: npm install unpdf", {
      package: "unpdf",
    });
  }
}

function toLoomError(error: unknown): LoomError {
  if (error instanceof LoomError) return error;
  const name = (error as { readonly name?: unknown } | null)?.name;
  const why =
    name === "PasswordException" ? "is protected by a password" : "cannot be read: it is damaged or not a PDF";
  return new LoomError("unreadable_document", `The PDF ${why}`);
}

parentPort?.on("message", (request: PdfRequest) => {
  void read(request).then(
    (text) => parentPort?.postMessage({ text } satisfies PdfResponse),
    (error: unknown) => parentPort?.postMessage({ error: toPlainError(toLoomError(error)) } satisfies PdfResponse),
  );
});
