/** Prometheus endpoint of the server. */
import { LoomError } from "../../protocol/index.ts";
import { defineOperation } from "../api/operation.ts";
import { createMetricsHandler } from "./metrics-handler.ts";

export const getMetrics = defineOperation({
  id: "getMetrics",
  method: "GET",
  path: "/metrics",
  tag: "server",
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
