/**
 * One question to the server: JSON in, JSON out. Addresses are relative to the page, which may be mounted anywhere.
 *
 * Invariant: what is thrown is an `ApiError`, and nothing is waited for without an end.
 */
import { ApiError, readApiError } from "./api-error.ts";

export interface Question {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly query?: { readonly [name: string]: string | number | undefined };
  readonly body?: unknown;
  /** Asked again with the same key it is the same request. */
  readonly key?: string;
  readonly signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 30_000;

export async function ask<T>(path: string, question: Question = {}): Promise<T> {
  const text = await send(path, { ...question, timeoutMs: TIMEOUT_MS }, (response) => response.text());
  if (text === "") return undefined as T;
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new ApiError("bad_answer", "the answer is no JSON", { cause: error });
  }
}

/** For what comes bit by bit: it may take as long as it likes. */
export function open(path: string, { accept, ...question }: Question & { accept: string }): Promise<Response> {
  return send(path, { ...question, accept }, (response) => Promise.resolve(response));
}

interface Sent extends Question {
  readonly accept?: string;
  readonly timeoutMs?: number;
}

async function send<R>(path: string, asked: Sent, read: (response: Response) => Promise<R>): Promise<R> {
  const { method = "GET", query = {}, body, key, signal, accept = "application/json", timeoutMs } = asked;
  const signals = [signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)];
  try {
    const response = await fetch(formatAddress(path, query), {
      method,
      headers: {
        accept,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any(signals.filter((one) => one !== undefined)),
    });
    if (!response.ok) throw readApiError(response.status, await response.text());
    return await read(response);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (signal?.aborted === true) throw new ApiError("aborted", "it is no longer wanted", { cause: error });
    throw new ApiError("connection_lost", "the server does not answer", { cause: error });
  }
}

/** `./v1/…`: below the page, wherever that is. */
export function formatAddress(path: string, query: NonNullable<Question["query"]> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `.${path}${search === "" ? "" : `?${search}`}`;
}
