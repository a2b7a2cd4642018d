/**
 * The thread that reads PDFs: it may be blocked, use much memory and be ended at any time, and nobody else is. The package
 * that reads them is optional and loaded when the first PDF is met.
 */
import { parentPort } from "node:worker_threads";
import { toPlainError } from "../../log/sqlite/failure.ts";
import { LoomError } from "../../protocol/loom-error.ts";
import type { PdfAnswer, PdfRequest, PdfText } from "./read-pdf.ts";

const MAX_TITLE = 500;

async function read({ bytes, maxPages, maxCharacters }: PdfRequest): Promise<PdfText> {
  const { getDocumentProxy, getMeta } = await load();
  // 0: it says nothing on the console.
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 });
  try {
    if (pdf.numPages > maxPages)
      throw new LoomError("document_too_large", `The PDF has ${pdf.numPages} pages; ${maxPages} are allowed.`);
    const pages: string[] = [];
    let room = maxCharacters;
    for (let number = 1; number <= pdf.numPages; number++) {
      const page = await pdf.getPage(number);
      const parts: string[] = [];
      // As it comes: a page may have more text than there is memory.
      const reader = (page.streamTextContent() as ReadableStream<TextPart>).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        for (const { str, hasEOL } of value.items) {
          if (str === undefined) continue;
          parts.push(hasEOL === true ? `${str}\n` : str);
          room -= str.length + 1;
        }
        if (room < 0)
          throw new LoomError("document_too_large", `The PDF has more than ${maxCharacters} characters of text.`);
      }
      pages.push(parts.join(""));
      page.cleanup();
    }
    if (pages.every((page) => page.trim() === ""))
      throw new LoomError("unreadable_document", "The PDF has no text: its pages are pictures, perhaps scanned.");
    const { info } = await getMeta(pdf);
    const title: unknown = (info as { readonly Title?: unknown }).Title;
    const named = typeof title === "string" ? title.trim().slice(0, MAX_TITLE) : "";
    return { title: named === "" ? undefined : named, pages };
  } finally {
    // Nobody waits for it: where a page is long, it takes long too, and the thread is ended.
    void pdf.loadingTask.destroy().catch(() => undefined);
  }
}

interface TextPart {
  readonly items: readonly { readonly str?: string; readonly hasEOL?: boolean }[];
}

async function load() {
  try {
    return await import("unpdf");
  } catch {
    throw new LoomError("missing_package", "To read a PDF, the package unpdf is needed: npm install unpdf", {
      package: "unpdf",
    });
  }
}

function refuse(error: unknown): LoomError {
  if (error instanceof LoomError) return error;
  const name = (error as { readonly name?: unknown } | null)?.name;
  const why = name === "PasswordException" ? "is locked by a password" : "cannot be read: it is damaged or no PDF";
  return new LoomError("unreadable_document", `The PDF ${why}.`);
}

parentPort?.on("message", (request: PdfRequest) => {
  void read(request).then(
    (text) => parentPort?.postMessage({ text } satisfies PdfAnswer),
    (error: unknown) => parentPort?.postMessage({ error: toPlainError(refuse(error)) } satisfies PdfAnswer),
  );
});
