import { describe, expect, it } from "vitest";
import { findImageSource, isPlainSvg } from "./find-image-source.ts";

describe("findImageSource", () => {
  const find = (url: string): string | undefined =>
    findImageSource(url, { imageUrl: (address) => `/v1/images?url=${encodeURIComponent(address)}` });

  it("asks the page for remote images", () => {
    expect(find("https://pics.example/a.png")).toBe("/v1/images?url=https%3A%2F%2Fpics.example%2Fa.png");
    expect(find(" blob:x ")).toBe("/v1/images?url=blob%3Ax");
  });

  it("uses inline images directly", () => {
    const drawing = `data:image/svg+xml;base64,${btoa("<svg><g/></svg>")}`;
    for (const url of ["data:image/png;base64,iVBORw0=", "DATA:image/WebP;base64,AA==", drawing])
      expect(find(url)).toBe(url);
    expect(find("\tdata:image/png;base64,iVBO\nRw0=\n")).toBe("data:image/png;base64,iVBO\nRw0=");
  });

  it.each([
    `data:image/svg+xml;base64,${btoa("<svg><use/></svg>")}`,
    "data:image/svg+xml;base64,A",
    "data:image/svg+xml,<svg><g/></svg>",
    "data:text/html;base64,PHN2Zz4=",
    "data:image/png,<svg>",
    "Data:,x",
  ])("blocks other data without asking the page: %s", (url) => expect(find(url)).toBeUndefined());
});

describe("isPlainSvg", () => {
  it("accepts shapes and text", () => {
    expect(isPlainSvg('<svg xmlns="http://www.w3.org/2000/svg"><circle cx="5" cy="5" r="4" fill="red"/></svg>')).toBe(
      true,
    );
    expect(isPlainSvg('<svg viewBox="0 0 1 1"><g><path d="M0 0"/></g><text>a &lt; b</text></svg>')).toBe(true);
    expect(isPlainSvg('<svg><text class="is on" title="> on">once = 5</text></svg>')).toBe(true);
  });

  it.each([
    "",
    "no drawing",
    "<svg onload=window.ran=1>",
    `<svg><g id=">"ONCLICK='x'/></svg>`,
    "<svg><script>1</script></svg>",
    '<svg><use href="#a"/></svg>',
    '<svg><image href="https://x.example/a.png"/></svg>',
    "<svg><filter/></svg>",
    "<svg><foreignObject/></svg>",
    '<!DOCTYPE svg [<!ENTITY a "aa">]><svg>&a;</svg>',
    "<svg><style>*{}</style></svg>",
    "<svg><animate/></svg>",
    "<svg><x:use/></svg>",
    `<svg>${'<g clip-path="url(#a)"/>'.repeat(101)}</svg>`,
    `<svg>${" ".repeat(300_000)}</svg>`,
  ])("rejects %.60s", (text) => expect(isPlainSvg(text)).toBe(false));
});
