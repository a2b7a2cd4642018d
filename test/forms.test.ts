/** Forms match the declarations they are generated from, and values are checked against them correctly. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { emitForm } from "../scripts/generate/emit-form.ts";
import { findEngineFrameForm } from "../src/dialects/engine/frames.generated.ts";
import { ENGINE_FRAMES } from "../src/dialects/engine/frames.ts";
import { findLumineFrameForm } from "../src/dialects/lumine/frames.generated.ts";
import { LUMINE_FRAMES } from "../src/dialects/lumine/frames.ts";
import { findStreamEventFrameForm } from "../src/dialects/stream-event/frames.generated.ts";
import { STREAM_EVENT_FRAMES } from "../src/dialects/stream-event/frames.ts";
import { type FieldValues, findFault, readForm } from "../src/protocol/check-form.ts";
import { ENVELOPE } from "../src/protocol/envelope.ts";
import { EVENTS } from "../src/protocol/events/index.ts";
import { ENVELOPE_FORM, findLoomEventForm, LOOM_EVENT_READERS } from "../src/protocol/events.generated.ts";
import type { Hint } from "../src/protocol/fault.ts";
import { createFormFinder, type Form, type FormFields, type FormSchema, parseForm } from "../src/protocol/form.ts";
import {
  between,
  boolean,
  count,
  duration,
  either,
  type Fields,
  json,
  listOf,
  map,
  nullable,
  number,
  objectOf,
  oneOf,
  openSet,
  optional,
  required,
  type Schema,
  type Shape,
  string,
} from "../src/protocol/schema.ts";

/** A declaration and its form in a common notation, for comparison. */
function plainFields(fields: Fields): object {
  return Object.entries(fields).map(([name, field]) => [name, field.required, plainSchema(field.schema)]);
}

function plainSchema(schema: Schema): object {
  switch (schema.kind) {
    case "number":
    case "integer":
      return [schema.kind, schema.min ?? -Infinity, schema.max ?? Infinity];
    case "enum":
    case "open-enum":
      return [schema.kind, schema.values];
    case "array":
      return [schema.kind, plainSchema(schema.items)];
    case "object":
      return [schema.kind, plainFields(schema.fields)];
    case "nullable":
      return [schema.kind, plainSchema(schema.of)];
    case "union":
      return [schema.kind, schema.options.map(plainSchema)];
    default:
      return [schema.kind];
  }
}

function plainFormFields(fields: FormFields): object {
  return [...fields.values()].map((field) => [field.name, field.required, plainFormSchema(field.schema)]);
}

function plainFormSchema({ tag, values, fields, of, min, max }: FormSchema): object {
  const inner = () => plainFormSchema(of as FormSchema);
  switch (tag) {
    case "s":
      return ["string"];
    case "b":
      return ["boolean"];
    case "x":
      return ["union", [["string"], ["number", -Infinity, Infinity]]];
    case "j":
      return ["json"];
    case "m":
      return ["map"];
    case "n":
      return ["number", min, max];
    case "i":
      return ["integer", min, max];
    case "=":
      return ["enum", values];
    case "~":
      return ["open-enum", values];
    case "[":
      return ["array", inner()];
    case "{":
      return ["object", plainFormFields(fields)];
    case "!":
      return ["nullable", inner()];
    case "/":
      return ["union", [["enum", values], inner()]];
    case "&":
      return ["union", [["string"], inner()]];
  }
}

const VOCABULARIES: readonly [{ readonly [type: string]: Shape }, (type: unknown) => Form | undefined][] = [
  [EVENTS, findLoomEventForm],
  [{ Envelope: ENVELOPE }, () => ENVELOPE_FORM],
  [ENGINE_FRAMES, findEngineFrameForm],
  [LUMINE_FRAMES, findLumineFrameForm],
  [STREAM_EVENT_FRAMES, findStreamEventFrameForm],
];

