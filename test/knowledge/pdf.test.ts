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
  await using base = await openKnowledgeBase(":memory:");
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
