/**
 * A form is the machine-readable part of a declared shape: field names, which fields are required, and their types. It
 * has no descriptions, so pages that only decode frames stay small. The generator writes each form as one short string;
 * it is parsed when a value of that shape is first checked.
 *
 *     form    section [">" [export key]] "#" fields; the key is omitted if it is the type in PascalCase
 *     fields  name (":" required | "?" optional) schema, separated by spaces
 *     schema  a tag (see FormTag), then its arguments
 *
 * Form strings are generated, so the parser does not validate them.
 */

/**
 * - `s` string, `b` boolean, `x` string or number, `j` any JSON, `m` any object
 * - `n0,9` number and `i0,9` integer; both bounds are optional, and an integer is at most 2^53-1
 * - `=a|b` one of these strings, `~a|b` one of these or any other string
 * - `[` array of the schema that follows, `{…}` object with these fields
 * - `!` null or the schema that follows, `/a|b` one of these strings or the schema that follows
 * - `&` any string or the schema that follows, which is an array or an object
 */
type FormTag = "s" | "b" | "x" | "j" | "m" | "n" | "i" | "=" | "~" | "[" | "{" | "!" | "/" | "&";

export interface FormSchema {
  readonly tag: FormTag;
  /** The strings of `=`, `~` and `/`. */
  readonly values: readonly string[];
  /** The fields of `{`. */
  readonly fields: FormFields;
  /** The inner schema of `[`, `!`, `/` and `&`. */
  readonly of: FormSchema | undefined;
  /** Bounds of a number. */
  readonly min: number;
  readonly max: number;
}

export interface FormField {
  readonly name: string;
  readonly required: boolean;
  readonly schema: FormSchema;
}

export type FormFields = ReadonlyMap<string, FormField>;

export interface Form {
  readonly section: string;
  /** Key in the `export` dialect. Only types of 001 have one. */
  readonly exportKey: string | undefined;
  readonly fields: FormFields;
}

export interface FormTexts {
  readonly [type: string]: string;
}

type Next = () => string;

export function parseForm(text: string, type = ""): Form {
  const [head = "", body = ""] = text.split("#");
  const [section = "", key] = head.split(">");
  const exportKey = key === "" ? toExportKey(type) : key;
  const tokens = body.match(/[\w,|-]+|\S/g) ?? [];
  let at = 0;
  return { section, exportKey, fields: parseFields(() => tokens[at++] ?? "}") };
}

/** `tot_expand` becomes `TotExpand`. Most types of 001 have such a key. */
export function toExportKey(type: string): string {
  return type.replace(/(^|_)./g, (start) => start.slice(-1).toUpperCase());
}

function parseFields(next: Next): FormFields {
  const fields = new Map<string, FormField>();
  for (let name = next(); name !== "}"; name = next())
    fields.set(name, { name, required: next() === ":", schema: parseSchema(next) });
  return fields;
}

function parseSchema(next: Next): FormSchema {
  const token = next();
  const tag = token.charAt(0) as FormTag;
  const [min = "", max = ""] = token.slice(1).split(",");
  return {
    tag,
    values: /[=~/]/.test(tag) ? next().split("|") : [],
    fields: tag === "{" ? parseFields(next) : new Map<string, FormField>(),
    of: /[[!/&]/.test(tag) ? parseSchema(next) : undefined,
    min: Number(min || -Infinity),
    max: Number(max || (tag === "i" ? Number.MAX_SAFE_INTEGER : Infinity)),
  };
}

/**
 * Creates a function that finds the form of a type. It returns undefined for an unknown type and for a value that is
 * not a string. `base` holds the fields that all forms start with; a form repeats one of them only to override it.
 */
export function createFormFinder(texts: FormTexts, base = ""): (type: unknown) => Form | undefined {
  const parsed = new Map<unknown, Form>();
  return (type) => {
    let form = parsed.get(type);
    if (form === undefined && typeof type === "string" && Object.hasOwn(texts, type)) {
      form = parseForm((texts[type] as string).replace("#", `#${base} `), type);
      parsed.set(type, form);
    }
    return form;
  };
}
