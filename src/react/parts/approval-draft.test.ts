import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../protocol/index.ts";
import {
  type ApprovalDraft,
  changeField,
  createDraft,
  MAX_FIELDS,
  readDraft,
  readJsonObject,
  switchMode,
} from "./approval-draft.ts";

const requested: JsonObject = { to: "alice", copies: 2, urgent: true, headers: { a: [1] }, note: null };
const objects = fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<JsonObject>;

describe("an approval draft", () => {
  it("has a typed field per argument", () => {
    const draft = createDraft(requested);
    expect(draft.mode === "form" && draft.fields.map(({ name, kind }) => [name, kind])).toEqual([
      ["to", "text"],
      ["copies", "number"],
      ["urgent", "boolean"],
      ["headers", "json"],
      ["note", "json"],
    ]);
  });

  it("returns the requested arguments if unchanged, in both modes", () => {
    fc.assert(
      fc.property(objects, (given) => {
        const draft = createDraft(given);
        expect(readDraft(draft, given)).toEqual({ kind: "ready", arguments: given, isChanged: false });
        const other = switchMode(draft, given);
        expect(other && readDraft(other, given)).toEqual({ kind: "ready", arguments: given, isChanged: false });
        const back = other && switchMode(other, given);
        expect(back && readDraft(back, given)).toEqual({ kind: "ready", arguments: given, isChanged: false });
      }),
    );
  });

  it("has the same value after switching back to the form", () => {
    // Few similar names and values, so that fields appear, disappear and change type.
    const alike = fc.constantFrom<Json>(true, "true", null, "null", 1, "1", 0, "", [], {}, "{}", { a: 1, b: 2 });
    const names = fc.constantFrom("path", "force", "toString", "__proto__", "1");
    const given = fc.dictionary(names, fc.oneof(alike, fc.jsonValue() as fc.Arbitrary<Json>));
    fc.assert(
      fc.property(given, fc.oneof(given, objects), fc.nat(3), (before, after, indent) => {
        const raw: ApprovalDraft = { mode: "raw", text: JSON.stringify(after, undefined, indent) };
        const form = switchMode(raw, before);
        const readings = [raw, form, form && switchMode(form, before)].map(
          (draft) => draft && readDraft(draft, before),
        );
        expect(readings[0]).toMatchObject({ isChanged: JSON.stringify(after) !== JSON.stringify(before) });
        // Compared as sent.
        const sent = readings.map((reading) => JSON.stringify(reading));
        expect(sent).toEqual(Array(3).fill(sent[0]));
      }),
    );
    const back = switchMode({ mode: "raw", text: '{"path": "a"}' }, { path: "a", force: true });
    expect(back && readDraft(back, { path: "a", force: true })).toEqual({
      kind: "ready",
      arguments: { path: "a" },
      isChanged: true,
    });
  });

  it("is invalid if a value cannot be sent", () => {
    const unsendable = { kind: "unsendable" };
    const read = (text: string): unknown => readDraft({ mode: "raw", text }, requested);
    expect(read('{"a": [1e999]}')).toEqual({ kind: "invalid-text", error: unsendable });
    expect(read(`{"a": ${"[".repeat(9000)}${"]".repeat(9000)}}`)).toEqual({ kind: "invalid-text", error: unsendable });
    const draft = changeField(changeField(createDraft(requested), "copies", "1e999"), "note", "[-1e999]");
    expect(readDraft(draft, requested)).toEqual({
      kind: "invalid-fields",
      errors: new Map([
        ["copies", "unsendable"],
        ["note", "unsendable"],
      ]),
    });
  });

  it("changes only edited fields", () => {
    let draft = createDraft(requested);
    draft = changeField(draft, "to", "bob");
    draft = changeField(draft, "copies", " 3 ");
    draft = changeField(draft, "urgent", "false");
    draft = changeField(draft, "headers", '{"b": 2}');
    const reading = readDraft(draft, requested);
    expect(reading).toEqual({
      kind: "ready",
      isChanged: true,
      arguments: { to: "bob", copies: 3, urgent: false, headers: { b: 2 }, note: null },
    });
  });

  it("names invalid fields", () => {
    let draft = changeField(createDraft(requested), "copies", "three");
    draft = changeField(draft, "headers", "{");
    expect(readDraft(draft, requested)).toEqual({
      kind: "invalid-fields",
      errors: new Map([
        ["copies", "number"],
        ["headers", "json"],
      ]),
    });
    expect(switchMode(draft, requested)).toBeUndefined();
    expect(readDraft(changeField(draft, "copies", '"3"'), requested).kind).toBe("invalid-fields");
  });

  it("allows adding and removing in JSON mode, and requires an object", () => {
    const read = (text: string): unknown => readDraft({ mode: "raw", text }, requested);
    expect(read('{"x": 1}')).toEqual({ kind: "ready", arguments: { x: 1 }, isChanged: true });
    expect(read("[]")).toEqual({ kind: "invalid-text", error: { kind: "not-object" } });
    expect(read("{")).toEqual({ kind: "invalid-text", error: { kind: "unfinished" } });
  });

  it("keeps a field called __proto__", () => {
    const odd = JSON.parse('{"__proto__": "a", "b": "c"}') as JsonObject;
    const reading = readDraft(changeField(createDraft(odd), "b", "d"), odd);
    expect(reading.kind === "ready" && JSON.stringify(reading.arguments)).toBe('{"__proto__":"a","b":"d"}');
  });

  it("uses JSON mode for many fields", () => {
    const many = Object.fromEntries(Array.from({ length: MAX_FIELDS + 1 }, (_, i) => [`f${i}`, i]));
    expect(createDraft(many).mode).toBe("raw");
  });
});

describe("readJsonObject", () => {
  it.each([
    ['{"a": 1}', { kind: "object", value: { a: 1 } }],
    ["  ", { kind: "empty" }],
    ['{"a": 1', { kind: "unfinished" }],
    ['{"a": "b', { kind: "unfinished" }],
    ["[1]", { kind: "not-object" }],
    ["null", { kind: "not-object" }],
    ['{"a": 1,}', { kind: "invalid", line: 1, column: 9 }],
    ['{\n  "a": x\n}', { kind: "invalid", line: 2, column: 8 }],
    ['{"a": 1} more', { kind: "invalid", line: 1, column: 10 }],
  ])("%j", (text, expected) => {
    expect(readJsonObject(text)).toEqual(expected);
  });

  it("locates the error in a text of any length", () => {
    const filler = '"x",\n'.repeat(500);
    expect(readJsonObject(`{"a": [\n${filler}?]}`)).toEqual({ kind: "invalid", line: 502, column: 1 });
  });

  it("agrees with JSON.parse", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.string({ maxLength: 3 }), (json, at, insert) => {
        const place = at % (json.length + 1);
        const text = json.slice(0, place) + insert + json.slice(place);
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        const { kind } = readJsonObject(text);
        expect(kind === "object" || kind === "not-object").toBe(isJson);
      }),
    );
  });
});
