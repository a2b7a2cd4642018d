import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../protocol/index.ts";
import { findImage } from "./find-image.ts";

const findUrl = (data: JsonObject): string | undefined => findImage(data)?.url;

describe("findImage", () => {
  it("reads URLs and typed base64 content", () => {
    expect(findImage({ url: "https://a.example/i.png", alt: "A" })).toEqual({
      url: "https://a.example/i.png",
      alt: "A",
    });
    expect(findUrl({ image_url: { url: "/v1/blobs/x" } })).toBe("/v1/blobs/x");
    expect(findUrl({ base64: "AA\nBB", media_type: "image/jpeg" })).toBe("data:image/jpeg;base64,AABB");
    expect(findUrl({ data: "AABB", format: "JPG" })).toBe("data:image/jpeg;base64,AABB");
    expect(findUrl({ b64_json: "AABB" })).toBe("data:image/png;base64,AABB");
    expect(findUrl({ url: "data:image/webp;base64,AABB" })).toBe("data:image/webp;base64,AABB");
  });

  it("rejects documents and malformed content", () => {
    for (const data of [
      { url: "data:image/svg+xml;base64,AABB" },
      { url: "data:text/html,<script>alert(1)</script>" },
      { url: "DATA:image/svg+xml,x" },
      { base64: "AABB", media_type: "image/svg+xml" },
      { base64: "AABB", media_type: "text/html" },
      { base64: '"><script>', media_type: "image/png" },
      { base64: "AABB", media_type: "image/png;base64,x" },
      { base64: "" },
      {},
    ])
      expect(findUrl(data), JSON.stringify(data)).toBeUndefined();
  });
});
