/**
 * A ticket for one socket: sockets of browsers take no header, so who a client is must stand in the address, where it may
 * be logged. What stands there is good once, and for moments. Never rejects.
 */
import { isJsonObject } from "../../protocol/index.ts";
import type { Refusal } from "../transport.ts";
import { isPassing, readText } from "./http-answer.ts";
import { parseJson, readRefusal } from "./refusal.ts";
import { type Token, writeBearer } from "./token.ts";

export interface TicketOptions {
  readonly token: Token;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly signal: AbortSignal;
}

const MAX_ANSWER_BYTES = 65_536;

/** The socket's address with a ticket in it; a refusal that is meant for good; or why there is no answer. */
export async function fetchTicket(
  socketUrl: string,
  { token, fetch, signal }: TicketOptions,
): Promise<{ readonly url: string } | Refusal | { readonly kind: "lost"; readonly message: string }> {
  try {
    // Beside the socket: `/v1/auth/tickets` for `/v1/ws`.
    const url = new URL(socketUrl, globalThis.location?.href);
    const door = new URL("auth/tickets", url);
    door.protocol = url.protocol.replace("ws", "http");
    door.search = "";
    const authorization = await writeBearer(token);
    if (typeof authorization !== "string") return authorization;
    const headers = { authorization, "content-type": "application/json" };
    // Whoever sends us on may not be who the token is for.
    const init: RequestInit = { method: "POST", body: "{}", headers, redirect: "error", cache: "no-store", signal };
    const response = await fetch(new Request(door, init));
    const what = `the server answered ${response.status} when it was asked for a ticket`;
    const text = await readText(response, MAX_ANSWER_BYTES, signal);
    const body = text === undefined ? undefined : parseJson(text);
    const ticket = isJsonObject(body) ? body["ticket"] : undefined;
    if (response.ok && typeof ticket === "string") {
      url.searchParams.set("ticket", ticket);
      return { url: url.href };
    }
    if (response.ok || isPassing(response.status) || text === undefined) return { kind: "lost", message: what };
    const refusal = readRefusal(body, what);
    // Nobody is asked who they are there.
    return refusal.code === "unsupported" ? { url: url.href } : refusal;
  } catch (error) {
    return { kind: "lost", message: error instanceof Error ? error.message : String(error) };
  }
}
