/**
 * Finds out why a socket did not open. Browsers report a refused socket and an unreachable server alike, so this asks
 * the server's `auth` endpoint whether it allows the page's origin, and whether the client is signed in. Never rejects.
 */
import { parseObject } from "../../protocol/json.ts";
import type { Refusal } from "../transport.ts";
import { readText } from "./http-response.ts";
import { readRefusal, refuse } from "./refusal.ts";

const MAX_ANSWER_BYTES = 65_536;

/**
 * Returns a refusal if the server rejects the page's origin, or requires authentication and the client is not signed in;
 * otherwise undefined.
 */
export async function findAccessRefusal(
  socketUrl: string,
  ask: (request: Request) => Promise<Response>,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  try {
    // A sibling of the socket's path: `/v1/auth` for `/v1/ws`.
    const endpoint = new URL("auth", new URL(socketUrl, globalThis.location?.href));
    endpoint.protocol = endpoint.protocol.replace("ws", "http");
    // Browsers send the origin with this method, as with a socket, but not with GET.
    const options = await ask(new Request(endpoint, { method: "OPTIONS", cache: "no-store", signal }));
    const problem = parseObject((await readText(options, MAX_ANSWER_BYTES, signal)) ?? "");
    if (options.status === 403 && problem?.["code"] === "forbidden")
      return readRefusal(problem, "The server does not allow pages of this origin");
    const response = await ask(new Request(endpoint, { cache: "no-store", signal }));
    const body = parseObject((await readText(response, MAX_ANSWER_BYTES, signal)) ?? "");
    if (body?.["mode"] !== "required" || body["signed_in"] === true) return undefined;
    const shared = body["shared_session_ids"];
    if (Array.isArray(shared) && shared.length > 0) return undefined;
    return refuse("unauthorized", "Not signed in");
  } catch {
    return undefined;
  }
}
