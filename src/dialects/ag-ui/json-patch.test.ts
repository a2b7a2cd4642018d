// Faults of a patch: what they say, and that they change nothing. Real clients are compared in test/clients.
import { expect, test } from "vitest";
import type { JsonObject } from "../../protocol/index.ts";
import { PatchedValue } from "./json-patch.ts";

const START = { list: [1, 2], n: { a: 1 } };

test.each([
  [{ op: "replace", path: "/m", value: 1 }, "there is no `/m`"],
  [{ op: "replace", path: "/n/b/c", value: 1 }, "there is no `/n/b`"],
  [{ op: "add", path: "/n/b/c", value: 1 }, "there is no `/n/b`"],
  [{ op: "add", path: "/n/a/b", value: 1 }, "`/n/a` has no members"],
  [{ op: "add", path: "/list/3", value: 1 }, "the list has 2 items"],
  [{ op: "add", path: "/list/x", value: 1 }, "the list has 2 items"],
  [{ op: "remove", path: "/list/2" }, "there is no `/list/2`"],
  [{ op: "test", path: "/n", value: { a: 2 } }, "the value differs"],
  [{ op: "add", path: "/n/b" }, "it has no `value`"],
  [{ op: "copy", path: "/n/b" }, "it has no `from`"],
  [{ op: "move", path: "/n/a/b", from: "/n" }, "a value cannot be moved into itself"],
  [{ op: "add", path: "n", value: 1 }, "`n` is not a JSON Pointer"],
  [{ op: "add", path: "/constructor/prototype/x", value: 1 }, "clients refuse `__proto__`"],
  [{ op: "add", path: "/big", value: "x".repeat(1000) }, "the value becomes too large"],
  [{ op: "add", path: "/a".repeat(300), value: 1 }, "the path is too deep"],
] as const satisfies readonly (readonly [JsonObject, string])[])("refuses %j", (operation, reason) => {
  const patched = new PatchedValue(structuredClone(START));
  const changes = [
    { op: "add", path: "/list/0", value: 0 },
    { op: "remove", path: "/list/0" },
    { op: "replace", path: "/n/a", value: 2 },
    { op: "move", path: "/k", from: "/n" },
    { op: "copy", path: "/n", from: "/k" },
    { op: "replace", path: "/n", value: { a: 1 } },
    { op: "remove", path: "/k" },
  ];
  const fault = patched.apply([...changes, operation], 500);
  expect(fault).toBe(`operation 7 (\`${operation.op}\` at \`${operation.path}\`) cannot be applied: ${reason}`);
  expect([patched.value, patched.added]).toEqual([START, 0]);
  expect(patched.apply(changes, 500)).toBeUndefined();
  expect(patched.value).toEqual(START);
});

test("replaces and removes the whole value", () => {
  const patched = new PatchedValue(structuredClone(START));
  expect(patched.apply([{ op: "replace", path: "", value: [1] }], 100)).toBeUndefined();
  expect(patched.value).toEqual([1]);
  expect(
    patched.apply(
      [
        { op: "remove", path: "" },
        { op: "test", path: "", value: 1 },
      ],
      100,
    ),
  ).toContain("differs");
  expect(patched.value).toEqual([1]);
});

test("refuses what RFC 6901 and RFC 6902 forbid, also if clients apply it", () => {
  const patched = new PatchedValue({ b: [0, 1] });
  expect(patched.apply([{ op: "add", path: "/b/01", value: 2 }], 100)).toContain("the list has 2 items");
  expect(patched.apply([{ op: "move", path: "/a", from: "" }], 100)).toContain("cannot be moved into itself");
  expect(patched.value).toEqual({ b: [0, 1] });
});

test("a value that is copied into itself again and again stays within its budget", () => {
  const patched = new PatchedValue({ a: "x".repeat(100) });
  const double = [{ op: "copy", from: "", path: "/b" }];
  let rounds = 0;
  for (; patched.apply(double, 10_000 - patched.added) === undefined; rounds++);
  expect(rounds).toBeLessThan(100);
  expect(JSON.stringify(patched.value).length).toBeLessThan(10_000);
});
