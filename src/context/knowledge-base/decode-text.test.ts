import { describe, expect, it } from "vitest";
import { decodeText } from "./decode-text.ts";
import { readText } from "./read-document.ts";

const TEXT = "Grüße, 部署指南 and more of it";

describe("decodeText", () => {
  it("reads UTF-8 and UTF-16 with and without a byte order mark", async () => {
    expect(await decodeText(Buffer.from(TEXT))).toBe(TEXT);
    expect(await decodeText(Buffer.from(`\ufeff${TEXT}`))).toBe(TEXT);
    const wide = Buffer.from(TEXT, "utf16le");
    expect(await decodeText(wide)).toBe(TEXT);
    expect(await decodeText(Buffer.concat([Buffer.from([0xff, 0xfe]), wide]))).toBe(TEXT);
    expect(await decodeText(Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(wide).swap16()]))).toBe(TEXT);
    expect(await decodeText(Buffer.from(wide).swap16())).toBe(TEXT);
  });

  it("reads GB 18030 and the declared charset", async () => {
    // 部署指南：中文
    const bytes = Buffer.from("b2bfcaf0d6b8c4cfa3bad6d0cec4", "hex");
    expect(await decodeText(bytes)).toBe("部署指南：中文");
    expect(await decodeText(Buffer.from("caf\xe9", "latin1"), "iso-8859-1")).toBe("café");
  });

  it("reads long texts whose characters are split between chunks", async () => {
    for (const [text, encoding] of [
      ["漢x".repeat(300_000), "utf8"],
      [`\ufeff${"🙂x".repeat(200_000)}`, "utf16le"],
    ] as const)
      expect((await decodeText(Buffer.from(text, encoding))) === text.replace("\ufeff", "")).toBe(true);
    const chinese = Buffer.concat([Buffer.from("x"), Buffer.alloc(700_000, Buffer.from("b2bfcaf0d6b8c4cf", "hex"))]);
    expect((await decodeText(chinese)).slice(-4)).toBe("部署指南");
  });

  it("tolerates an invalid character in a long text", async () => {
    const bytes = Buffer.concat([Buffer.from("word ".repeat(500)), Buffer.from([0xe4])]);
    expect(await decodeText(bytes)).toContain("word word");
  });

  it.each([
    ["zero bytes", Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0, 9, 9, 9]), "zero bytes"],
    ["German", Buffer.from("M\xfcller f\xfcr T\xfcr Schl\xfcssel F\xfchrung", "latin1"), "Latin-1"],
    ["French", Buffer.from("un \xe9t\xe9 \xe0 la plage, caf\xe9 cr\xe8me", "latin1"), "Latin-1"],
    ["Spanish", Buffer.from("Espa\xf1a: se\xf1or N\xfa\xf1ez y la monta\xf1a", "latin1"), "Latin-1"],
    // Привет мир, Здравствуйте in Windows-1251, Здравствуйте in KOI8-R
    ["Russian", Buffer.from("cff0e8e2e5f220ece8f0c7e4f0e0e2f1f2e2f3e9f2e5", "hex"), "unknown text encoding"],
    ["older Russian", Buffer.from("fac4d2c1d7d3d4d7d5cad4c5fac4d2c1d7d3d4d7d5cad4c5", "hex"), "unknown text encoding"],
    // 배포 문서 배포 문서 배포
    ["Korean", Buffer.from("b9e8c6f720b9aebcad20b9e8c6f720b9aebcad20b9e8c6f7", "hex"), "unknown text encoding"],
    // デプロイの手順をよむ in EUC-JP and Shift JIS
    ["Japanese", Buffer.from("a5c7a5d7a5eda5a4a4cebcead1e8a4f2a4e8a4e0", "hex"), "unknown text encoding"],
    ["other Japanese", Buffer.from("83668376838d838382cc8ee88f8782f082e682de", "hex"), "unknown text encoding"],
    // 部署指南與文件說明 in Big5
    ["Taiwanese", Buffer.from("b3a1b870abfcab6ebb50a4e5a5f3bba1a9fa", "hex"), "unknown text encoding"],
    ["a few Chinese characters", Buffer.from("d6d0cec4", "hex"), "unknown text encoding"],
  ])("rejects %s with a reason", async (_, bytes, why) => {
    await expect(decodeText(bytes)).rejects.toMatchObject({ code: "unreadable_document" });
    await expect(decodeText(bytes)).rejects.toThrow(why);
  });
});

describe("readText", () => {
  it("takes the title from the front matter, a heading or the file name", async () => {
    expect(await readText('---\ntitle: "A: b"\n---\n# C\n', "markdown", "x.md")).toMatchObject({
      title: "A: b",
      from: 3,
    });
    expect((await readText("\n# C #\n", "markdown", "x.md")).title).toBe("C");
    expect((await readText("C\n===\n", "markdown", "x.md")).title).toBe("C");
    expect((await readText("no heading", "markdown", "x.y.md")).title).toBe("x.y");
    expect((await readText("# no heading", "text", "notes.txt")).title).toBe("notes");
    expect((await readText("<title>A &amp; B</title><h1>C</h1>", "html", "x.html")).title).toBe("A & B");
    expect((await readText("<h1>C</h1>", "html", "x.html")).title).toBe("C");
    expect((await readText("---\nnever closed", "markdown", "x.md")).from).toBe(0);
  });

  it.each([
    ["---\n\n# Policy\n\nThe turbine is dangerous.\n\n---\n\nmore", 0],
    ["---\nNote: read this\n\nThe turbine is dangerous.\n---\nmore", 0],
    ["---\n# Policy\n---\nmore", 0],
    ["---\n- one\n- two\n---\nmore", 0],
    [
      "---\n# of the site\ntitle: A\ntags:\n- x\n- y\n标题: 甲\ntext: >\n  folded\n\n  text\nlist: [\n  a\n]\n---\nmore",
      15,
    ],
    ["---\ntitle: A\n...\nmore", 3],
  ])("reads %j with front matter up to line %i", async (text, from) => {
    expect(await readText(text, "markdown", "x.md")).toMatchObject({ from });
  });

  it("accepts all line endings", async () => {
    expect((await readText("a\r\nb\rc\nd\0e", "text", "x")).lines).toEqual(["a", "b", "c", "d e"]);
  });
});
