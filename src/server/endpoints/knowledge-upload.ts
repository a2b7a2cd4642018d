/**
 * Endpoint that adds a file to the knowledge base. The body is the file; the response is sent when it can be searched.
 * Only a few uploads are read at once; the others wait unread.
 */
import { DOCUMENT_EXTENSIONS, type DocumentFormat, findFormat } from "../../context/knowledge-base/document-format.ts";
import { LoomError } from "../../protocol/index.ts";
import { enterGate } from "../api/gates.ts";
import { defineOperation } from "../api/operation.ts";
import type { AddedDocument } from "../api/shapes.generated.ts";
import { readBody } from "../guard/read-body.ts";
import type { ServerCore } from "../api/server-core.ts";
import { withKnowledge } from "./with-knowledge.ts";
import { describeDocument } from "./describe-document.ts";

const MAX_NAME_LENGTH = 255;

export const addDocument = defineOperation<"AddDocument">({
  id: "addDocument",
  method: "POST",
  path: "/v1/knowledge",
  tag: "knowledge",
  summary: "Add a file to the knowledge base",
  description:
    "The body is a Markdown, text, HTML or PDF file; the format follows from the file extension, otherwise from `Content-Type`. It replaces a document with the same name; if it cannot be read, the old document stays. A missing knowledge base is created.",
  query: "AddDocument",
  rawBodyTypes: ["application/octet-stream", "text/*", "application/pdf"],
  action: "knowledge.write",
  responses: {
    200: { description: "Replaced the document with the same name, or left it unchanged", shape: "AddedDocument" },
    201: { description: "Added and searchable", shape: "AddedDocument" },
    408: {
      description: "The sender was idle for too long, or the upload took too long: `request_timeout`",
      shape: "Problem",
    },
    429: { description: "Too many uploads of this credential wait: `too_many_uploads`", shape: "Problem" },
    413: { description: "The file is too large: `document_too_large`", shape: "Problem" },
    422: { description: "The file cannot be read: `unreadable_document`", shape: "Problem" },
  },
  async handle(core, { request, caller, query: { name, collection }, signal }) {
    const uri = checkName(name);
    const format = chooseFormat(uri, request.headers);
    const { maxDocumentBytes: limit } = core.limits;
    if (Number(request.headers.get("content-length") ?? 0) > limit) throw documentTooLarge(limit);
    const { outcome, document } = await withKnowledge(core, async (base) => {
      const release = await enterGate(core, "documents", caller, signal);
      try {
        const bytes = await readFile(core, request, signal);
        // The permission may have been revoked during the upload.
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

/** Only a plain file name: the knowledge base would treat a path as the file at that path. */
function checkName(name: string): string {
  const isName =
    name.trim() !== "" && name.length <= MAX_NAME_LENGTH && name.isWellFormed() && !/[/\\\p{Cc}]/u.test(name);
  if (isName && name !== "." && name !== "..") return name;
  throw new LoomError(
    "invalid_name",
    `\`name\` must be a file name of 1 to ${MAX_NAME_LENGTH} characters without a folder`,
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
    throw new LoomError("invalid_request", "Send the file itself as the body, not as multipart form data");
  const format = findFormat(name) ?? FORMATS.get(mediaType);
  if (format !== undefined) return format;
  const endings = DOCUMENT_EXTENSIONS.join(", ");
  throw new LoomError("unreadable_document", `Unsupported document format; supported extensions: ${endings}`);
}

/** Throws as soon as the body is too large or takes too long. */
async function readFile({ limits }: ServerCore, request: Request, signal: AbortSignal): Promise<Uint8Array> {
  const { maxDocumentBytes: limit, bodyTimeoutMs: idleMs, uploadTimeoutMs: totalMs } = limits;
  const pieces: Uint8Array[] = [];
  let length = 0;
  if (request.body !== null)
    for await (const piece of readBody(request.body, { maxBytes: Infinity, idleMs, totalMs }, signal)) {
      length += piece.byteLength;
      if (length > limit) throw documentTooLarge(limit);
      pieces.push(piece);
    }
  return Buffer.concat(pieces, length);
}

function documentTooLarge(limit: number): LoomError {
  return new LoomError("document_too_large", `A document can have at most ${limit} bytes`, { limit });
}
