/**
 * Why a socket did not open: browsers do not tell a refusal from a server that is not there, so the server is asked
 * whether it knows who asks. Never rejects.
 */
import { isJsonObject } from "../../protocol/index.ts";
import type { Refusal } from "../transport.ts";
import { readText } from "./http-answer.ts";
import { parseJson, refuse } from "./refusal.ts";

const MAX_ANSWER_BYTES = 65_536;

/** A refusal where the server lets in only those it knows, and does not know who asks; else undefined. */
export async function askAccess(
  socketUrl: string,
  ask: (request: Request) => Promise<Response>,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  try {
    // Beside the socket: `/v1/auth` for `/v1/ws`.
    const door = new URL("auth", new URL(socketUrl, globalThis.location?.href));
    door.protocol = door.protocol.replace("ws", "http");
    const response = await ask(new Request(door, { cache: "no-store", signal }));
    const body = parseJson((await readText(response, MAX_ANSWER_BYTES, signal)) ?? "");
    if (!isJsonObject(body) || body["mode"] !== "required" || body["signed_in"] === true) return undefined;
    const shared = body["shared_session_ids"];
    if (Array.isArray(shared) && shared.length > 0) return undefined;
    return refuse("unauthorized", "nobody is signed in");
  } catch {
    return undefined;
  }
}
