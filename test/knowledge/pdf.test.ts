// PDFs in the knowledge base, read with the optional package.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openKnowledgeBase } from "../../src/context/index.ts";
import { resolveLimits } from "../../src/context/knowledge-base/knowledge-base-options.ts";
import { PdfReader } from "../../src/context/knowledge-base/read-pdf.ts";
import { writePdf } from "./write-pdf.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-pdf-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("reads PDFs in both languages and reports those without text", async () => {
  writeFileSync(join(folder, "manual.pdf"), writePdf("The turbine is oiled twice a year", "Turbine manual"));
  writeFileSync(join(folder, "chinese.pdf"), writePdf("涡轮机每年上油两次"));
  writeFileSync(join(folder, "scan.pdf"), writePdf(""));
  writeFileSync(join(folder, "broken.pdf"), writePdf("lost").subarray(0, 60));
  // Longer than the maximum timer delay, which means no limit.
  await using base = await openKnowledgeBase(":memory:", { maxPdfMs: 2 ** 40 });
  const report = await base.add(folder);
  expect(report).toMatchObject({ added: 2, failedCount: 2 });
  expect(report.failed).toEqual([
    {
      path: join(folder, "broken.pdf"),
      code: "unreadable_document",
      message: "The PDF cannot be read: it is damaged or not a PDF",
    },
    {
      path: join(folder, "scan.pdf"),
      code: "unreadable_document",
      message: "The PDF contains no text, only images. It may be scanned.",
    },
  ]);
  expect(await base.search("oiling turbines")).toMatchObject([{ title: "Turbine manual", headings: ["Page 1"] }]);
  expect(await base.search("上油")).toMatchObject([{ title: "chinese", uri: join(folder, "chinese.pdf") }]);
});

/** A file with a page that takes much longer than the tests allow. */
function writeBomb(): string {
  const path = join(folder, "bomb.pdf");
  if (!existsSync(path)) writeFileSync(path, writePdf("word and word again", undefined, 200_000));
  return path;
}

it("stops reading a PDF when aborted, and reads the next one", async () => {
  await using base = await openKnowledgeBase(":memory:", { maxDocumentBytes: 1e9, maxPdfCharacters: 1e9 });
  const stop = new AbortController();
  const adding = base.add(writeBomb(), { signal: stop.signal });
  setTimeout(() => stop.abort(new Error("enough")), 300);
  await expect(adding).rejects.toThrow("enough");
  expect(await base.add(join(folder, "manual.pdf"))).toMatchObject({ added: 1 });
});

it.each([
  [{ maxPdfMs: 300 }, "unreadable_document", "longer than 300 ms"],
  [{ maxPdfCharacters: 1000 }, "document_too_large", "more than 1000 characters"],
  [{ maxPdfMemoryBytes: 100 }, "document_too_large", "more than 1 MiB"],
  [{ maxPdfPages: 0 }, "document_too_large", "has 1 pages; the limit is 0"],
])("limits a PDF to %j", async (options, code, message) => {
  await using base = await openKnowledgeBase(":memory:", {
    maxDocumentBytes: 1e9,
    maxPdfCharacters: 1e9,
    ...options,
  });
  const { failed } = await base.add(writeBomb());
  expect(failed).toMatchObject([{ code }]);
  expect(failed[0]?.message).toContain(message);
});

it.each(["intact", "damaged"] as const)("limits the size to which %s streams of a PDF expand", async (kind) => {
  const bytes = writePdf("x", undefined, 100_000, kind);
  expect(bytes.length).toBeLessThan(50_000);
  await using base = await openKnowledgeBase(":memory:", { maxPdfExpandedBytes: 1_000_000 });
  await expect(base.addBytes({ uri: "bomb.pdf", bytes })).rejects.toMatchObject({
    code: "document_too_large",
    details: { limit: 1_000_000 },
  });
  const small = writePdf("The turbine is oiled twice a year", undefined, 1, kind);
  expect(await base.addBytes({ uri: "small.pdf", bytes: small })).toMatchObject({ outcome: "added" });
});

it("starts no thread for a PDF after it is closed", async () => {
  const reader = new PdfReader(resolveLimits({ maxPdfCharacters: 1e9 }));
  const bytes = writePdf("word and word again", undefined, 200_000);
  const reads = Promise.allSettled([reader.read(bytes, undefined), reader.read(writePdf("text"), undefined)]);
  await reader.close();
  const closed = { code: "store_closed" };
  expect(await reads).toMatchObject([{ reason: closed }, { reason: closed }]);
  await expect(reader.read(writePdf("text"), undefined)).rejects.toMatchObject(closed);
});
