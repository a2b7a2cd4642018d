// Where a reader may be led.
import { expect, it } from "vitest";
import { findLink } from "./web-address.ts";

it.each([
  ["https://example.com/a b", "https://example.com/a%20b"],
  ["http://example.com", "http://example.com/"],
  ["HTTPS://EXAMPLE.com", "https://example.com/"],
  ["javascript:alert(1)", undefined],
  ["java\nscript:alert(1)", undefined],
  [" \u0001javascript:alert(1)", undefined],
  ["data:text/html,x", undefined],
  ["file:///etc/passwd", undefined],
  ["https://bank.example@evil.example/", undefined],
  ["//example.com", undefined],
  ["/v1/sessions", undefined],
  ["", undefined],
  [undefined, undefined],
])("%j", (address, expected) => {
  expect(findLink(address)).toBe(expected);
});
