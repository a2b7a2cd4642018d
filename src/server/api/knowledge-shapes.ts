/** Shapes of the knowledge base. */
import {
  count,
  type Fields,
  listOf,
  number,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";
import { declareShape } from "./common-shapes.ts";

const collection = optional(string, "Only this collection; default: all collections");

const DOCUMENT_FIELDS = {
  document_id: required(string, "Id of the document: a name, a path or a URL"),
  name: required(string, "Last segment of the id"),
  title: required(string, "Title"),
  collection: required(string, "Collection of the document"),
  format: required(oneOf("markdown", "text", "html", "pdf"), "Format of the document"),
  bytes: required(count, "Size in bytes"),
  passages: required(count, "Number of passages"),
  indexed_at: required(count, "Time of indexing, Unix time in milliseconds"),
} satisfies Fields;

const TOTAL_FIELDS = {
  documents: required(count, "Number of documents"),
  passages: required(count, "Number of passages"),
  bytes: required(count, "Total size of the documents in bytes"),
} satisfies Fields;

const HIT_FIELDS = {
  document_id: required(string, "Id of the document the passage is from"),
  name: required(string, "Last segment of the document id"),
  title: required(string, "Title of the document"),
  collection: required(string, "Collection of the document"),
  score: required(number, "Relevance from 0 to 1"),
  snippet: required(string, "Lines around the match"),
  content: required(string, "Full text of the passage"),
  first_line: required(count, "First line in the document, from 1"),
  last_line: required(count, "Last line in the document"),
  headings: required(listOf(string), "Headings above the passage, outermost first"),
} satisfies Fields;

export const KNOWLEDGE_SHAPES = {
  KnowledgeDocuments: declareShape("Documents of the knowledge base", {
    documents: required(listOf(objectOf(DOCUMENT_FIELDS)), "Documents, ordered by id"),
    next: optional(string, "Value of `after` for the next page; absent on the last page"),
    totals: required(objectOf(TOTAL_FIELDS), "Totals of the whole knowledge base"),
    collections: required(
      listOf(
        objectOf({
          name: required(string, "Name of the collection"),
          documents: required(count, "Number of documents"),
        }),
      ),
      "All collections",
    ),
    accepts: required(listOf(string), "Accepted file extensions"),
    max_document_bytes: required(count, "Maximum size of a document in bytes"),
  }),
  ListKnowledge: declareShape("Documents to list", {
    limit: optional(count, "Maximum number of documents, 1 to 500; default: 50"),
    after: optional(string, "Id of the last document of the previous page: its `next`"),
    collection,
  }),
  AddedDocument: declareShape("Document that was added", {
    ...DOCUMENT_FIELDS,
    outcome: required(
      oneOf("added", "updated", "unchanged"),
      "Whether the document is new, replaced one with the same name, or is identical to it",
    ),
  }),
  AddDocument: declareShape("Name and collection of a document", {
    name: required(string, "File name without a folder"),
    collection: optional(string, "Collection; default: the current one of the document, or `default` for a new one"),
  }),
  ReadDocument: declareShape("Part of a document to read", {
    from: optional(count, "Position of the first passage, from 0; default: 0"),
    line: optional(count, "Starts a few passages before the one with this line, instead of at `from`"),
    limit: optional(count, "Maximum number of passages, 1 to 200; default: 50"),
  }),
  DocumentText: declareShape("Part of the text of a document", {
    ...DOCUMENT_FIELDS,
    from: required(count, "Position of the first passage, from 0"),
    parts: required(
      listOf(
        objectOf({
          first_line: required(count, "First line in the document, from 1"),
          last_line: required(count, "Last line in the document"),
          text: required(
            string,
            "Text that follows the text of the previous passage, with the line breaks between them",
          ),
          overlap: required(count, "Characters before `text` that the passage repeats from the previous one"),
        }),
      ),
      "Passages in their order; empty after the last one",
    ),
  }),
  SearchKnowledge: declareShape("Search query", {
    q: required(string, "Question or keywords"),
    limit: optional(count, "Maximum number of passages, 1 to 50; default: 10"),
    collection,
  }),
  KnowledgeHits: declareShape("Search results", {
    hits: required(listOf(objectOf(HIT_FIELDS)), "Passages, best match first"),
  }),
} as const satisfies { readonly [name: string]: Shape };
