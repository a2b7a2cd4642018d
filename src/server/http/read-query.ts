/**
 * Reads the query of an address by the form of a shape: numbers, switches and lists are texts there. What the form does
 * not know is ignored; what it knows and is wrong is refused by name.
 */
import { findFault } from "../../protocol/check-form.ts";
import type { Form, FormField } from "../../protocol/form.ts";
import { LoomError } from "../../protocol/index.ts";

type Query = { readonly [name: string]: unknown };

export function readQuery(form: Form, asked: URLSearchParams): Query {
  const query: { [name: string]: unknown } = {};
  for (const field of form.fields.values()) {
    const value = readField(field, asked);
    if (value !== undefined) query[field.name] = value;
  }
  const fault = findFault(form.fields, query);
  if (fault !== undefined) throw new LoomError("invalid_request", fault.message, { path: fault.path, in: "query" });
  return query;
}

/** What cannot be read stays a text, and is then not what the form asks for. */
function readField({ name, schema }: FormField, asked: URLSearchParams): unknown {
  const text = asked.get(name);
  if (text === null) return undefined;
  switch (schema.tag) {
    case "n":
    case "i":
      // `?limit=` is what a page sends whose field was left empty.
      if (text === "") return undefined;
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
    case "b":
      if (text === "" || text === "1" || text === "true") return true;
      return text === "0" || text === "false" ? false : text;
    case "[":
      return asked
        .getAll(name)
        .flatMap((part) => part.split(","))
        .map((part) => part.trim())
        .filter((part) => part !== "");
    default:
      return text;
  }
}
