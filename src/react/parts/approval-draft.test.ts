// Arguments while they are edited. What was not touched must be sent as it was asked.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../protocol/index.ts";
import { type ApprovalDraft, beginDraft, changeField, MAX_FIELDS, readDraft, switchMode } from "./approval-draft.ts";

const asked: JsonObject = { to: "alice", copies: 2, urgent: true, headers: { a: [1] }, note: null };
const objects = fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<JsonObject>;

describe("a draft", () => {
  it("has a field for each argument, by its type", () => {
    const draft = beginDraft(asked);
    expect(draft.mode === "form" && draft.fields.map(({ name, kind }) => [name, kind])).toEqual([
      ["to", "text"],
      ["copies", "number"],
      ["urgent", "boolean"],
      ["headers", "json"],
      ["note", "json"],
    ]);
  });

  it("that was not touched is what was asked, in either mode and back", () => {
    fc.assert(
      fc.property(objects, (given) => {
        const draft = beginDraft(given);
        expect(readDraft(draft, given)).toEqual({ kind: "ready", arguments: given, isChanged: false });
        const other = switchMode(draft, given);
        expect(other && readDraft(other, given)).toEqual({ kind: "ready", arguments: given, isChanged: false });
        const back = other && switchMode(other, given);
        expect(back && readDraft(back, given)).toEqual({ kind: "ready", arguments: given, isChanged: false });
      }),
    );
  });

  it("reads the same when it goes back to the form, whatever the text says", () => {
    // Few names and values that look alike: fields come, go and change their type.
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
        // As they are sent: of what is equal there, nothing else arrives.
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

  it("that says what cannot be sent is not ready", () => {
    const unsendable = { kind: "unsendable" };
    const read = (text: string): unknown => readDraft({ mode: "raw", text }, asked);
    expect(read('{"a": [1e999]}')).toEqual({ kind: "faulty-text", fault: unsendable });
    expect(read(`{"a": ${"[".repeat(9000)}${"]".repeat(9000)}}`)).toEqual({ kind: "faulty-text", fault: unsendable });
    const draft = changeField(changeField(beginDraft(asked), "copies", "1e999"), "note", "[-1e999]");
    expect(readDraft(draft, asked)).toEqual({
      kind: "faulty-fields",
      faults: new Map([
        ["copies", "unsendable"],
        ["note", "unsendable"],
      ]),
    });
  });

  it("changes the fields that were changed, and no others", () => {
    let draft = beginDraft(asked);
    draft = changeField(draft, "to", "bob");
    draft = changeField(draft, "copies", " 3 ");
    draft = changeField(draft, "urgent", "false");
    draft = changeField(draft, "headers", '{"b": 2}');
    const reading = readDraft(draft, asked);
    expect(reading).toEqual({
      kind: "ready",
      isChanged: true,
      arguments: { to: "bob", copies: 3, urgent: false, headers: { b: 2 }, note: null },
    });
  });

  it("names what cannot be read", () => {
    let draft = changeField(beginDraft(asked), "copies", "three");
    draft = changeField(draft, "headers", "{");
    expect(readDraft(draft, asked)).toEqual({
      kind: "faulty-fields",
      faults: new Map([
        ["copies", "number"],
        ["headers", "json"],
      ]),
    });
    expect(switchMode(draft, asked)).toBeUndefined();
    expect(readDraft(changeField(draft, "copies", '"3"'), asked).kind).toBe("faulty-fields");
  });

  it("as JSON may add and take away, and must be an object", () => {
    const read = (text: string): unknown => readDraft({ mode: "raw", text }, asked);
    expect(read('{"x": 1}')).toEqual({ kind: "ready", arguments: { x: 1 }, isChanged: true });
    expect(read("[]")).toEqual({ kind: "faulty-text", fault: { kind: "no-object" } });
    expect(read("{")).toEqual({ kind: "faulty-text", fault: { kind: "unfinished" } });
  });

  it("keeps a field that is called __proto__", () => {
    const odd = JSON.parse('{"__proto__": "a", "b": "c"}') as JsonObject;
    const reading = readDraft(changeField(beginDraft(odd), "b", "d"), odd);
    expect(reading.kind === "ready" && JSON.stringify(reading.arguments)).toBe('{"__proto__":"a","b":"d"}');
  });

  it("of very many fields is one text", () => {
    const many = Object.fromEntries(Array.from({ length: MAX_FIELDS + 1 }, (_, i) => [`f${i}`, i]));
    expect(beginDraft(many).mode).toBe("raw");
  });
});
