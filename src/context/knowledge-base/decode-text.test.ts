import { describe, expect, it } from "vitest";
import { decodeText } from "./decode-text.ts";
import { readText } from "./read-document.ts";

const TEXT = "Grüße, 部署指南 and more of it";

describe("decodeText", () => {
  it("reads UTF-8 and UTF-16, with a mark and without", () => {
    expect(decodeText(Buffer.from(TEXT))).toBe(TEXT);
    expect(decodeText(Buffer.from(`\ufeff${TEXT}`))).toBe(TEXT);
    const wide = Buffer.from(TEXT, "utf16le");
    expect(decodeText(wide)).toBe(TEXT);
    expect(decodeText(Buffer.concat([Buffer.from([0xff, 0xfe]), wide]))).toBe(TEXT);
    expect(decodeText(Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(wide).swap16()]))).toBe(TEXT);
    expect(decodeText(Buffer.from(wide).swap16())).toBe(TEXT);
  });

  it("reads the Chinese of older files, and what a page says of itself", () => {
    // 部署指南：中文
    const bytes = Buffer.from("b2bfcaf0d6b8c4cfa3bad6d0cec4", "hex");
    expect(decodeText(bytes)).toBe("部署指南：中文");
    expect(decodeText(Buffer.from("caf\xe9", "latin1"), "iso-8859-1")).toBe("café");
  });

  it("overlooks a broken character in a long text", () => {
    const bytes = Buffer.concat([Buffer.from("word ".repeat(500)), Buffer.from([0xe4])]);
    expect(decodeText(bytes)).toContain("word word");
  });

  it.each([
    ["zero bytes", Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0, 9, 9, 9])],
    ["another charset", Buffer.from("\xe9\xe8\xff\xfd na\xefve", "latin1")],
  ])("names %s", (_, bytes) => {
    expect(() => decodeText(bytes)).toThrow(expect.objectContaining({ code: "unreadable_document" }));
  });
});

describe("readText", () => {
  it("takes the title from the front matter, a heading or the name", () => {
    expect(readText('---\ntitle: "A: b"\n---\n# C\n', "markdown", "x.md")).toMatchObject({ title: "A: b", from: 3 });
    expect(readText("\n# C #\n", "markdown", "x.md").title).toBe("C");
    expect(readText("C\n===\n", "markdown", "x.md").title).toBe("C");
    expect(readText("no heading", "markdown", "x.y.md").title).toBe("x.y");
    expect(readText("# no heading", "text", "notes.txt").title).toBe("notes");
    expect(readText("<title>A &amp; B</title><h1>C</h1>", "html", "x.html").title).toBe("A & B");
    expect(readText("<h1>C</h1>", "html", "x.html").title).toBe("C");
    expect(readText("---\nnever closed", "markdown", "x.md").from).toBe(0);
  });

  it("takes every kind of line end", () => {
    expect(readText("a\r\nb\rc\nd\0e", "text", "x").lines).toEqual(["a", "b", "c", "d e"]);
  });
});
