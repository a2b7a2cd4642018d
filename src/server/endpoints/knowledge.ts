/** The knowledge base over HTTP: its documents are listed, searched and removed. They are taken in next door. */
import { DOCUMENT_ENDINGS } from "../../context/knowledge-base/read-document.ts";
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { KnowledgeDocuments, KnowledgeHits } from "../api/shapes.generated.ts";
import { askKnowledge } from "../served-knowledge.ts";
import { describeDocument, describeHit } from "./describe-document.ts";
import { cutPage, readPage } from "./describe-session.ts";
import { addDocument } from "./knowledge-upload.ts";

/** Passages of an answer. */
const HITS = 10;
const MAX_HITS = 50;

/** What is asked about a base is old at once: somebody else may write it. */
const FRESH = { "cache-control": "no-store" } as const;

const listKnowledge = defineOperation<"ListKnowledge">({
  id: "listKnowledge",
  method: "GET",
  path: "/v1/knowledge",
  tag: "knowledge",
  summary: "The documents of the knowledge base",
  query: "ListKnowledge",
  action: "knowledge.read",
  answers: { 200: { about: "The documents, and how many there are in all", shape: "KnowledgeDocuments" } },
  async handle(core, { query }) {
    const { limit, ...place } = readPage(query);
    const within = query.collection === undefined ? {} : { collection: query.collection };
    const [found, stats] = await askKnowledge(core, async (base) => [
      await base.list({ ...place, ...within, limit: limit + 1 }),
      await base.stats(),
    ]);
    const { items, ...next } = cutPage(found, limit, ({ uri }) => uri);
    const { documents, chunks, bytes, collections } = stats;
    const answer: KnowledgeDocuments = {
      documents: items.map((info) => describeDocument(info)),
      ...next,
      totals: { documents, passages: chunks, bytes },
      collections,
      accepts: DOCUMENT_ENDINGS,
      max_document_bytes: core.limits.maxDocumentBytes,
    };
    return Response.json(answer, { headers: FRESH });
  },
});

const searchKnowledge = defineOperation<"SearchKnowledge">({
  id: "searchKnowledge",
  method: "GET",
  path: "/v1/knowledge/search",
  tag: "knowledge",
  summary: "Passages of the knowledge base that answer a question",
  description: "A question is data, in whatever words: none is refused for what stands in it.",
  query: "SearchKnowledge",
  action: "knowledge.read",
  answers: { 200: { about: "The best first; none is an answer too", shape: "KnowledgeHits" } },
  async handle(core, { query: { q, limit = HITS, collection }, signal }) {
    const most = Math.min(Math.max(1, limit), MAX_HITS);
    const options = { limit: most, signal, ...(collection === undefined ? {} : { collection }) };
    const found = await askKnowledge(core, (base) => base.search(q, options));
    const answer: KnowledgeHits = { hits: found.map((hit) => describeHit(hit)) };
    return Response.json(answer, { headers: FRESH });
  },
});

const removeDocument = defineOperation({
  id: "removeDocument",
  method: "DELETE",
  path: "/v1/knowledge/{document}",
  tag: "knowledge",
  summary: "Removes a document from the knowledge base",
  description: "This one and no other. A file it was read from stays where it is.",
  params: { document: "Id of the document" },
  action: "knowledge.write",
  answers: { 204: { about: "It is gone" }, 404: { about: "There is none: `unknown_document`", shape: "Problem" } },
  async handle(core, { params: { document = "" } }) {
    const isRemoved = await askKnowledge(core, (base) => base.removeDocument(document));
    if (!isRemoved)
      throw new LoomError("unknown_document", "the knowledge base has no such document", { document_id: document });
    return new Response(null, { status: 204 });
  },
});

export const KNOWLEDGE_OPERATIONS: readonly AnyOperation[] = [
  listKnowledge,
  addDocument,
  searchKnowledge,
  removeDocument,
];
