import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { UiStateCache, UiStateCacheProvider, useCachedState } from "./ui-state-cache.tsx";

it("keeps the most recently used entries", () => {
  const states = new UiStateCache(2);
  states.write("a", 1);
  states.write("b", 2);
  expect(states.read("a")).toBe(1);
  states.write("c", 3);
  expect([states.read("a"), states.read("b"), states.read("c")]).toEqual([1, undefined, 3]);
  states.write("a", undefined);
  states.write("d", 4);
  expect([states.read("a"), states.read("c"), states.read("d")]).toEqual([undefined, 3, 4]);
});

it("starts with the initial value, with and without a cache", () => {
  const Shown = (): string => useCachedState("a", "first")[0];
  expect(renderToStaticMarkup(createElement(Shown))).toBe("first");
  const kept = createElement(UiStateCacheProvider, null, createElement(Shown));
  expect(renderToStaticMarkup(kept)).toBe("first");
});
