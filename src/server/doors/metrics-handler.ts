/**
 * The page a scraper reads, as a function from Request to Response that any server can mount where it likes. It knows no
 * metric, and not who may read: whoever mounts it decides that.
 */
import type { PrometheusRegister } from "../../observe/index.ts";
import { shield } from "../../observe/shield.ts";

export interface MetricsHandlerOptions {
  /** Told of what went wrong when the text was made; the scraper is told nothing but that. */
  readonly onError?: (error: unknown) => void;
}

export function createMetricsHandler(
  register: PrometheusRegister,
  { onError }: MetricsHandlerOptions = {},
): (request: Request) => Promise<Response> {
  return async ({ method }) => {
    if (method !== "GET" && method !== "HEAD")
      return Response.json(
        { type: "refusal", code: "unsupported", message: "metrics are only read" },
        { status: 405, headers: { allow: "GET, HEAD" } },
      );
    try {
      const text = await register.metrics();
      return new Response(method === "HEAD" ? null : text, {
        headers: { "content-type": register.contentType, "cache-control": "no-store" },
      });
    } catch (error) {
      shield(
        () => onError?.(error),
        () => undefined,
      );
      return new Response("the metrics could not be written\n", { status: 500 });
    }
  };
}
