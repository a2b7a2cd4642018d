/**
 * One HTTP exchange with a host that was judged: the connection goes to the addresses it was judged by, is kept for
 * nobody else, and no proxy of the environment comes between. It knows no redirect and reads no body.
 */
import { Buffer } from "node:buffer";
import { request as requestHttp, type IncomingMessage, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { LoomError } from "../../protocol/index.ts";
import type { JudgedUrl } from "./judge-url.ts";

export interface ExchangeRequest {
  readonly method: string;
  readonly headers: { readonly [name: string]: string };
  readonly body?: string | undefined;
  /** Of the body. */
  readonly contentType?: string | undefined;
}

/** Whoever is given the answer destroys it. */
export type OpenExchange = (
  judged: JudgedUrl,
  request: ExchangeRequest,
  signal: AbortSignal,
) => Promise<IncomingMessage>;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function isRedirect(status: number): boolean {
  return REDIRECTS.has(status);
}

/** Throws `tool_failed`, or the signal's reason. */
export const openExchange: OpenExchange = async ({ url, addresses }, asked, signal) => {
  const { method, headers, body, contentType = "text/plain; charset=utf-8" } = asked;
  // Whatever the name means by now, these are the addresses it was judged by.
  const lookup: LookupFunction = (_host, options, callback) => {
    const [one] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else if (one !== undefined) callback(null, one.address, one.family);
  };
  const sent = body === undefined ? {} : { "content-length": Buffer.byteLength(body), "content-type": contentType };
  // A connection of its own: none is kept.
  const options: RequestOptions = { method, lookup, signal, agent: false, headers: { ...headers, ...sent } };
  return new Promise((resolve, reject) => {
    const request = url.protocol === "https:" ? requestHttps(url, options) : requestHttp(url, options);
    request.once("response", resolve);
    // A server that changes to another protocol gives no answer and no error.
    request.once("upgrade", (_response, socket) => socket.destroy());
    request.once("close", () => reject(explain(new Error("closed"), url)));
    // Stays on: a request that fails after its answer came must not end the process.
    request.on("error", (error) => reject(signal.aborted ? (signal.reason as Error) : explain(error, url)));
    request.end(body);
  });
};

function explain(error: Error, url: URL): LoomError {
  const code: unknown = "code" in error ? error.code : undefined;
  const why = typeof code === "string" ? ` (${code})` : "";
  return new LoomError("tool_failed", `${url.host} did not answer${why}.`, {}, { cause: error });
}
