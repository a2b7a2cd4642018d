/**
 * Reads the body of a request as JSON, by the form of a shape. A null in an optional field is as if it were absent.
 *
 * Invariant: never more than the limit is held, and never for longer than the limit waits.
 */
import { findFault } from "../../protocol/check-form.ts";
import type { Form, FormFields, FormSchema } from "../../protocol/form.ts";
import { isJsonObject, LoomError } from "../../protocol/index.ts";
import type { NodeBindings } from "../api/operation.ts";
import { assertEncoding } from "./assert-encoding.ts";
import { discardRest } from "./read-body.ts";
import { HttpRefusal } from "./refuse-request.ts";

export interface JsonBodyOptions {
  readonly form: Form;
  readonly isRequired: boolean;
  readonly maxBytes: number;
  /** How long the body may take to come. */
  readonly timeoutMs: number;
  readonly node: NodeBindings;
}

type Value = { readonly [field: string]: unknown };

export async function readJsonBody(request: Request, options: JsonBodyOptions): Promise<Value> {
  const { form, node } = options;
  assertMediaType(request.headers.get("content-type"));
  const given = findParsed(node) ?? { value: await readValue(request, options) };
  const body = given.value;
  if (!isJsonObject(body)) throw new LoomError("invalid_request", "the body must be an object");
  const fault = findFault(form.fields, body);
  if (fault !== undefined) throw new LoomError("invalid_request", fault.message, { path: fault.path, in: "body" });
  return dropNulls(form.fields, body);
}

/** Forms of other sites can be sent without asking, but not with this type: what has another one is not read. */
function assertMediaType(given: string | null): void {
  const mediaType = (given ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (mediaType === "" || mediaType === "application/json" || /^[\w.-]+\/[\w.+-]+\+json$/.test(mediaType)) return;
  const error = new LoomError("unsupported", `the body must be application/json, not ${mediaType.slice(0, 80)}`);
  throw new HttpRefusal(error, { status: 415, headers: { accept: "application/json" } });
}

/** In somebody else's server the body may have been read before we are asked. */
function findParsed({ incoming }: NodeBindings): { readonly value: unknown } | undefined {
  if (incoming?.readableDidRead !== true || !("body" in incoming) || incoming.body === undefined) return undefined;
  return { value: incoming.body };
}

async function readValue(request: Request, options: JsonBodyOptions): Promise<unknown> {
  assertEncoding(request);
  const text = await readText(request, options);
  if (text.trim() === "" && !options.isRequired) return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new LoomError("invalid_request", text === "" ? "the body is missing" : "the body is no JSON");
  }
}

async function readText(request: Request, { maxBytes, timeoutMs }: JsonBodyOptions): Promise<string> {
  const tooLarge = (): LoomError =>
    new LoomError("body_too_large", `the body may have at most ${maxBytes} bytes`, { max_bytes: maxBytes });
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge();
  const reader = request.body?.getReader();
  if (reader === undefined) return "";
  const { promise: late, reject } = Promise.withResolvers<never>();
  late.catch(() => undefined);
  const timer = setTimeout(() => {
    reject(new LoomError("request_timeout", `the body did not come within ${timeoutMs} ms`));
  }, timeoutMs).unref();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) return new TextDecoder("utf-8", { fatal: true }).decode(joinBytes(chunks, bytes));
      bytes += value.length;
      if (bytes > maxBytes) throw tooLarge();
      chunks.push(value);
    }
  } catch (error) {
    // Not waited for: whoever sends it may never stop.
    void discardRest(reader, request.signal);
    if (error instanceof TypeError) throw new LoomError("invalid_request", "the body is no text in UTF-8");
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function joinBytes(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0];
  const joined = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}

function dropNulls(fields: FormFields, value: Value): Value {
  const entries = Object.entries(value).flatMap(([name, inner]) => {
    const field = fields.get(name);
    if (field === undefined) return [[name, inner] as const];
    if (inner === null && !field.required) return [];
    return [[name, dropInside(field.schema, inner)] as const];
  });
  return Object.fromEntries(entries);
}

function dropInside({ tag, fields, of }: FormSchema, value: unknown): unknown {
  if (tag === "{" && isJsonObject(value)) return dropNulls(fields, value);
  if (tag === "[" && of !== undefined && Array.isArray(value)) return value.map((item) => dropInside(of, item));
  return value;
}
