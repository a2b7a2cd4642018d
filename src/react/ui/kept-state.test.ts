// What is kept while nobody shows it: so much and no more.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { KeptStates, KeptStatesProvider, useKeptState } from "./kept-state.tsx";

it("keeps what was used last", () => {
  const states = new KeptStates(2);
  states.write("a", 1);
  states.write("b", 2);
  expect(states.read("a")).toBe(1);
  states.write("c", 3);
  expect([states.read("a"), states.read("b"), states.read("c")]).toEqual([1, undefined, 3]);
  states.write("a", undefined);
  states.write("d", 4);
  expect([states.read("a"), states.read("c"), states.read("d")]).toEqual([undefined, 3, 4]);
});

it("begins as told, with somebody to remember it or without", () => {
  const Shown = (): string => useKeptState("a", "first")[0];
  expect(renderToStaticMarkup(createElement(Shown))).toBe("first");
  const kept = createElement(KeptStatesProvider, null, createElement(Shown));
  expect(renderToStaticMarkup(kept)).toBe("first");
});
