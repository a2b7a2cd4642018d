/**
 * Messages between the page and the frame that draws diagrams. Both sides check what they receive: its form, and the
 * limits below.
 */

/** Colors and font of the page. */
export interface DiagramStyle {
  readonly isDark: boolean;
  readonly font: string;
  readonly ink: string;
  readonly soft: string;
  readonly line: string;
  readonly strong: string;
  readonly paper: string;
  readonly wash: string;
  readonly series: readonly string[];
}

export interface DiagramRequest {
  readonly source: string;
  readonly style: DiagramStyle;
}

export interface DiagramDrawing {
  /** A complete SVG document. It is shown only as an image. */
  readonly svg: string;
  readonly width: number;
  readonly height: number;
  /** Title and description that the source gives, or the kind of diagram; may be empty. */
  readonly name: string;
}

/** `invalid`: the source has an error, `message` says which; `too_large`: the drawing exceeds the limits. */
export type DiagramOutcome =
  | DiagramDrawing
  | { readonly failure: "invalid"; readonly message: string }
  | { readonly failure: "too_large" };

/** A request or outcome, with the number of the request. */
export type WithNumber<Message> = Message & { readonly number: number };

/** Longer sources are not drawn. The time for a layout grows faster than its source. */
export const MAX_SOURCE = 20_000;
const MAX_SVG = 2_000_000;
const MAX_SIDE = 20_000;
const MAX_NAME = 300;
const MAX_MESSAGE = 200;
const MAX_STYLE = 500;
const MAX_SERIES = 16;

export function readDiagramRequest(value: unknown): WithNumber<DiagramRequest> | undefined {
  const { number, source, style } = readFields(value);
  if (!isCount(number) || !isText(source, MAX_SOURCE)) return undefined;
  const { isDark, font, ink, soft, line, strong, paper, wash, series } = readFields(style);
  const isStyle = [font, ink, soft, line, strong, paper, wash].every((text) => isText(text, MAX_STYLE));
  const isSeries =
    Array.isArray(series) && series.length <= MAX_SERIES && series.every((one) => isText(one, MAX_STYLE));
  return typeof isDark === "boolean" && isStyle && isSeries
    ? { number, source, style: style as DiagramStyle }
    : undefined;
}

/** Returns undefined for a message of any other form. */
export function readDiagramOutcome(value: unknown): WithNumber<DiagramOutcome> | undefined {
  const { number, failure, message, svg, width, height, name } = readFields(value);
  if (!isCount(number)) return undefined;
  if (failure === "too_large") return { number, failure };
  if (failure === "invalid") return isText(message, MAX_MESSAGE) ? { number, failure, message } : undefined;
  if (failure !== undefined || !isText(svg, MAX_SVG) || !isSide(width) || !isSide(height) || !isText(name, MAX_NAME))
    return undefined;
  return { number, svg, width, height, name };
}

/** Shortens the texts of an outcome to what the page accepts. */
export function limitOutcome(outcome: DiagramOutcome): DiagramOutcome {
  if ("failure" in outcome)
    return outcome.failure === "invalid" ? { ...outcome, message: outcome.message.slice(0, MAX_MESSAGE) } : outcome;
  const { svg, width, height, name } = outcome;
  if (svg.length > MAX_SVG || !isSide(width) || !isSide(height)) return { failure: "too_large" };
  return { svg, width, height, name: name.slice(0, MAX_NAME) };
}

function readFields(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [name: string]: unknown }) : {};
}

function isText(value: unknown, limit: number): value is string {
  return typeof value === "string" && value.length <= limit;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isSide(value: unknown): value is number {
  return typeof value === "number" && value > 0 && value <= MAX_SIDE;
}
