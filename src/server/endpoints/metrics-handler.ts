/**
 * The page a scraper reads, as a function from Request to Response that any server can mount where it likes. It knows no
 * metric, and not who may read: whoever mounts it decides that.
 */
import { randomUUID } from "node:crypto";
import type { PrometheusRegister } from "../../observe/index.ts";
import { shield } from "../../observe/shield.ts";
import { LoomError } from "../../protocol/index.ts";
import { refuseRequest } from "../http/refuse-request.ts";

export interface MetricsHandlerOptions {
  /** Told of what went wrong when the text was made; the scraper is told nothing but that. */
  readonly onError?: (error: unknown) => unknown;
}

export function createMetricsHandler(
  register: PrometheusRegister,
  { onError }: MetricsHandlerOptions = {},
): (request: Request) => Promise<Response> {
  /** An id that was given it is the one to tell. */
  const report = (error: unknown): string => {
    let id: unknown;
    shield(
      () => (id = onError?.(error)),
      () => undefined,
    );
    return typeof id === "string" ? id : randomUUID();
  };
  return async ({ method }) => {
    if (method !== "GET" && method !== "HEAD") {
      const error = new LoomError("unsupported", "metrics are only read");
      return refuseRequest({ report }, error, undefined, { status: 405, headers: { allow: "GET, HEAD" } });
    }
    try {
      const text = await register.metrics();
      return new Response(method === "HEAD" ? null : text, {
        headers: { "content-type": register.contentType, "cache-control": "no-store" },
      });
    } catch (error) {
      return refuseRequest({ report }, error);
    }
  };
}
