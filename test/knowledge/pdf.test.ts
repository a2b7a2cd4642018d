// PDFs in the knowledge base, read by the optional package.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openKnowledgeBase } from "../../src/context/index.ts";
import { writePdf } from "./write-pdf.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-pdf-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("reads PDFs in both languages, and names those without a text", async () => {
  writeFileSync(join(folder, "manual.pdf"), writePdf("The turbine is oiled twice a year", "Turbine manual"));
  writeFileSync(join(folder, "chinese.pdf"), writePdf("涡轮机每年上油两次"));
  writeFileSync(join(folder, "scan.pdf"), writePdf(""));
  writeFileSync(join(folder, "broken.pdf"), writePdf("lost").subarray(0, 60));
  // Longer than a timer can be: that is no limit, and not one that is passed at once.
  await using base = await openKnowledgeBase(":memory:", { maxPdfMs: 2 ** 40 });
  const report = await base.add(folder);
  expect(report).toMatchObject({ added: 2, failedCount: 2 });
  expect(report.failed).toEqual([
    {
      path: join(folder, "broken.pdf"),
      code: "unreadable_document",
      message: "The PDF cannot be read: it is damaged or no PDF.",
    },
    {
      path: join(folder, "scan.pdf"),
      code: "unreadable_document",
      message: "The PDF has no text: its pages are pictures, perhaps scanned.",
    },
  ]);
  expect(await base.search("oiling turbines")).toMatchObject([{ title: "Turbine manual", headings: ["Page 1"] }]);
  expect(await base.search("上油")).toMatchObject([{ title: "chinese", uri: join(folder, "chinese.pdf") }]);
});

/** A page that takes minutes. */
function writeBomb(): Buffer {
  return writePdf("word and word again", undefined, 1_000_000);
}

it("stops in the middle of a PDF when it is told, and reads the next", async () => {
  writeFileSync(join(folder, "bomb.pdf"), writeBomb());
  await using base = await openKnowledgeBase(":memory:", { maxDocumentBytes: 1e9, maxPdfCharacters: 1e9 });
  const stop = new AbortController();
  const adding = base.add(join(folder, "bomb.pdf"), { signal: stop.signal });
  setTimeout(() => stop.abort(new Error("enough")), 300);
  await expect(adding).rejects.toThrow("enough");
  expect(await base.add(join(folder, "manual.pdf"))).toMatchObject({ added: 1 });
});

it.each([
  [{ maxPdfMs: 300 }, "unreadable_document", "longer than 300 ms"],
  [{ maxPdfCharacters: 1000 }, "document_too_large", "more than 1000 characters"],
  [{ maxPdfMemoryBytes: 100 }, "document_too_large", "more than 1 MiB"],
  [{ maxPdfPages: 0 }, "document_too_large", "has 1 pages; 0 are allowed"],
])("holds a PDF to %j", async (options, code, message) => {
  writeFileSync(join(folder, "bomb.pdf"), writeBomb());
  await using base = await openKnowledgeBase(":memory:", {
    maxDocumentBytes: 1e9,
    maxPdfCharacters: 1e9,
    ...options,
  });
  const { failed } = await base.add(join(folder, "bomb.pdf"));
  expect(failed).toMatchObject([{ code }]);
  expect(failed[0]?.message).toContain(message);
});
