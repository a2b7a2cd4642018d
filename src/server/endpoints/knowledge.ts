/** Endpoints that list, add, search, read and remove documents of the knowledge base. */
import { basename } from "node:path/posix";
import type { DocumentInfo, SearchHit } from "../../context/index.ts";
import type { DocumentPassage } from "../../context/knowledge-base/read-passages.ts";
import { DOCUMENT_EXTENSIONS, type DocumentFormat, findFormat } from "../../context/knowledge-base/document-format.ts";
import { type ErrorCode, isLoomError, LoomError } from "../../protocol/index.ts";
import { enterGate } from "../api/gates.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { ServedKnowledge, ServerCore } from "../api/server-core.ts";
import type { AddedDocument, DocumentText, KnowledgeDocuments, KnowledgeHits } from "../api/shapes.generated.ts";
import { readBody } from "../guard/read-body.ts";
import { readPage } from "./describe-session.ts";

/** Passages per search. */
const DEFAULT_HITS = 10;
const MAX_HITS = 50;
const MAX_NAME_LENGTH = 255;

const listKnowledge = defineOperation<"ListKnowledge">({
  id: "listKnowledge",
  method: "GET",
  path: "/v1/knowledge",
  summary: "List the documents of the knowledge base",
  query: "ListKnowledge",
  action: "knowledge.read",
  responses: { 200: { description: "Documents and totals", shape: "KnowledgeDocuments" } },
  async handle(core, { query }) {
    const within = query.collection === undefined ? {} : { collection: query.collection };
    const [{ items, ...next }, stats] = await withKnowledge(core, async (base) => [
      await readPage(query, "uri", (page) => base.list({ ...page, ...within })),
      await base.stats(),
    ]);
    const { documents, chunks, bytes, collections } = stats;
    const answer: KnowledgeDocuments = {
      documents: items.map((info) => describeDocument(info)),
      ...next,
      totals: { documents, passages: chunks, bytes },
      collections,
      accepts: DOCUMENT_EXTENSIONS,
      max_document_bytes: core.limits.maxDocumentBytes,
    };
    return Response.json(answer);
  },
});

/** The body is the file; the response is sent when it can be searched. Only a few uploads are read at once. */
const addDocument = defineOperation<"AddDocument">({
  id: "addDocument",
  method: "POST",
  path: "/v1/knowledge",
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
    const { maxDocumentBytes: maxBytes, bodyTimeoutMs: idleMs, uploadTimeoutMs: totalMs } = core.limits;
    if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw documentTooLarge(maxBytes);
    const limits = { maxBytes, tooLarge: documentTooLarge, idleMs, totalMs };
    const { outcome, document } = await withKnowledge(core, async (base) => {
      const release = await enterGate(core, "documents", caller, signal);
      try {
        const pieces: Uint8Array[] = [];
        if (request.body !== null) for await (const piece of readBody(request.body, limits, signal)) pieces.push(piece);
        // The permission may have been revoked during the upload.
        await core.authorize({ caller, action: "knowledge.write" });
        const within = collection === undefined ? {} : { collection };
        return await base.addBytes({ uri, bytes: Buffer.concat(pieces), format, signal, ...within });
      } finally {
        release();
      }
    });
    const answer: AddedDocument = { ...describeDocument(document), outcome };
    return Response.json(answer, { status: outcome === "added" ? 201 : 200 });
  },
});

const searchKnowledge = defineOperation<"SearchKnowledge">({
  id: "searchKnowledge",
  method: "GET",
  path: "/v1/knowledge/search",
  summary: "Search the knowledge base",
  description: "Every query is valid; it has no special syntax.",
  query: "SearchKnowledge",
  action: "knowledge.read",
  responses: { 200: { description: "Passages, best match first; may be empty", shape: "KnowledgeHits" } },
  async handle(core, { caller, query: { q, limit = DEFAULT_HITS, collection }, signal }) {
    const most = Math.min(Math.max(1, limit), MAX_HITS);
    const options = { limit: most, signal, ...(collection === undefined ? {} : { collection }) };
    const found = await withKnowledge(core, (base) =>
      core.access.runSearch(caller, signal, () => base.search(q, options)),
    );
    const answer: KnowledgeHits = { hits: found.map((hit) => describeHit(hit)) };
    return Response.json(answer);
  },
});