describe("forms", () => {
  test("match the declaration of every shape", () => {
    for (const [shapes, findForm] of VOCABULARIES) {
      for (const [type, shape] of Object.entries(shapes)) {
        const form = findForm(type) as Form;
        expect(plainFormFields(form.fields), type).toEqual(plainFields(shape.fields));
        expect(form.section).toBe(shape.section);
        expect(form.exportKey).toBe((shape as { readonly exportKey?: string }).exportKey);
      }
    }
  });

  test("round-trip through their text, for any schema", () => {
    const word = fc.stringMatching(/^[a-zA-Z_]\w{0,6}$/);
    const texts = fc.uniqueArray(word, { minLength: 1, maxLength: 4 });
    const { fields } = fc.letrec<{ schema: Schema; fields: Fields }>((tie) => ({
      schema: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.constantFrom(string, boolean, json, map, number, count, duration, between(0, 100)),
        texts.map((values) => oneOf(...values)),
        texts.map((values) => openSet(...values)),
        tie("schema").map(listOf),
        tie("schema").map(nullable),
        tie("fields").map(objectOf),
        fc.tuple(texts, tie("fields")).map(([values, inner]) => either(oneOf(...values), objectOf(inner))),
        tie("fields").map((inner) => either(string, objectOf(inner))),
        tie("schema").map((items) => either(string, listOf(items))),
      ),
      fields: fc.dictionary(
        word.filter((name) => !(name in Object.prototype)),
        fc.tuple(tie("schema"), fc.boolean()).map(([schema, must]) => (must ? required : optional)(schema, "")),
        { maxKeys: 4 },
      ),
    }));
    fc.assert(
      fc.property(fields, (declared) => {
        const form = parseForm(emitForm({ section: "001 §1", about: "", fields: declared }));
        expect(plainFormFields(form.fields)).toEqual(plainFields(declared));
      }),
      { numRuns: 300 },
    );
  });

  test("emitForm throws for text that a form cannot express", () => {
    const shape = (schema: Schema) => ({
      section: "",
      about: "",
      fields: { a: required(schema, "") },
    });
    for (const odd of ["", "two words", "a:b", "}"])
      expect(() => emitForm(shape(oneOf(odd)))).toThrow("cannot express");
    expect(() => emitForm(shape(between(-0.5, 1)))).toThrow("cannot express");
    expect(() => emitForm(shape(either(oneOf("a"), string)))).toThrow("only unions of strings");
  });

  test("are found only by a known type name", () => {
    const find = createFormFinder({ a: "001 §1#x:s" });
    expect(find("a")).toBe(find("a"));
    for (const type of [undefined, null, 7, ["a"], { toString: () => "a" }, "toString", "__proto__", ""])
      expect(find(type)).toBeUndefined();
  });
});

describe("findFault", () => {
  const { fields } = parseForm(
    "001#s:s b?b j?j m?m n?n d?n0 p?n0,100 c?i0,9007199254740991 e?=a|b one?=a o?~a|b l?[[s x?{y:s z?[{w:~k}} q?!s u?/Ok{Err:s} t?&{k:s} r?&[s",
  );
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });
  const messageOf = (value: object) => findFault(fields, { s: "", ...value })?.message;

  test.each<[object, string]>([
    [{ s: undefined }, "`s` is missing; it must be a string"],
    [{ s: null }, "`s` is missing; it must be a string"],
    [{ s: 7 }, "`s` must be a string, not 7"],
    [{ b: "yes" }, '`b` must be true or false, not "yes"'],
    [{ j: deep(257) }, "`j` is nested too deeply"],
    [{ m: [] }, "`m` must be an object, not an array"],
    [{ m: deep(257) }, "`m` is nested too deeply"],
    [{ n: "1" }, '`n` must be a finite number, not "1"'],
    [{ n: Infinity }, "`n` must be a finite number, not Infinity"],
    [{ d: -1 }, "`d` must be a finite number, at least 0, not -1"],
    [{ p: 101 }, "`p` must be a finite number from 0 to 100, not 101"],
    [{ c: 1.5 }, "`c` must be an integer from 0 to 2^53-1, not 1.5"],
    [{ c: 2 ** 53 }, "`c` must be an integer from 0 to 2^53-1, not 9007199254740992"],
    [{ c: true }, "`c` must be an integer, not true"],
    [{ e: "c" }, '`e` must be one of a, b, not "c"'],
    [{ e: 1 }, "`e` must be one of a, b, not 1"],
    [{ one: "b" }, '`one` must be "a", not "b"'],
    [{ o: 1 }, "`o` must be a string, not 1"],
    [{ l: {} }, "`l` must be an array, not an object"],
    [{ l: [["a"], ["b", 2]] }, "`l[1][1]` must be a string, not 2"],
    [{ x: 1 }, "`x` must be an object, not 1"],
    [{ x: {} }, "`x.y` is missing; it must be a string"],
    [{ x: { y: "", z: [{ w: "k" }, { w: null }] } }, "`x.z[1].w` is missing; it must be a string"],
    [{ q: 1 }, "`q` must be a string, not 1"],
    [{ u: "No" }, '`u` must be "Ok" or an object, not "No"'],
    [{ u: 1 }, "`u` must be an object, not 1"],
    [{ u: {} }, "`u.Err` is missing; it must be a string"],
    [{ t: 1 }, "`t` must be a string or an object, not 1"],
    [{ t: [] }, "`t` must be an object, not an array"],
    [{ t: {} }, "`t.k` is missing; it must be a string"],
    [{ r: true }, "`r` must be a string or an array, not true"],
    [{ r: ["a", 1] }, "`r[1]` must be a string, not 1"],
  ])("%j: %s", (value, message) => {
    expect(messageOf(value)).toBe(message);
  });

  test("names all missing fields of an object at once", () => {
    const form = parseForm("001#a:s b?b c:b x?{y:s z:i} q:!s");
    const find = (value: FieldValues) => findFault(form.fields, value);
    const path = "a";
    const message =
      "`a` is missing; it must be a string. `c` is missing; it must be true or false. `q` is missing; it must be present (null is allowed)";
    expect(find({})).toEqual({ rule: "field-missing", path, message });
    expect(find({ a: "", q: null })?.message).toBe("`c` is missing; it must be true or false");
    expect(find({ a: "", c: true, q: null, x: {} })?.message).toBe(
      "`x.y` is missing; it must be a string. `x.z` is missing; it must be an integer",
    );
    expect(find({ a: 1, c: null })?.message).toBe("`a` must be a string, not 1");
    expect(find({ b: 1, q: null })?.message).toBe(
      "`a` is missing; it must be a string. `c` is missing; it must be true or false",
    );
  });

  test("requires a nullable field to be present", () => {
    const form = parseForm("001#q:!s");
    expect(findFault(form.fields, {})?.message).toBe("`q` is missing; it must be present (null is allowed)");
    expect(findFault(form.fields, { q: null })).toBeUndefined();
  });

  test("accepts matching values, null for optional fields, and unknown fields", () => {
    const fit = { b: true, j: deep(256), n: -1, d: 0, p: 100, c: 2 ** 53 - 1, e: "b", one: "a", o: "c", l: [[]] };
    expect(messageOf({ ...fit, x: { y: "", z: null }, u: { Err: "" }, t: "", r: ["a"], more: [1] })).toBeUndefined();
    expect(messageOf({ b: null, j: null, l: null, u: null, x: undefined, q: null })).toBeUndefined();
  });

  test("reports values outside an open set as hints with their path", () => {
    const hints: Hint[] = [];
    findFault(fields, { s: "", o: "c", x: { y: "", z: [{ w: "k" }, { w: "v" }] } }, hints);
    expect(hints).toEqual([
      { path: "o", message: '`o` is "c"; expected one of a, b' },
      { path: "x.z[1].w", message: '`x.z[1].w` is "v"; expected one of k' },
    ]);
  });
});

