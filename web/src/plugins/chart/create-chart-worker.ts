/**
 * Starts the chart worker. The page's Trusted Types policy forbids script URLs from strings; this module creates the
 * only one, from the URL that the build inserts.
 */
// oxlint-disable-next-line import/default -- resolved by Vite
import workerUrl from "./chart-worker.ts?worker&url";
import type { Renderer, RendererEvents } from "../drawing-queue.ts";
import type { ChartRequest, ChartWorkerMessage } from "./chart-worker.ts";
import type { ChartOutcome } from "./compute-chart.ts";

/** Missing in TypeScript's DOM types. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

/** A policy name can be created once per page. */
let policy: ReturnType<TrustedTypes["createPolicy"]> | undefined;

export function createChartWorker({ onMessage, onError }: RendererEvents<ChartOutcome>): Renderer<ChartRequest> {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes };
  policy ??= trustedTypes?.createPolicy("loom-chart", { createScriptURL: checkUrl });
  const worker = new Worker(policy?.createScriptURL(workerUrl) ?? workerUrl, { type: "module", name: "charts" });
  worker.addEventListener("message", ({ data }: MessageEvent<ChartWorkerMessage>) => onMessage(data));
  worker.addEventListener("error", onError);
  return { send: (request) => worker.postMessage(request), end: () => worker.terminate() };
}

function checkUrl(url: string): string {
  if (url !== workerUrl) throw new TypeError("Not a script of the page.");
  return url;
}
