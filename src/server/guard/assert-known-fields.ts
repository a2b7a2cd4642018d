/** Refuses fields that a form does not have: a misspelled one would otherwise change nothing. */
import type { FormFields, FormSchema } from "../../protocol/form.ts";
import { findNearest } from "../../protocol/find-nearest.ts";
import { LoomError } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { STRATEGY_SETTING_NAMES, STRATEGY_SETTINGS } from "../../protocol/strategy-settings.ts";

/** Maximum characters of an unknown name in a message. */
const MAX_SHOWN = 60;

export interface UnknownField {
  /** For example `attachments[2].nam`. */
  readonly path: string;
  /** The path that was probably meant. */
  readonly suggestion: string | undefined;
  readonly message: string;
}

/** Returns the first field at any depth that the form does not have. */
export function findUnknownField(
  fields: FormFields,
  value: { readonly [field: string]: unknown },
  prefix = "",
): UnknownField | undefined {
  for (const [name, inner] of Object.entries(value)) {
    // Programs may pass undefined for a field that is not given.
    if (inner === undefined) continue;
    const field = fields.get(name);
    const found =
      field === undefined
        ? describeUnknown([...fields.keys()], name, prefix)
        : findInside(field.schema, inner, prefix + name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Throws `invalid_request` for a request body with such a field. */
export function assertKnownFields(fields: FormFields, body: { readonly [field: string]: unknown }): void {
  const unknown = findUnknownField(fields, body);
  if (unknown === undefined) return;
  const { path, suggestion, message } = unknown;
  throw new LoomError("invalid_request", message, {
    path,
    in: "body",
    ...(suggestion === undefined ? {} : { suggestion }),
  });
}

/** Maximum number of misspelled fields that are reported. */
const MAX_REPORTED = 10;

/**
 * Reads the strategy settings of a body whose other unknown fields are ignored, and reports for its sender what looks
 * misspelled: a field that is similar to one of `names`, and any unknown setting.
 */
export function readLooseBody(
  names: readonly string[],
  body: { readonly [field: string]: unknown },
): { readonly strategy: { readonly [name: string]: unknown } | undefined; readonly notices: readonly string[] } {
  const { strategy } = body;
  const given = isJsonObject(strategy) ? Object.entries(strategy) : [];
  const isKnown = ([name]: readonly [string, unknown]): boolean => Object.hasOwn(STRATEGY_SETTINGS, name);
  const misspelled = Object.keys(body).filter(
    (name) => !names.includes(name) && findNearest(name, names) !== undefined,
  );
  const unknown = [
    ...misspelled.map((name) => describeUnknown(names, name, "")),
    ...given
      .filter((entry) => !isKnown(entry))
      .map(([name]) => describeUnknown(STRATEGY_SETTING_NAMES, name, "strategy.")),
  ];
  return {
    strategy: given.length === 0 ? undefined : Object.fromEntries(given.filter(isKnown)),
    notices: unknown.slice(0, MAX_REPORTED).map(({ message }) => message.replace("Unknown", "Ignored the unknown")),
  };
}

function findInside({ tag, fields, of }: FormSchema, value: unknown, path: string): UnknownField | undefined {
  if (tag === "{") return isJsonObject(value) ? findUnknownField(fields, value, `${path}.`) : undefined;
  if (of === undefined) return undefined;
  if (tag !== "[") return findInside(of, value, path);
  if (!Array.isArray(value)) return undefined;
  for (const [index, item] of value.entries()) {
    const found = findInside(of, item, `${path}[${index}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function describeUnknown(known: readonly string[], name: string, prefix: string): UnknownField {
  const path = prefix + name.slice(0, MAX_SHOWN);
  const nearest = findNearest(name, known);
  const suggestion = nearest === undefined ? undefined : prefix + nearest;
  const hint =
    suggestion !== undefined
      ? `did you mean \`${suggestion}\`?`
      : known.length === 0
        ? "there are none"
        : `the fields are ${known.join(", ")}`;
  return { path, suggestion, message: `Unknown field \`${path}\`; ${hint}` };
}
