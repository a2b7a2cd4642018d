import { describe, expect, it } from "vitest";
import { readSvg } from "./read-svg.ts";

const read = (inside: string): unknown => readSvg(`<svg width="10" height="5">${inside}</svg>`, 100)?.children;

describe("a parsed drawing", () => {
  it("has shapes, texts and labels", () => {
    expect(
      readSvg('<svg width="10"><g><path d="M0,0" aria-label="a: 1"/><text x="1">A &amp; &lt;B&gt;</text></g></svg>', 9),
    ).toEqual({
      tag: "svg",
      attributes: { width: "10" },
      children: [
        {
          tag: "g",
          attributes: {},
          children: [
            { tag: "path", attributes: { d: "M0,0", "aria-label": "a: 1" }, children: [] },
            { tag: "text", attributes: { x: "1" }, children: ["A & <B>"] },
          ],
        },
      ],
    });
  });

  it("has nothing that runs or loads", () => {
    for (const bad of [
      "<script>alert(1)</script>",
      '<image href="https://elsewhere.example/i.png"/>',
      '<a xlink:href="javascript:alert(1)"><path d="M0"/></a>',
      "<foreignObject><p>x</p></foreignObject>",
      "<style>*{}</style>",
      '<use href="#a"/>',
      '<animate attributeName="href" values="javascript:alert(1)"/>',
    ])
      expect(read(bad), bad).toEqual([]);
    expect(read('<path onclick="alert(1)" style="background:url(x)" class="y" href="z" tabindex="0" d="M0"/>')).toEqual(
      [{ tag: "path", attributes: { d: "M0" }, children: [] }],
    );
  });

  it("has no external references", () => {
    expect(
      read('<path fill="url(https://elsewhere.example/f.svg#x)" clip-path="url(http://here/page#clip1)"/>'),
    ).toEqual([{ tag: "path", attributes: { fill: "url(#x)", "clip-path": "url(#clip1)" }, children: [] }]);
    expect(read('<path fill="url(data:image/svg+xml,x)"/>')).toEqual([{ tag: "path", attributes: {}, children: [] }]);
  });

  it("has a bounded number of elements", () => {
    const many = "<g/>".repeat(50);
    expect(readSvg(`<svg>${many}</svg>`, 51)?.children.length).toBe(50);
    expect(readSvg(`<svg>${many}</svg>`, 50)).toBeUndefined();
  });

  it("is undefined if there is no drawing", () => {
    expect(["", "text", "<p>x</p>", "<g></g>", "</svg>"].map((text) => readSvg(text, 9))).toEqual(
      Array.from({ length: 5 }),
    );
  });
});
