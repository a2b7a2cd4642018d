/**
 * A file for the knowledge base: its bytes are the body, and the answer comes when it can be found. A few are taken in at
 * once, and the others wait with their bytes unread.
 */
import type { DocumentFormat } from "../../context/index.ts";
import { DOCUMENT_ENDINGS, findFormat } from "../../context/knowledge-base/read-document.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { Gate, type Release } from "../../tools/gate.ts";
import { defineOperation } from "../api/operation.ts";
import type { AddedDocument } from "../api/shapes.generated.ts";
import { readBody } from "../http/read-body.ts";
import type { ServerCore } from "../server-core.ts";
import { askKnowledge } from "../served-knowledge.ts";
import { describeDocument } from "./describe-document.ts";

/** Files whose bytes are held at once, and those that wait for their turn. Code `too_many_open`. */
const MAX_UPLOADS = 4;
const MAX_WAITING = 64;
const MAX_NAME = 255;
/** How long a file may take to come, in times of what its sender may be silent: others wait for its place. */
const MAX_SILENCES = 10;

/** One for each server, so that it goes with it. */
const gates = new WeakMap<ServerCore, Gate>();

export const addDocument = defineOperation<"AddDocument">({
  id: "addDocument",
  method: "POST",
  path: "/v1/knowledge",
  tag: "knowledge",
  summary: "Takes a file into the knowledge base",
  description:
    "The body is the file: Markdown, text, HTML or PDF, told by the ending of its name, or else by its `Content-Type`. It takes the place of the document of that name, and what was there stays where it cannot be read. The base is made if there is none.",
  query: "AddDocument",
  takes: ["application/octet-stream", "text/*", "application/pdf"],
  action: "knowledge.write",
  answers: {
    200: { about: "It took the place of another, or was there already", shape: "AddedDocument" },
    201: { about: "It is new, and can be found", shape: "AddedDocument" },
    408: { about: "The sender was silent, or took, for too long: `request_timeout`", shape: "Problem" },
    413: { about: "It is too large: `document_too_large`", shape: "Problem" },
    422: { about: "It cannot be read: `unreadable_document`", shape: "Problem" },
  },
  async handle(core, { request, caller, query: { name, collection }, signal }) {
    const uri = checkName(name);
    const format = chooseFormat(uri, request.headers);
    const { maxDocumentBytes: limit } = core.limits;
    if (Number(request.headers.get("content-length") ?? 0) > limit) throw createTooLarge(limit);
    const { outcome, document } = await askKnowledge(core, async (base) => {
      const release = await enterGate(core, signal);
      try {
        const bytes = await readFile(core, request, signal);
        // It may have taken its time.
        await core.authorize({ caller, action: "knowledge.write" });
        return await base.addBytes({ uri, bytes, format, signal, ...(collection === undefined ? {} : { collection }) });
      } finally {
        release();
      }
    });
    const answer: AddedDocument = { ...describeDocument(document), outcome };
    const headers = { "cache-control": "no-store" };
    return Response.json(answer, { status: outcome === "added" ? 201 : 200, headers });
  },
});

/** A name and nothing else: a path would be taken for the file that lies there. */
function checkName(name: string): string {
  const isName = name.trim() !== "" && name.length <= MAX_NAME && name.isWellFormed() && !/[/\\\p{Cc}]/u.test(name);
  if (isName && name !== "." && name !== "..") return name;
  throw new LoomError(
    "invalid_name",
    `\`name\` has 1 to ${MAX_NAME} characters, and is that of a file without a folder`,
  );
}

const FORMATS: ReadonlyMap<string, DocumentFormat> = new Map([
  ["text/markdown", "markdown"],
  ["text/plain", "text"],
  ["text/html", "html"],
  ["application/pdf", "pdf"],
]);

function chooseFormat(name: string, headers: Headers): DocumentFormat {
  const [first = ""] = (headers.get("content-type") ?? "").split(";", 1);
  const mediaType = first.trim().toLowerCase();
  if (mediaType.startsWith("multipart/"))
    throw new LoomError("invalid_request", "send the file itself as the body, not a form with it");
  const format = findFormat(name) ?? FORMATS.get(mediaType);
  if (format !== undefined) return format;
  const endings = DOCUMENT_ENDINGS.join(", ");
  throw new LoomError("unreadable_document", `this is no kind of document that can be read; names end in ${endings}`);
}

async function enterGate(core: ServerCore, signal: AbortSignal): Promise<Release> {
  let gate = gates.get(core);
  if (gate === undefined) gates.set(core, (gate = new Gate(MAX_UPLOADS, MAX_WAITING)));
  try {
    return await gate.enter(AbortSignal.any([signal, core.closing]));
  } catch (error) {
    if (isLoomError(error, "queue_full"))
      throw new LoomError("too_many_open", "too many documents are being taken in", { limit: MAX_UPLOADS });
    if (core.closing.aborted)
      throw new LoomError("shutting_down", "the server is about to stop: ask again in a moment");
    throw error;
  }
}

/** Refused as soon as it is known to be too long, or to take too long. */
async function readFile({ limits }: ServerCore, request: Request, signal: AbortSignal): Promise<Uint8Array> {
  const { maxDocumentBytes: limit, bodyTimeoutMs: idleMs } = limits;
  const pieces: Uint8Array[] = [];
  const longestMs = MAX_SILENCES * idleMs;
  const begunAt = performance.now();
  let length = 0;
  if (request.body !== null)
    for await (const piece of readBody(request.body, { maxBytes: Infinity, idleMs }, signal)) {
      length += piece.byteLength;
      if (length > limit) throw createTooLarge(limit);
      if (longestMs > 0 && performance.now() - begunAt > longestMs)
        throw new LoomError("request_timeout", `it took longer than ${longestMs} ms to come`, { limit: longestMs });
      pieces.push(piece);
    }
  return Buffer.concat(pieces, length);
}

function createTooLarge(limit: number): LoomError {
  return new LoomError("document_too_large", `a document may have ${limit} bytes`, { limit });
}
