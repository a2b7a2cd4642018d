/**
 * Reads query parameters by the types of a form: numbers, booleans and lists are text in a URL. Invalid parameters are
 * rejected by name, and unknown ones too where `assertKnownQuery` is called.
 */
import { findFault } from "../../protocol/check-form.ts";
import type { Form, FormField } from "../../protocol/form.ts";
import { LoomError } from "../../protocol/index.ts";
import { ACCESS_PARAMETER } from "../auth/request-credentials.ts";

type QueryValues = { readonly [name: string]: unknown };

export function readQuery(form: Form, params: URLSearchParams): QueryValues {
  const query: { [name: string]: unknown } = {};
  for (const field of form.fields.values()) {
    const value = readField(field, params);
    if (value !== undefined) query[field.name] = value;
  }
  const fault = findFault(form.fields, query);
  if (fault !== undefined) throw new LoomError("invalid_request", fault.message, { path: fault.path, in: "query" });
  return query;
}

/**
 * Throws `invalid_request` for a parameter that is not in `names`: a misspelled one would otherwise change nothing. `ticket`
 * and `access` say what the caller may do, which every endpoint takes.
 */
export function assertKnownQuery(names: readonly string[], params: URLSearchParams): void {
  for (const name of params.keys()) {
    if (name === "ticket" || name === ACCESS_PARAMETER || names.includes(name)) continue;
    const known = names.length === 0 ? "this endpoint takes none" : `this endpoint takes ${names.join(", ")}`;
    const shown = name.slice(0, 40);
    throw new LoomError("invalid_request", `Unknown query parameter \`${shown}\`; ${known}`, {
      path: shown,
      in: "query",
    });
  }
}

/** Leaves a value that cannot be converted as text, so that validation rejects it. */
function readField({ name, schema }: FormField, params: URLSearchParams): unknown {
  const text = params.get(name);
  if (text === null) return undefined;
  switch (schema.tag) {
    case "n":
    case "i":
      // A page sends `?limit=` for an empty field.
      if (text === "") return undefined;
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
    case "b":
      if (text === "" || text === "1" || text === "true") return true;
      return text === "0" || text === "false" ? false : text;
    case "[":
      return params
        .getAll(name)
        .flatMap((part) => part.split(","))
        .map((part) => part.trim())
        .filter((part) => part !== "");
    default:
      return text;
  }
}
