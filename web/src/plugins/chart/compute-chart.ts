/**
 * Computes a chart: from a Vega-Lite specification to SVG elements. It runs in a worker, without a document and without
 * network access. Expressions are interpreted, never compiled to code.
 */
import { type Loader, parse, View } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile, type TopLevelSpec } from "vega-lite";
import type { JsonObject } from "loom-agent/protocol";
import { type ChartStyle, toVegaConfig } from "./chart-style.ts";
import { hardenSpecification, type OmittedPart } from "./harden-specification.ts";
import { labelPie } from "./label-pie.ts";
import { measureCategories, rotateLabels } from "./rotate-labels.ts";
import { readSvg, type SvgElement } from "./read-svg.ts";

/**
 * `too_large`: the specification is too large; `too_many`: too many elements to draw; `no_data`: its data is external;
 * `invalid`: not a valid specification, `message` says why.
 */
export type ChartFailure = "too_large" | "too_many" | "no_data" | "invalid";

export type ChartOutcome =
  | {
      readonly drawing: SvgElement;
      readonly omitted: readonly OmittedPart[];
      /** The drawing is wider than the page and is not scaled down. */
      readonly isWide: boolean;
    }
  | { readonly failure: ChartFailure; readonly message?: string };

const MAX_ELEMENTS = 12_000;
const MAX_MESSAGE = 300;
const HEIGHT = 280;
const MIN_WIDTH = 200;
const MAX_WIDTH = 3600;
/** On both sides, as in `toVegaConfig`. */
const PADDING = 8;

/** Refuses every load. */
const LOADER: Loader = {
  load: () => Promise.reject(new Error("Loading is disabled")),
  sanitize: () => Promise.reject(new Error("Loading is disabled")),
  http: () => Promise.reject(new Error("Loading is disabled")),
  file: () => Promise.reject(new Error("Loading is disabled")),
};

/** Charts with more than `maxElements` are not drawn: they would be unreadable and slow. */
export async function computeChart(
  given: JsonObject,
  style: ChartStyle,
  maxElements = MAX_ELEMENTS,
): Promise<ChartOutcome> {
  const hard = hardenSpecification(given);
  if (hard === undefined) return { failure: "too_large" };
  // Without its data, the chart would be empty.
  if (hard.omitted.length > 0 && !hard.hasRows) return { failure: "no_data" };
  try {
    const fitted = fitSpecification(hard.specification, style);
    const text = await renderSvg(fitted, style);
    const drawing = readSvg(text, maxElements);
    if (drawing === undefined) return { failure: "too_many" };
    const isWide = fitted !== hard.specification && Number(fitted["width"]) > Math.max(MIN_WIDTH, style.width);
    return { drawing, omitted: hard.omitted, isWide };
  } catch (error) {
    // Plain errors come from validation and explain the problem. Others, such as TypeError, would not help.
    const hasMessage = error instanceof Error && error.name === "Error";
    return { failure: "invalid", ...(hasMessage ? { message: error.message.slice(0, MAX_MESSAGE) } : {}) };
  }
}

async function renderSvg(specification: JsonObject, style: ChartStyle): Promise<string> {
  const { spec } = compile(specification as unknown as TopLevelSpec, { config: toVegaConfig(style), logger: SILENT });
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

/** A single view fills the width. Facets and concatenations keep their widths and are scaled as a whole. */
function fitSpecification(specification: JsonObject, { width }: ChartStyle): JsonObject {
  const encoding = specification["encoding"] as JsonObject | undefined;
  const isOne = specification["mark"] !== undefined || specification["layer"] !== undefined;
  if (!isOne || ["row", "column", "facet"].some((channel) => encoding?.[channel] !== undefined)) return specification;
  const height = specification["height"] ?? HEIGHT;
  const type = typeof height === "number" ? "fit" : "fit-x";
  const fitted = Math.max(MIN_WIDTH, width);
  const labelled = typeof height === "number" ? labelPie(specification, fitted - PADDING, height) : specification;
  if (labelled["layer"] !== specification["layer"]) return labelled;
  // A long axis of categories is wider than the page and scrolls.
  const wide = Math.max(fitted, Math.min(MAX_WIDTH, measureCategories(specification)));
  return { ...rotateLabels(labelled, wide), width: wide, height, autosize: { type, contains: "padding" } };
}

const SILENT = {
  level: () => SILENT,
  error: () => SILENT,
  warn: () => SILENT,
  info: () => SILENT,
  debug: () => SILENT,
};
