import { describe, expect, it } from "vitest";
import { parseForm } from "../../protocol/form.ts";
import { assertKnownQuery, readQuery } from "./read-query.ts";

const FORM = parseForm("HTTP#q?s limit?i0,100 score?n follow?b modes?[s kind?=a|b");
const read = (text: string) => readQuery(FORM, new URLSearchParams(text));

describe("the query", () => {
  it.each([
    ["", {}],
    [
      "q=a%20b&limit=5&score=0.5&follow=1&modes=x,%20y&kind=a",
      { q: "a b", limit: 5, score: 0.5, follow: true, modes: ["x", "y"], kind: "a" },
    ],
    ["unknown=1&__proto__=2", {}],
    ["limit=", {}],
    ["follow", { follow: true }],
    ["follow=false", { follow: false }],
    ["follow=0", { follow: false }],
    ["modes=", { modes: [] }],
    ["modes=a&modes=b,c", { modes: ["a", "b", "c"] }],
    ["q=", { q: "" }],
    ["q=first&q=second", { q: "first" }],
  ])("reads %s", (text, query) => {
    expect(read(text)).toEqual(query);
  });

  it.each([
    ["limit=x", "`limit` must be an integer"],
    ["limit=101", "`limit` must be an integer from 0 to 100"],
    ["limit=1.5", "`limit` must be an integer"],
    ["limit=-1", "`limit` must be an integer"],
    ["limit=1e2", "`limit` must be an integer"],
    ["follow=maybe", "`follow` must be true or false"],
    ["kind=c", "`kind` must be one of a, b"],
  ])("rejects %s", (text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  it("names an unknown parameter and the known ones", () => {
    const check = (text: string, ...names: string[]) => assertKnownQuery(names, new URLSearchParams(text));
    expect(() => check("limit=1&ticket=x&limit=2", "limit", "q")).not.toThrow();
    expect(() => check("limit=1&Strict=1", "limit", "q")).toThrow(
      "Unknown query parameter `Strict`; this endpoint takes limit, q",
    );
    expect(() => check("__proto__=1")).toThrow("Unknown query parameter `__proto__`; this endpoint takes none");
  });

  it("names a missing parameter", () => {
    const form = parseForm("HTTP#url:s");
    expect(() => readQuery(form, new URLSearchParams())).toThrow("`url` is missing");
  });
});
