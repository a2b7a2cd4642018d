import { describe, expect, it } from "vitest";
import { judgeImage, judgeLink } from "./judge-link.ts";

describe("a link", () => {
  it.each([
    ["https://x.example", "https://x.example/"],
    ["HTTP://X.example/a b", "http://x.example/a%20b"],
    [" https://x.example ", "https://x.example/"],
    ["mailto:a@b.example", "mailto:a@b.example"],
    ["https://例子.example/路径", "https://xn--fsqu00a.example/%E8%B7%AF%E5%BE%84"],
  ])("leads to %j", (written, address) => {
    expect(judgeLink(written)).toBe(address);
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
  ])("is none: %j", (written) => {
    expect(judgeLink(written)).toBeUndefined();
  });
});

describe("an image", () => {
  it("is of the web, or pixels in themselves", () => {
    expect(judgeImage("https://x.example/a.png")).toBe("https://x.example/a.png");
    expect(judgeImage("data:image/png;base64,AAAA")).toBe("data:image/png;base64,AAAA");
  });

  it.each(["mailto:a@b.example", "data:image/svg+xml;base64,AAAA", "data:image/png,<svg>", "/a.png", "blob:x"])(
    "is none: %j",
    (written) => {
      expect(judgeImage(written)).toBeUndefined();
    },
  );
});
