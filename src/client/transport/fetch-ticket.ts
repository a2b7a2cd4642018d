/**
 * Fetches a single-use ticket for a socket. Browser sockets cannot send an Authorization header, and a token in the URL
 * may be logged; a ticket is valid once and expires quickly. Never rejects.
 */
import { parseObject } from "../../protocol/json.ts";
import type { Refusal } from "../transport.ts";
import { explainFailure } from "./find-access-refusal.ts";
import { isTemporaryStatus, readText } from "./http-response.ts";
import { readRefusal } from "./refusal.ts";
import { type ClientToken, createAuthorization } from "./client-token.ts";

export interface TicketOptions {
  readonly token: ClientToken;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly signal: AbortSignal;
}

const MAX_ANSWER_BYTES = 65_536;

/** Returns the socket URL with a ticket, a permanent refusal, or why no ticket could be fetched. */
export async function fetchTicket(
  socketUrl: string,
  { token, fetch, signal }: TicketOptions,
): Promise<{ readonly url: string } | Refusal | { readonly kind: "lost"; readonly message: string }> {
  let isSent = false;
  try {
    // A sibling of the socket's path: `/v1/auth/tickets` for `/v1/ws`.
    const url = new URL(socketUrl, globalThis.location?.href);
    const endpoint = new URL("auth/tickets", url);
    endpoint.protocol = url.protocol.replace("ws", "http");
    endpoint.search = "";
    const authorization = await createAuthorization(token);
    if (typeof authorization !== "string") return authorization;
    const headers = { authorization, "content-type": "application/json" };
    // A redirect could send the token to another server.
    const init: RequestInit = { method: "POST", body: "{}", headers, redirect: "error", cache: "no-store", signal };
    const request = new Request(endpoint, init);
    isSent = true;
    const response = await fetch(request);
    const what = `The server responded with ${response.status} to the ticket request`;
    const text = await readText(response, MAX_ANSWER_BYTES, signal);
    const body = parseObject(text ?? "");
    const ticket = body?.["ticket"];
    if (response.ok && typeof ticket === "string") {
      url.searchParams.set("ticket", ticket);
      return { url: url.href };
    }
    if (response.ok || isTemporaryStatus(response.status) || text === undefined) return { kind: "lost", message: what };
    const refusal = readRefusal(body, what);
    // Authentication is off on this server.
    return refusal.code === "unsupported" ? { url: url.href } : refusal;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!isSent || signal.aborted || globalThis.location === undefined) return { kind: "lost", message };
    const why = await explainFailure({ message, url: socketUrl, fetch, signal, hasCredentials: true });
    return typeof why === "string" ? { kind: "lost", message: why } : why;
  }
}