describe("readForm", () => {
  test.each(Object.keys(LOOM_EVENT_READERS))("%s: the generated reader agrees with the form", (type) => {
    const form = findLoomEventForm(type) as Form;
    const value = fc.constantFrom<unknown[]>(
      "",
      "text",
      "answer",
      "markdown",
      null,
      7,
      0,
      -1,
      1.5,
      true,
      {},
      undefined,
    );
    const likely = fc.record(
      Object.fromEntries(
        [...form.fields.values()].map(({ name, schema }) => {
          const known = schema.tag === "b" ? true : schema.tag === "i" ? 3 : (schema.values[0] ?? "text");
          return [name, fc.oneof({ weight: 6, arbitrary: fc.constant(known) }, value)] as const;
        }),
      ),
      { requiredKeys: [] },
    );
    const read = LOOM_EVENT_READERS[type] as (value: object, fields: number) => object | undefined;
    let taken = 0;
    fc.assert(
      fc.property(likely, fc.constantFrom(0, 0, 0, 1, 2), (frame, unknown) => {
        const fields = Object.keys(frame).length + unknown;
        const byForm = readForm(type, form, frame, fields);
        if (byForm !== undefined) taken++;
        // Compared as text, because the order of fields is part of the contract.
        expect(JSON.stringify(read(frame, fields))).toBe(JSON.stringify(byForm));
      }),
      { numRuns: 2000 },
    );
    expect(taken).toBeGreaterThan(100);
  });

  test("returns undefined for values that need a full check", () => {
    const form = parseForm("001#a:s b?j c?~x|y");
    expect(readForm("t", form, { a: "", b: 1, c: "x" }, 3)).toEqual({ type: "t", a: "", b: 1, c: "x" });
    expect(readForm("t", form, { a: "", b: null }, 2)).toBeUndefined();
    expect(readForm("t", form, { a: "", c: "z" }, 2)).toBeUndefined();
    expect(readForm("t", form, { a: "", d: 1 }, 2)).toBeUndefined();
    expect(readForm("t", form, { b: 1 }, 1)).toBeUndefined();
  });
});
