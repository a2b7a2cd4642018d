/**
 * Finds out why a request of a page failed. Browsers report a refused socket, a refused origin and an unreachable server
 * alike, so this asks the server's `auth` endpoint whether it allows the page's origin, and whether the client is signed
 * in. Never rejects.
 */
import { type JsonObject, parseObject } from "../../protocol/json.ts";
import type { Refusal } from "../transport.ts";
import { readText } from "./http-response.ts";
import { readRefusal, refuse } from "./refusal.ts";

export interface FailedRequest {
  /** What failed. */
  readonly message: string;
  /** Absolute or relative URL; the `auth` endpoint is next to its path: `/v1/auth` for `/v1/ws`. */
  readonly url: string;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly signal: AbortSignal;
  /** The client has a token or a ticket, so that a sign-in does not matter. */
  readonly hasCredentials: boolean;
}

const MAX_ANSWER_BYTES = 65_536;
const OTHER_ORIGIN =
  "; the server is not running, or does not allow pages of this origin: see its settings --origins and --dev-origins";

/**
 * Returns a refusal if the server rejects the page's origin, or requires authentication and the client is not signed in;
 * otherwise the message, for a page of another origin with the settings that may be the cause.
 */
export async function explainFailure(failed: FailedRequest): Promise<Refusal | string> {
  const isOther = isOtherOrigin(failed.url);
  return (await findAccessRefusal(failed, isOther)) ?? `${failed.message}${isOther ? OTHER_ORIGIN : ""}`;
}

async function findAccessRefusal(
  { url, fetch, signal, hasCredentials }: FailedRequest,
  isOther: boolean,
): Promise<Refusal | undefined> {
  const ask = async (method: "OPTIONS" | "GET"): Promise<{ readonly status: number; readonly body?: JsonObject }> => {
    const endpoint = new URL("auth", new URL(url, globalThis.location?.href));
    endpoint.protocol = endpoint.protocol.replace("ws", "http");
    const response = await fetch(new Request(endpoint, { method, cache: "no-store", signal }));
    const body = parseObject((await readText(response, MAX_ANSWER_BYTES, signal)) ?? "");
    return { status: response.status, ...(body === undefined ? {} : { body }) };
  };
  try {
    // Browsers send the origin with OPTIONS, as with a socket, but with GET only to other origins.
    const first = await ask(isOther ? "GET" : "OPTIONS");
    if (first.status === 403 && first.body?.["code"] === "forbidden")
      return readRefusal(first.body, "The server does not allow pages of this origin");
    if (hasCredentials) return undefined;
    const { body } = isOther ? first : await ask("GET");
    if (body?.["mode"] !== "required" || body["signed_in"] === true) return undefined;
    const shared = body["shared_session_ids"];
    if (Array.isArray(shared) && shared.length > 0) return undefined;
    const refusal = refuse("unauthorized", "The server requires a token, or that the user signs in");
    // A request to another origin has no cookie, unlike a socket: a socket that was open before may be opened again.
    return isOther ? { ...refusal, isForeign: true } : refusal;
  } catch {
    return undefined;
  }
}

/** Whether this page and the server have different origins. */
function isOtherOrigin(requestUrl: string): boolean {
  const { location } = globalThis;
  const url = location === undefined ? null : URL.parse(requestUrl, location.href);
  return url !== null && url.origin.replace(/^ws/, "http") !== location?.origin;
}
