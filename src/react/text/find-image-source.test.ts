import { describe, expect, it } from "vitest";
import { findImageSource } from "./find-image-source.ts";

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
