/**
 * A form is what a program needs of a declared shape: the names of its fields, which of them must be there, and what may
 * stand in them. It has none of the sentences people need, so that a page which only reads frames stays small. Forms are
 * generated as one short text per shape and parsed when a value of that shape first comes by:
 *
 *     form    section [">" [export key]] "#" fields, the key left out where it is the type in other letters
 *     fields  name (":" must be there | "?" may be absent or null) schema, parted by spaces
 *     schema  one of the tags below, then what it needs
 *
 * Nothing here knows an event or a frame. The texts are ours: parsing trusts them.
 */

/**
 * `s` a text, `b` true or false, `j` any JSON, `m` any object; `n0,9` a number and `i0,9` a whole number, within bounds
 * where there are any, a whole number never above 2^53-1; `=a|b` one of these texts, `~a|b` one of these or another; `[` a list of what follows, `{…}` an
 * object of these fields, `!` null or what follows, `/a|b` one of these texts or what follows.
 */
type Tag = "s" | "b" | "j" | "m" | "n" | "i" | "=" | "~" | "[" | "{" | "!" | "/";

export interface FormSchema {
  readonly tag: Tag;
  /** The texts of a set. */
  readonly values: readonly string[];
  /** The fields of an object. */
  readonly fields: FormFields;
  /** What is in a list, or beside null or texts. */
  readonly of: FormSchema | undefined;
  /** The bounds of a number. */
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
  /** Its key in the single-key form, for the types of 001. */
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

/** `tot_expand` gives `TotExpand`: most types of 001 have such a key. */
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
  const tag = token.charAt(0) as Tag;
  const [min = "", max = ""] = token.slice(1).split(",");
  return {
    tag,
    values: /[=~/]/.test(tag) ? next().split("|") : [],
    fields: tag === "{" ? parseFields(next) : new Map<string, FormField>(),
    of: /[[!/]/.test(tag) ? parseSchema(next) : undefined,
    min: Number(min || -Infinity),
    max: Number(max || (tag === "i" ? Number.MAX_SAFE_INTEGER : Infinity)),
  };
}

/**
 * The way from a type to its form. A type that is none of these, or no text at all, has none. `base` are the fields all
 * begin with; a form says only how its own are different.
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
