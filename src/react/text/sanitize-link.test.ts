import { describe, expect, it } from "vitest";
import { sanitizeImageUrl, sanitizeLink } from "./sanitize-link.ts";

describe("sanitizeLink", () => {
  it.each([
    ["https://x.example", "https://x.example/"],
    ["HTTP://X.example/a b", "http://x.example/a%20b"],
    [" https://x.example ", "https://x.example/"],
    ["mailto:a@b.example", "mailto:a@b.example"],
    ["https://例子.example/路径", "https://xn--fsqu00a.example/%E8%B7%AF%E5%BE%84"],
  ])("accepts %j", (written, address) => {
    expect(sanitizeLink(written)).toBe(address);
  });

  it.each([
    "javascript:x",
    "java\tscript:x",
    "\u0000https://x.example",
    "https://x.example/\u202egpj",
    "https://a@x.example",
    "https:x.example",
    "https://",
    "//x.example",
    "/x",
    "x",
    "",
    "data:text/html,x",
    `https://x.example/${"a".repeat(5000)}`,
  ])("rejects %j", (written) => {
    expect(sanitizeLink(written)).toBeUndefined();
  });
});

describe("sanitizeImageUrl", () => {
  it("accepts web URLs and inline raster images", () => {
    expect(sanitizeImageUrl("https://x.example/a.png")).toBe("https://x.example/a.png");
    expect(sanitizeImageUrl("data:image/png;base64,AAAA")).toBe("data:image/png;base64,AAAA");
  });

  it.each(["mailto:a@b.example", "data:image/svg+xml;base64,AAAA", "data:image/png,<svg>", "/a.png", "blob:x"])(
    "rejects %j",
    (written) => {
      expect(sanitizeImageUrl(written)).toBeUndefined();
    },
  );
});
