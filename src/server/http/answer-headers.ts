/** What every answer bears, whichever door it comes from. A door that says otherwise is heard. */
import { randomUUID } from "node:crypto";
import type { NodeBindings } from "../api/operation.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";

export type AnswerHeaders = { readonly [name: string]: string };

export interface AnswerHeadersOptions {
  readonly requestId: string;
  /** The other site that may read the answer. */
  readonly origin: string | undefined;
  /** There are such sites, so answers are not alike for all. */
  readonly variesByOrigin: boolean;
  /** Whoever asks came over https, and had better never come otherwise. */
  readonly isSecure?: boolean;
}

export function createAnswerHeaders(options: AnswerHeadersOptions): AnswerHeaders {
  const { requestId, origin, variesByOrigin, isSecure = false } = options;
  return {
    ...SECURITY_HEADERS,
    // Answers depend on who asks, unless a door knows better.
    "cache-control": "no-store",
    "x-request-id": requestId,
    ...(isSecure ? { "strict-transport-security": "max-age=31536000" } : {}),
    ...(variesByOrigin ? { vary: "origin" } : {}),
    ...(origin === undefined
      ? {}
      : {
          "access-control-allow-origin": origin,
          "access-control-expose-headers": "loom-cursor, loom-run, loom-session, location, x-request-id, retry-after",
        }),
  };
}

/** Before the door: a stream goes straight to the connection, and what is not there by then never comes. */
export function setOnNode({ outgoing }: NodeBindings, headers: AnswerHeaders): void {
  if (outgoing === undefined || outgoing.headersSent) return;
  for (const [name, value] of Object.entries(headers)) {
    const earlier = name === "vary" ? outgoing.getHeader(name) : undefined;
    outgoing.setHeader(name, earlier === undefined ? value : joinVary(String(earlier), value));
  }
}

export function setOnResponse(response: Response, headers: AnswerHeaders, { outgoing }: NodeBindings): Response {
  const given = isMutable(response) ? response : new Response(response.body, response);
  for (const [name, value] of Object.entries(headers)) {
    if (name === "vary") {
      const earlier = [outgoing?.getHeader(name), given.headers.get(name)].filter((each) => each != null);
      given.headers.set(
        name,
        earlier.reduce<string>((all, each) => joinVary(all, String(each)), value),
      );
    } else if (!given.headers.has(name)) given.headers.set(name, value);
  }
  return given;
}

/** What a preflight asks for. */
export function describePreflight(methods: string): AnswerHeaders {
  return {
    "access-control-allow-methods": methods,
    "access-control-allow-headers": "authorization, content-type, idempotency-key, last-event-id, x-request-id",
    "access-control-max-age": "600",
  };
}

/** The caller's own, if it is short and plain: it stands in headers and logs. */
export function readRequestId(given: string | null): string {
  return given !== null && /^[\w.:-]{1,64}$/.test(given) ? given : randomUUID();
}

function joinVary(first: string, second: string): string {
  const names = `${first}, ${second}`.split(",").map((name) => name.trim().toLowerCase());
  return [...new Set(names.filter((name) => name !== ""))].join(", ");
}

/** Those of an answer that was fetched cannot be changed. */
function isMutable({ headers }: Response): boolean {
  try {
    headers.delete("x-loom-probe");
    return true;
  } catch {
    return false;
  }
}
