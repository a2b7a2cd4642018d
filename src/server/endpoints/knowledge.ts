/** Endpoints that list, search, read and remove documents of the knowledge base. */
import { DOCUMENT_EXTENSIONS } from "../../context/knowledge-base/document-format.ts";
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { DocumentText, KnowledgeDocuments, KnowledgeHits } from "../api/shapes.generated.ts";
import { withKnowledge } from "./with-knowledge.ts";
import { describeDocument, describeHit, describePart } from "./describe-document.ts";
import { cutPage, readPageQuery } from "./describe-session.ts";
import { addDocument } from "./knowledge-upload.ts";

/** Passages per search. */
const DEFAULT_HITS = 10;
const MAX_HITS = 50;

/** Not cacheable: other processes may change the knowledge base at any time. */
const NO_STORE = { "cache-control": "no-store" } as const;

const listKnowledge = defineOperation<"ListKnowledge">({
  id: "listKnowledge",
  method: "GET",
  path: "/v1/knowledge",
  tag: "knowledge",
  summary: "List the documents of the knowledge base",
  query: "ListKnowledge",
  action: "knowledge.read",
  responses: { 200: { description: "Documents and totals", shape: "KnowledgeDocuments" } },
  async handle(core, { query }) {
    const { limit, ...page } = readPageQuery(query);
    const within = query.collection === undefined ? {} : { collection: query.collection };
    const [found, stats] = await withKnowledge(core, async (base) => [
      await base.list({ ...page, ...within, limit: limit + 1 }),
      await base.stats(),
    ]);
    const { items, ...next } = cutPage(found, limit, ({ uri }) => uri);
    const { documents, chunks, bytes, collections } = stats;
    const answer: KnowledgeDocuments = {
      documents: items.map((info) => describeDocument(info)),
      ...next,
      totals: { documents, passages: chunks, bytes },
      collections,
      accepts: DOCUMENT_EXTENSIONS,
      max_document_bytes: core.limits.maxDocumentBytes,
    };
    return Response.json(answer, { headers: NO_STORE });
  },
});

const searchKnowledge = defineOperation<"SearchKnowledge">({
  id: "searchKnowledge",
  method: "GET",
  path: "/v1/knowledge/search",
  tag: "knowledge",
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
    return Response.json(answer, { headers: NO_STORE });
  },
});

const readDocument = defineOperation<"ReadDocument">({
  id: "readDocument",
  method: "GET",
  path: "/v1/knowledge/{document}/text",
  tag: "knowledge",
  summary: "Read the text of a document in parts",
  description:
    "The text is read from the passages that were indexed: empty lines and front matter may be missing. A part is smaller " +
    "than `limit` if its passages are long; the next one starts at `from` plus the number of `parts`.",
  params: { document: "Id of the document" },
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
    return Response.json(answer, { headers: NO_STORE });
  },
});

const removeDocument = defineOperation({
  id: "removeDocument",
  method: "DELETE",
  path: "/v1/knowledge/{document}",
  tag: "knowledge",
  summary: "Remove a document from the knowledge base",
  description: "The file the document was read from is not deleted.",
  params: { document: "Id of the document" },
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
