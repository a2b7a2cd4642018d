// Addresses of sessions, and of images.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findImageAddress } from "./image-address.ts";
import { formatRoute, formatSharedRoute, readRoute, readSharedRoute, readShareSecret } from "./route.ts";

describe("the address of the page", () => {
  it("names any session, and comes back", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 60, unit: "grapheme" }), (session) => {
        expect(readRoute(formatRoute(session))).toBe(session);
        expect(readSharedRoute(formatSharedRoute(session))).toBe(session);
        expect([readRoute(formatSharedRoute(session)), readSharedRoute(formatRoute(session))]).toEqual([
          undefined,
          undefined,
        ]);
      }),
    );
    expect(readRoute(formatRoute(undefined))).toBeUndefined();
  });

  it.each(["", "#", "#/", "#/s/", "#/s/a/b", "#/x/a", "#/s/%", "#page-message", "#/s/a?b"])("%j names none", (hash) =>
    expect(readRoute(hash)).toBeUndefined(),
  );
});

it("may bring the secret of a link, and whatever stands in its place", () => {
  expect(readShareSecret("#share=loom_shr_a_b-C")).toBe("loom_shr_a_b-C");
  expect(readShareSecret("#share=")).toBe("");
  expect(readShareSecret("#share=/s/a")).toBe("/s/a");
  expect(["", "#", "#/s/share=", "#Share=x"].map(readShareSecret)).toEqual(Array(4).fill(undefined));
});

describe("the address of an image", () => {
  const at = (url: string, base = "https://loom.example/agents/#/s/1"): string | undefined =>
    findImageAddress(url, base);
  const blob = "a".repeat(64);

  it("of elsewhere is the proxy's", () => {
    expect(at("https://pics.example/a b.png?x=1&y=2")).toBe(
      "./v1/images?url=https%3A%2F%2Fpics.example%2Fa%2520b.png%3Fx%3D1%26y%3D2",
    );
    expect(at("//pics.example/a.png")).toBe("./v1/images?url=https%3A%2F%2Fpics.example%2Fa.png");
  });

  it("of a file of a session is its own", () => {
    expect(at(`/agents/v1/sessions/demo/blobs/${blob}`)).toBe(`/agents/v1/sessions/demo/blobs/${blob}`);
    expect(at(`/v1/sessions/demo/blobs/${blob}`, "http://127.0.0.1:1/")).toBe(`/v1/sessions/demo/blobs/${blob}`);
  });

  it.each([
    "http://pics.example/a.png",
    "javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:image/png;base64,iVBORw0=",
    "blob:https://loom.example/1",
    "file:///etc/passwd",
    "https://user:secret@pics.example/a.png",
    "https://loom.example/agents/v1/sessions/demo",
    "https://loom.example/agents/v1/sessions/a/../demo/runs",
    `/other/v1/sessions/demo/blobs/${blob}`,
    "/agents/v1/images?url=https://pics.example",
    "https://",
    `https://pics.example/${"a".repeat(9000)}`,
  ])("%s is shown by nobody", (url) => expect(at(url)).toBeUndefined());
});
