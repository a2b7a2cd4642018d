import { expect, it } from "vitest";
import { findCommands } from "./command-palette.tsx";

const entries = [
  { key: "1", label: "New session", group: "Actions" },
  { key: "2", label: "Open settings", group: "Actions" },
  { key: "3", label: "Renew the passport", group: "Sessions" },
  { key: "4", label: "News of the week", group: "Sessions" },
  { key: "5", label: "思维树", group: "Agents" },
];
const keysOf = (query: string): string =>
  findCommands(entries, query)
    .map(({ key }) => key)
    .join("");

it("ranks entries by where the query occurs, and keeps groups together", () => {
  expect(keysOf("")).toBe("12345");
  expect(keysOf("new")).toBe("143");
  expect(keysOf("SET open")).toBe("2");
  expect(keysOf("思维")).toBe("5");
  expect(keysOf("nothing")).toBe("");
});
