/** What a scraper reads. */
import { LoomError } from "../../protocol/index.ts";
import { defineOperation } from "../api/operation.ts";
import { createMetricsHandler } from "./metrics-handler.ts";

export const getMetrics = defineOperation({
  id: "getMetrics",
  method: "GET",
  path: "/metrics",
  tag: "server",
  summary: "Metrics for Prometheus",
  action: "metrics.read",
  answers: {
    200: { about: "In the text format of Prometheus", mediaTypes: ["text/plain"] },
    404: { about: "This server keeps no metrics", shape: "Problem" },
  },
  handle: ({ register, report }, { request }) => {
    if (register === undefined) throw new LoomError("not_found", "this server keeps no metrics");
    return createMetricsHandler(register, { onError: report })(request);
  },
});
