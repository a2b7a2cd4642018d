/**
 * Starts the worker. The policy of the page lets no text become a script's address; this is the one place that makes
 * one, from the one address the build has put in.
 */
// oxlint-disable-next-line import/default -- the build makes it
import workerUrl from "./chart-worker.ts?worker&url";
import type { ChartWorker, ChartWorkerEvents } from "./chart-queue.ts";
import type { ChartAnswer } from "./chart-worker.ts";

/** Not yet in the library of types. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

/** A policy of one name is made once in the life of a page. */
let policy: ReturnType<TrustedTypes["createPolicy"]> | undefined;

export function createChartWorker({ onAnswer, onError }: ChartWorkerEvents): ChartWorker {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes };
  policy ??= trustedTypes?.createPolicy("loom-chart", { createScriptURL: checkUrl });
  const worker = new Worker(policy?.createScriptURL(workerUrl) ?? workerUrl, { type: "module", name: "charts" });
  worker.addEventListener("message", ({ data }: MessageEvent<ChartAnswer>) => onAnswer(data));
  worker.addEventListener("error", onError);
  return { send: (request) => worker.postMessage(request), end: () => worker.terminate() };
}

function checkUrl(url: string): string {
  if (url !== workerUrl) throw new TypeError("this is not a script of the page");
  return url;
}