const readDocument = defineOperation<"ReadDocument">({
  id: "readDocument",
  method: "GET",
  path: "/v1/knowledge/{document}/text",
  summary: "Read the text of a document in parts",
  description:
    "The text is read from the passages that were indexed: empty lines and front matter may be missing. A part is smaller " +
    "than `limit` if its passages are long; the next one starts at `from` plus the number of `parts`.",
  query: "ReadDocument",
  action: "knowledge.read",
  responses: {
    200: { description: "Part of the document", shape: "DocumentText" },
    404: { description: "No such document: `unknown_document`", shape: "Problem" },
  },
  async handle(core, { params: { document = "" }, query }) {
    const found = await withKnowledge(core, (base) => base.read(document, query));
    if (found === undefined) throw createUnknownError(document);
    const answer: DocumentText = {
      ...describeDocument(found.document),
      from: found.from,
      parts: found.passages.map((passage) => describePart(passage)),
    };
    return Response.json(answer);
  },
});

const removeDocument = defineOperation({
  id: "removeDocument",
  method: "DELETE",
  path: "/v1/knowledge/{document}",
  summary: "Remove a document from the knowledge base",
  description: "The file the document was read from is not deleted.",
  action: "knowledge.write",
  audit: "document.delete",
  responses: {
    204: { description: "Removed" },
    404: { description: "No such document: `unknown_document`", shape: "Problem" },
  },
  async handle(core, { params: { document = "" } }) {
    const isRemoved = await withKnowledge(core, (base) => base.removeDocument(document));
    if (!isRemoved) throw createUnknownError(document);
    return new Response(null, { status: 204 });
  },
});

function createUnknownError(document: string): LoomError {
  return new LoomError("unknown_document", "The knowledge base has no such document", { document_id: document });
}

export const KNOWLEDGE_OPERATIONS: readonly AnyOperation[] = [
  listKnowledge,
  addDocument,
  searchKnowledge,
  readDocument,
  removeDocument,
];

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

function documentTooLarge(limit: number): LoomError {
  return new LoomError("document_too_large", `A document can have at most ${limit} bytes`, { limit });
}

/**
 * Calls `work` with the knowledge base of the server and hides what store errors say about the machine: clients
 * receive the error code, never the path of its file. Throws `not_found` if the server has no knowledge base.
 */
async function withKnowledge<T>(
  { knowledge, report }: Pick<ServerCore, "knowledge" | "report">,
  work: (base: ServedKnowledge) => Promise<T>,
): Promise<T> {
  if (knowledge === undefined) throw new LoomError("not_found", "This server has no knowledge base");
  try {
    return await work(knowledge);
  } catch (error) {
    if (!isLoomError(error)) throw error;
    const about = STORE_MESSAGES[error.code];
    if (about === undefined) throw error;
    const details = { error_id: report(error) };
    throw new LoomError(error.code, `The knowledge base ${about}`, details, { cause: error });
  }
}

const STORE_MESSAGES: { readonly [code in ErrorCode]?: string } = {
  store_failed: "cannot be read or written",
  store_full: "cannot be written: no space left",
  store_busy: "is locked by another process; try again in a moment",
  store_unavailable: "is not available at the moment; try again",
  store_timeout: "took too long; try again",
  store_read_only: "is read-only",
  store_corrupt: "is damaged",
  store_newer: "was created by a newer version of Loom",
  store_older: "was created by an older version of Loom",
  store_closed: "is closed",
};

function describeDocument(info: DocumentInfo): KnowledgeDocuments["documents"][number] {
  const { uri, title, collection, format, bytes, chunks, indexedAt } = info;
  return {
    document_id: uri,
    name: nameOf(uri),
    title,
    collection,
    format: format as AddedDocument["format"],
    bytes,
    passages: chunks,
    indexed_at: indexedAt,
  };
}

function describeHit(hit: SearchHit): KnowledgeHits["hits"][number] {
  const { uri, title, collection, score, snippet, content, firstLine, lastLine, headings } = hit;
  return {
    document_id: uri,
    name: nameOf(uri),
    title,
    collection,
    score,
    snippet,
    content,
    first_line: firstLine,
    last_line: lastLine,
    headings,
  };
}

function describePart(passage: DocumentPassage): DocumentText["parts"][number] {
  const { firstLine, lastLine, text, overlap } = passage;
  return { first_line: firstLine, last_line: lastLine, text, overlap };
}

/** Handles paths of all platforms and URLs. */
function nameOf(uri: string): string {
  return basename(uri.replaceAll("\\", "/")) || uri;
}
