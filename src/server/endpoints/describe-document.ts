/** Converts documents and passages of the knowledge base to API responses. */
import { basename } from "node:path/posix";
import type { DocumentInfo, SearchHit } from "../../context/index.ts";
import type { DocumentPassage } from "../../context/knowledge-base/join-passages.ts";
import type { AddedDocument, DocumentText, KnowledgeDocuments, KnowledgeHits } from "../api/shapes.generated.ts";

export function describeDocument(info: DocumentInfo): KnowledgeDocuments["documents"][number] {
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

export function describeHit(hit: SearchHit): KnowledgeHits["hits"][number] {
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

export function describePart(passage: DocumentPassage): DocumentText["parts"][number] {
  const { firstLine, lastLine, text, overlap } = passage;
  return { first_line: firstLine, last_line: lastLine, text, overlap };
}

/** Handles paths of all platforms and URLs. */
function nameOf(uri: string): string {
  return basename(uri.replaceAll("\\", "/")) || uri;
}
