/**
 * Reads a JSON request body and validates it against a form. A null in an optional field counts as absent. Fields that the
 * form does not have are refused for a closed body, and ignored otherwise.
 *
 * Invariant: buffers at most `maxBytes` and waits at most `timeoutMs` for the sender; it reads more only in a slot of
 * `large`, for which it waits at most `timeoutMs` too.
 */
import { findFault } from "../../protocol/check-form.ts";
import type { Form, FormFields, FormSchema } from "../../protocol/form.ts";
import { LoomError } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { withTimeout } from "../../protocol/with-timeout.ts";
import type { NodeBindings } from "../api/operation.ts";
import { assertKnownFields } from "../guard/assert-known-fields.ts";
import { readBody } from "../guard/read-body.ts";
import { HttpRefusal } from "../api/refuse-request.ts";

export interface JsonBodyOptions {
  readonly form: Form;
  readonly isRequired: boolean;
  /** Whether a field that the form does not have is refused. Default: false. */
  readonly isClosed?: boolean;
  /** Whether `text/plain` is accepted for JSON. Default: false. */
  readonly acceptsText?: boolean;
  readonly maxBytes: number;
  /** Time limit for receiving the body, and for waiting for the slot of a large one, in milliseconds. */
  readonly timeoutMs: number;
  readonly node: NodeBindings;
  /** For bodies that can be larger than `maxBytes`: their limit, and what to wait for first. Default: none can. */
  readonly large?: { readonly maxBytes: number; readonly enter: () => Promise<void> };
}

type JsonFields = { readonly [field: string]: unknown };

export async function readJsonBody(request: Request, options: JsonBodyOptions): Promise<JsonFields> {
  const { form, node, acceptsText = false } = options;
  assertMediaType(request.headers.get("content-type"), acceptsText);
  const given = findParsed(node) ?? { value: await readValue(request, options) };
  if (options.isClosed === true && isJsonObject(given.value)) assertKnownFields(form.fields, given.value);
  return checkJsonBody(form, given.value);
}

/** Validates a body that was read. Throws `invalid_request`. */
export function checkJsonBody(form: Form, body: unknown): JsonFields {
  if (!isJsonObject(body)) throw new LoomError("invalid_request", "The request body must be a JSON object");
  const fault = findFault(form.fields, body);
  if (fault !== undefined) throw new LoomError("invalid_request", fault.message, { path: fault.path, in: "body" });
  return dropNulls(form.fields, body);
}

/** Rejects other media types: HTML forms of other sites can send those without a CORS preflight, but not JSON. */
function assertMediaType(given: string | null, acceptsText: boolean): void {
  const mediaType = (given ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (mediaType === "" || mediaType === "application/json" || /^[\w.-]+\/[\w.+-]+\+json$/.test(mediaType)) return;
  if (acceptsText && mediaType === "text/plain") return;
  const error = new LoomError(
    "unsupported",
    `The request body must be application/json, not ${mediaType.slice(0, 80)}`,
  );
  throw new HttpRefusal(error, { status: 415, headers: { accept: "application/json" } });
}

/** The framework that mounts the handler may have parsed the body already. */
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
    throw new LoomError(
      "invalid_request",
      text === "" ? "The request body is missing" : "The request body is not valid JSON",
    );
  }
}

async function readText(request: Request, options: JsonBodyOptions): Promise<string> {
  const { maxBytes: usual, timeoutMs, large } = options;
  const maxBytes = Math.max(usual, large?.maxBytes ?? 0);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (request.body === null) return "";
  const limits = { maxBytes, tooLarge, idleMs: 0, totalMs: timeoutMs };
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of readBody(request.body, limits, request.signal)) {
    bytes += chunk.length;
    if (bytes > usual) await enterLarge(options);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new LoomError("invalid_request", "The request body is not valid UTF-8");
  }
}

async function enterLarge({ large, timeoutMs }: JsonBodyOptions): Promise<void> {
  const message = `No upload slot for the request body was free within ${timeoutMs} ms`;
  const late = (): LoomError => new LoomError("request_timeout", message, { limit: timeoutMs });
  await withTimeout({ timeoutMs, late }, () => large?.enter());
}

function tooLarge(maxBytes: number): LoomError {
  return new LoomError("body_too_large", `The request body can have at most ${maxBytes} bytes`, {
    max_bytes: maxBytes,
  });
}

function dropNulls(fields: FormFields, value: JsonFields): JsonFields {
  const entries = Object.entries(value).flatMap(([name, inner]) => {
    const field = fields.get(name);
    if (field === undefined) return [[name, inner] as const];
    if (inner === null && !field.required) return [];
    return [[name, dropInside(field.schema, inner)] as const];
  });
  return Object.fromEntries(entries);
}

function dropInside({ tag, fields, of }: FormSchema, value: unknown): unknown {
  if (tag === "&" && of !== undefined) return dropInside(of, value);
  if (tag === "{" && isJsonObject(value)) return dropNulls(fields, value);
  if (tag === "[" && of !== undefined && Array.isArray(value)) return value.map((item) => dropInside(of, item));
  return value;
}

/** Throws `unsupported`, with status 415, for a compressed body: the server does not decompress any. */
export function assertEncoding({ headers }: Request): void {
  const given = headers.get("content-encoding")?.trim() ?? "";
  if (given === "" || given.toLowerCase() === "identity") return;
  const message = `\`Content-Encoding: ${given.slice(0, 80)}\` is not supported; send the body uncompressed`;
  throw new HttpRefusal(new LoomError("unsupported", message, { header: "content-encoding" }), {
    status: 415,
    headers: { "accept-encoding": "identity" },
  });
}
