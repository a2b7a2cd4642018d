/**
 * Sends a request and follows redirects. Each URL is checked, and the request connects to the checked addresses.
 *
 * Invariant: the socket is closed when the call returns or throws.
 */
import type { IncomingMessage } from "node:http";
import { LoomError } from "../../protocol/index.ts";
import { withTimeout } from "../../protocol/with-timeout.ts";
import { checkUrl, type UrlRules } from "./check-url.ts";
import { openExchange, type OpenExchange } from "./open-exchange.ts";

export interface FetchRequest {
  readonly url: string;
  readonly method: string;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
}

export interface RedirectOptions {
  readonly headers: { readonly [name: string]: string };
  /** Code `url_refused`. */
  readonly maxRedirects: number;
  /** Time limit for everything, including DNS and reading the body, in milliseconds. Code `tool_timeout`. */
  readonly timeoutMs: number;
  /** What is fetched, for messages. */
  readonly noun: string;
  /** Replaces the HTTP client in tests. */
  readonly exchange?: OpenExchange | undefined;
}

/** The response that is not a redirect. */
export interface FinalResponse {
  readonly response: IncomingMessage;
  readonly status: number;
  readonly url: string;
  readonly method: string;
  readonly redirects: number;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Returns what `read` returns. */
export async function followRedirects<T>(
  first: FetchRequest,
  rules: UrlRules,
  { headers, maxRedirects, timeoutMs, noun, exchange = openExchange }: RedirectOptions,
  outer: AbortSignal,
  read: (final: FinalResponse, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = (): Error => new LoomError("tool_timeout", `The request timed out after ${timeoutMs} ms`);
  return withTimeout({ timeoutMs, late, signal: outer }, async (signal) => {
    let request = first;
    for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
      const checked = await checkUrl(request.url, rules, signal);
      const { method, body, contentType } = request;
      const response = await exchange(checked, { method, headers, body, contentType }, signal);
      try {
        const status = response.statusCode ?? 0;
        const { location } = response.headers;
        if (!REDIRECTS.has(status) || location === undefined)
          return await read({ response, status, url: checked.url.href, method, redirects }, signal);
        request = redirect(request, status, location, checked.url);
      } finally {
        response.destroy();
      }
    }
    throw new LoomError("url_refused", `The ${noun} redirects more than ${maxRedirects} times`);
  });
}

/** Changes a request as browsers do: the body is only sent again for status 307 and 308. */
function redirect(request: FetchRequest, status: number, location: string, base: URL): FetchRequest {
  const url = URL.parse(location, base.href);
  if (url === null) throw new LoomError("url_refused", "The server redirects to an invalid URL");
  const isSafe = request.method === "GET" || request.method === "HEAD";
  if (isSafe) return { ...request, url: url.href };
  if (status !== 307 && status !== 308) return { url: url.href, method: "GET" };
  // The user approved the request only for this host.
  if (url.host !== base.host || (base.protocol === "https:" && url.protocol !== "https:"))
    throw new LoomError(
      "url_refused",
      `${base.host} redirects the ${request.method} request to ${url.host.slice(0, 200)}; it was not sent there`,
    );
  return { ...request, url: url.href };
}
