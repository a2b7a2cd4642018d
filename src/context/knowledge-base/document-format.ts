/** Formats of documents by file name. Imports no reader, so that the server loads none at its start. */
import { extname } from "node:path";

/** Formats a knowledge base can read. */
export type DocumentFormat = "markdown" | "text" | "html" | "pdf";

const FORMATS: ReadonlyMap<string, DocumentFormat> = new Map<string, DocumentFormat>([
  ...["md", "markdown", "mdown", "mdx"].map((name) => [`.${name}`, "markdown"] as const),
  ...["txt", "text", "rst", "adoc", "asciidoc", "org", "tex", "log", "csv", "tsv"].map(
    (name) => [`.${name}`, "text"] as const,
  ),
  ...["html", "htm", "xhtml"].map((name) => [`.${name}`, "html"] as const),
  [".pdf", "pdf"],
]);

/** File extensions of supported documents. */
export const DOCUMENT_EXTENSIONS: readonly string[] = [...FORMATS.keys()];

/** Returns the format for a file name; undefined if the extension is not supported. */
export function findFormat(path: string): DocumentFormat | undefined {
  return FORMATS.get(extname(path).toLowerCase());
}
