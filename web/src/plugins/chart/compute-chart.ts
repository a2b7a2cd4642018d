/**
 * Computes a chart: from a Vega-Lite specification to the shapes and texts that are drawn. It runs beside the page, where
 * it can be stopped; it sees no document and asks for nothing. Expressions in a specification are interpreted, never
 * made into code.
 */
import { type Loader, parse, View } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile, type TopLevelSpec } from "vega-lite";
import type { JsonObject } from "loom-agent/protocol";
import { type ChartLook, toVegaConfig } from "./chart-look.ts";
import { hardenSpecification, type LeftOut } from "./harden-specification.ts";
import { leanLabels } from "./lean-labels.ts";
import { readSvg, type SvgElement } from "./read-svg.ts";

/**
 * `too_large`: the specification; `too_many`: what it would draw; `no_data`: its rows are elsewhere; `invalid`: it is
 * none, and `message` says why.
 */
export type ChartFailure = "too_large" | "too_many" | "no_data" | "invalid";

export type ChartOutcome =
  | { readonly drawing: SvgElement; readonly leftOut: readonly LeftOut[] }
  | { readonly failure: ChartFailure; readonly message?: string };

const MAX_ELEMENTS = 12_000;
const MAX_MESSAGE = 300;
const HEIGHT = 280;
const MIN_WIDTH = 200;

/** Whatever is asked for, nothing is fetched. */
const LOADER: Loader = {
  load: () => Promise.reject(new Error("nothing is fetched")),
  sanitize: () => Promise.reject(new Error("nothing is fetched")),
  http: () => Promise.reject(new Error("nothing is fetched")),
  file: () => Promise.reject(new Error("nothing is fetched")),
};

/** Of more than `maxElements` nothing is drawn: nobody could tell them apart, and the page would be slow. */
export async function computeChart(
  given: JsonObject,
  look: ChartLook,
  maxElements = MAX_ELEMENTS,
): Promise<ChartOutcome> {
  const hard = hardenSpecification(given);
  if (hard === undefined) return { failure: "too_large" };
  // A chart without its rows is a frame around nothing.
  if (hard.leftOut.length > 0 && !hard.hasRows) return { failure: "no_data" };
  try {
    const text = await renderSvg(fitSpecification(hard.specification, look), look);
    const drawing = readSvg(text, maxElements);
    if (drawing === undefined) return { failure: "too_many" };
    return { drawing, leftOut: hard.leftOut };
  } catch (error) {
    // The library says what is wrong where it looked; elsewhere it stumbles, which tells nobody anything.
    const isTold = error instanceof Error && error.name === "Error";
    return { failure: "invalid", ...(isTold ? { message: error.message.slice(0, MAX_MESSAGE) } : {}) };
  }
}

async function renderSvg(specification: JsonObject, look: ChartLook): Promise<string> {
  const { spec } = compile(specification as unknown as TopLevelSpec, { config: toVegaConfig(look), logger: SILENT });
  const view = new View(parse(spec, undefined, { ast: true }), {
    expr: expressionInterpreter,
    loader: LOADER,
    logger: SILENT,
    renderer: "none",
  });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}

/** One view takes the width there is; several beside each other have widths of their own, and are scaled as a whole. */
function fitSpecification(specification: JsonObject, { width }: ChartLook): JsonObject {
  const encoding = specification["encoding"] as JsonObject | undefined;
  const isOne = specification["mark"] !== undefined || specification["layer"] !== undefined;
  if (!isOne || ["row", "column", "facet"].some((channel) => encoding?.[channel] !== undefined)) return specification;
  const height = specification["height"] ?? HEIGHT;
  const type = typeof height === "number" ? "fit" : "fit-x";
  const wide = Math.max(MIN_WIDTH, width);
  return { ...leanLabels(specification, wide), width: wide, height, autosize: { type, contains: "padding" } };
}

const SILENT = {
  level: () => SILENT,
  error: () => SILENT,
  warn: () => SILENT,
  info: () => SILENT,
  debug: () => SILENT,
};
