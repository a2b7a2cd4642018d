// URLs of sessions and images.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolveImageUrl } from "./image-url.ts";
import {
  addPosition,
  formatRoute,
  formatSharedRoute,
  readPosition,
  readRoute,
  readSharedRoute,
  readShareSecret,
} from "./route.ts";

describe("the route", () => {
  it("round-trips any session ID", () => {
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

  it.each(["", "#", "#/", "#/s/", "#/s/a/b", "#/x/a", "#/s/%", "#page-message", "#/s/a?b"])(
    "%j has no session",
    (hash) => expect(readRoute(hash)).toBeUndefined(),
  );
});

it("round-trips a position in a run", () => {
  const name = fc.string({ minLength: 1, maxLength: 40, unit: "grapheme" });
  fc.assert(
    fc.property(name, name, fc.option(fc.integer({ min: 1 }), { nil: undefined }), (session, runId, eventId) => {
      const position = { runId, eventId };
      const own = addPosition(formatRoute(session), position);
      expect([readRoute(own), readPosition(own)]).toEqual([session, position]);
      const shared = addPosition(formatSharedRoute(session), position);
      expect([readSharedRoute(shared), readPosition(shared)]).toEqual([session, position]);
      expect(readPosition(formatRoute(session))).toBeUndefined();
    }),
  );
  expect(readPosition("#/s/a?run=r&event=-1")).toEqual({ runId: "r", eventId: undefined });
  expect(["#/s/a?run=", "#/s/a?event=1", "#/x/a?run=r"].map(readPosition)).toEqual([undefined, undefined, undefined]);
});

it("reads the share secret, also if it is invalid", () => {
  expect(readShareSecret("#share=loom_shr_a_b-C")).toBe("loom_shr_a_b-C");
  expect(readShareSecret("#share=")).toBe("");
  expect(readShareSecret("#share=/s/a")).toBe("/s/a");
  expect(["", "#", "#/s/share=", "#Share=x"].map(readShareSecret)).toEqual(Array(4).fill(undefined));
});

describe("the image URL", () => {
  const at = (url: string, base = "https://loom.example/agents/#/s/1"): string | undefined =>
    resolveImageUrl(url, base);
  const blob = "a".repeat(64);

  it("of another host uses the proxy", () => {
    expect(at("https://pics.example/a b.png?x=1&y=2")).toBe(
      "./v1/images?url=https%3A%2F%2Fpics.example%2Fa%2520b.png%3Fx%3D1%26y%3D2",
    );
    expect(at("//pics.example/a.png")).toBe("./v1/images?url=https%3A%2F%2Fpics.example%2Fa.png");
  });

  it("of a session blob is unchanged", () => {
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
  ])("refuses %s", (url) => expect(at(url)).toBeUndefined());
});
