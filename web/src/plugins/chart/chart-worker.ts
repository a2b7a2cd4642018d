/** Web worker that computes charts one after the other. The page may terminate it at any time. */
import * as vega from "vega";
import type { JsonObject } from "loom-agent/protocol";
import type { ChartStyle } from "./chart-style.ts";
import { type ChartOutcome, computeChart } from "./compute-chart.ts";

export interface ChartRequest {
  readonly specification: JsonObject;
  readonly style: ChartStyle;
}

/** The worker sends `ready` once, then one result per request. */
export type ChartWorkerMessage = "ready" | ChartOutcome;

/** The part of the worker's global scope that is used. */
interface WorkerScope {
  postMessage(answer: ChartWorkerMessage): void;
  addEventListener(type: "message", listener: (event: MessageEvent<ChartRequest>) => void): void;
}

interface TextItem {
  readonly fontStyle?: string;
  readonly fontWeight?: string | number;
  readonly fontSize?: number;
  readonly font?: string;
  /** Longer texts are cut. */
  readonly limit?: number;
}

/** Exported by the library, but missing in its types. */
const { textMetrics } = vega as unknown as {
  readonly textMetrics: { width(item: TextItem, text: string | number | null): number };
};

/** A worker has no document to measure text in. It uses an OffscreenCanvas. */
function measureTexts(): void {
  if (typeof OffscreenCanvas === "undefined") return;
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  if (context === null) return;
  textMetrics.width = ({ fontStyle = "", fontWeight = "", fontSize = 11, font = "sans-serif", limit }, text) => {
    context.font = `${fontStyle} ${fontWeight} ${fontSize}px ${font}`;
    const { width } = context.measureText(String(text ?? ""));
    return limit !== undefined && limit > 0 ? Math.min(width, limit) : width;
  };
}

measureTexts();
const scope = globalThis as unknown as WorkerScope;
scope.addEventListener("message", ({ data }) => {
  void computeChart(data.specification, data.style).then((outcome) => scope.postMessage(outcome));
});
scope.postMessage("ready");
