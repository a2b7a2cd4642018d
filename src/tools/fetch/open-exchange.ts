/**
 * Sends one HTTP request to a checked URL. It connects only to the addresses from the check, uses a new connection, and
 * ignores proxy settings of the environment. It does not follow redirects or read the body.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage, RequestOptions } from "node:http";
import type { LookupFunction } from "node:net";
import { LoomError } from "../../protocol/index.ts";
import type { CheckedUrl } from "./check-url.ts";

export interface ExchangeRequest {
  readonly method: string;
  readonly headers: { readonly [name: string]: string };
  readonly body?: string | undefined;
  /** Media type of the body. */
  readonly contentType?: string | undefined;
}

/** Sends a request. The caller must destroy the response. */
export type OpenExchange = (
  checked: CheckedUrl,
  request: ExchangeRequest,
  signal: AbortSignal,
) => Promise<IncomingMessage>;

/** Sends a request over HTTP or HTTPS. Throws `tool_failed`, or the reason of the signal. */
export const openExchange: OpenExchange = async ({ url, addresses }, outgoing, signal) => {
  const { method, headers, body, contentType = "text/plain; charset=utf-8" } = outgoing;
  // Uses the addresses from the check instead of a new DNS lookup.
  const lookup: LookupFunction = (_host, options, callback) => {
    const [one] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else if (one !== undefined) callback(null, one.address, one.family);
  };
  const sent = body === undefined ? {} : { "content-length": Buffer.byteLength(body), "content-type": contentType };
  // Connections are not reused.
  const options: RequestOptions = { method, lookup, signal, agent: false, headers: { ...headers, ...sent } };
  // Loaded with the first request: these modules take a third of the time that it takes to import the package.
  const client = url.protocol === "https:" ? await import("node:https") : await import("node:http");
  return new Promise((resolve, reject) => {
    const request = client.request(url, options);
    request.once("response", resolve);
    // A server that switches protocols sends neither a response nor an error.
    request.once("upgrade", (_response, socket) => socket.destroy());
    request.once("close", () => reject(explain(new Error("closed"), url)));
    // Stays registered, because an error after the response must not crash the process.
    request.on("error", (error) => reject(signal.aborted ? (signal.reason as Error) : explain(error, url)));
    request.end(body);
  });
};

function explain(error: Error, url: URL): LoomError {
  const code: unknown = "code" in error ? error.code : undefined;
  const why = typeof code === "string" ? ` (${code})` : "";
  return new LoomError("tool_failed", `${url.host} did not respond${why}`, {}, { cause: error });
}
