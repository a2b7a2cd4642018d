/** Runs beside the page: computes one chart after the other, as asked. Whoever asked may end it at any time. */
import * as vega from "vega";
import type { JsonObject } from "loom-agent/protocol";
import type { ChartLook } from "./chart-look.ts";
import { type ChartOutcome, computeChart } from "./compute-chart.ts";

export interface ChartRequest {
  readonly specification: JsonObject;
  readonly look: ChartLook;
}

/** The worker says `ready` once, then answers each request in turn. */
export type ChartAnswer = "ready" | ChartOutcome;

/** The part of a worker's global scope that is used. */
interface Scope {
  postMessage(answer: ChartAnswer): void;
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

/** The library has it; its types do not. */
const { textMetrics } = vega as unknown as {
  readonly textMetrics: { width(item: TextItem, text: string | number | null): number };
};

/** Beside the page there is no document to measure texts in, but a canvas of one's own. */
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
const scope = globalThis as unknown as Scope;
scope.addEventListener("message", ({ data }) => {
  void computeChart(data.specification, data.look).then((outcome) => scope.postMessage(outcome));
});
scope.postMessage("ready");
