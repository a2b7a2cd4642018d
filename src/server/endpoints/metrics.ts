/**
 * The metrics endpoint of the server, and the same as a function from Request to Response that any server can mount. The
 * function does not check permissions; the server that mounts it does.
 */
import { randomUUID } from "node:crypto";
import type { PrometheusRegister } from "../../observe/metrics/prometheus-metrics.ts";
import { shield } from "../../observe/shield.ts";
import { LoomError } from "../../protocol/index.ts";
import { defineOperation } from "../api/operation.ts";
import { refuseRequest } from "../api/refuse-request.ts";

export const getMetrics = defineOperation({
  id: "getMetrics",
  method: "GET",
  path: "/metrics",
  summary: "Get metrics for Prometheus",
  action: "metrics.read",
  responses: {
    200: { description: "Metrics in the Prometheus text format", mediaTypes: ["text/plain"] },
    404: { description: "Metrics are off", shape: "Problem" },
  },
  handle: ({ register, report }, { request }) => {
    if (register === undefined) throw new LoomError("not_found", "Metrics are off on this server");
    return createMetricsHandler(register, { onError: report })(request);
  },
});

/** Options of `createMetricsHandler`. */
export interface MetricsHandlerOptions {
  /**
   * Receives errors of the register. A string it returns is sent to the client as the error ID; nothing else of the
   * error is.
   */
  readonly onError?: (error: unknown) => unknown;
}

/**
 * Creates a handler that serves the metrics of a Prometheus register. Methods other than GET and HEAD get 405.
 *
 * ```ts
 * const { register } = await createPrometheusObserver();
 * const handler = createMetricsHandler(register);
 * ```
 */
export function createMetricsHandler(
  register: PrometheusRegister,
  { onError }: MetricsHandlerOptions = {},
): (request: Request) => Promise<Response> {
  /** Reports an error and returns its ID. */
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
      const error = new LoomError("unsupported", "Metrics support only GET and HEAD");
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
