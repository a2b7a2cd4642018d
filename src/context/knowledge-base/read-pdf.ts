/**
 * The text of a PDF, page by page. The package that reads it is optional and loaded when the first PDF is met.
 */
import { LoomError } from "../../protocol/index.ts";

export interface PdfText {
  readonly title: string | undefined;
  readonly pages: readonly string[];
}

const MAX_TITLE = 500;

/** Throws `missing_package` or `unreadable_document`, which says why: damaged, locked, or pictures only. */
export async function readPdf(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<PdfText> {
  const { getDocumentProxy, extractText, getMeta } = await load();
  let pdf: Awaited<ReturnType<typeof getDocumentProxy>>;
  try {
    // What it is given is taken from the caller; 0: it says nothing on the console.
    pdf = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 });
  } catch (cause) {
    throw refuse(cause);
  }
  try {
    signal?.throwIfAborted();
    const { text } = await extractText(pdf, { mergePages: false });
    signal?.throwIfAborted();
    if (text.every((page) => page.trim() === ""))
      throw new LoomError("unreadable_document", "The PDF has no text: its pages are pictures, perhaps scanned.");
    const { info } = await getMeta(pdf);
    const title: unknown = (info as { readonly Title?: unknown }).Title;
    const named = typeof title === "string" ? title.trim().slice(0, MAX_TITLE) : "";
    return { title: named === "" ? undefined : named, pages: text };
  } catch (cause) {
    signal?.throwIfAborted();
    throw cause instanceof LoomError ? cause : refuse(cause);
  } finally {
    await pdf.loadingTask.destroy().catch(() => undefined);
  }
}

async function load() {
  try {
    return await import("unpdf");
  } catch (cause) {
    throw new LoomError(
      "missing_package",
      "To read a PDF, the package unpdf is needed: npm install unpdf",
      { package: "unpdf" },
      { cause },
    );
  }
}

function refuse(cause: unknown): LoomError {
  const name = (cause as { readonly name?: unknown } | null)?.name;
  const why = name === "PasswordException" ? "is locked by a password" : "cannot be read: it is damaged or no PDF";
  return new LoomError("unreadable_document", `The PDF ${why}.`, {}, { cause });
}
