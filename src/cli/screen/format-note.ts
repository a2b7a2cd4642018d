/**
 * Formats one line about a run: a sign, a name, text, and an end that is never cut off. The line always fits the width.
 */
import { cutColumns, measureColumns } from "../fit-text.ts";
import type { Style } from "../terminal.ts";

export interface Note {
  /** Indentation levels; default: 0. */
  readonly indent?: number;
  readonly style?: "cyan" | "green" | "red" | "yellow" | "dim";
  readonly sign: string;
  readonly name: string;
  readonly text?: string;
  readonly end?: string;
}

/** The indentation takes at most this fraction of the line: 1/4. */
const INDENT_SHARE = 4;

export function formatNote(
  { indent = 0, style, sign, name, text = "", end = "" }: Note,
  width: number,
  paint: (style: Style, text: string) => string,
): string {
  const margin = " ".repeat(Math.min(2 * indent, Math.floor(width / INDENT_SHARE)));
  const room = width - margin.length - measureColumns(sign) - 1;
  const shownEnd = end === "" ? "" : ` ${cutColumns(end, Math.floor(room / 2))}`;
  const shownName = cutColumns(name, Math.floor(room / 2) - (shownEnd === "" ? 0 : 1));
  const left = room - measureColumns(shownName) - measureColumns(shownEnd) - (shownName === "" ? 0 : 1);
  const words =
    left < 2
      ? ""
      : cutColumns(
          text
            .slice(0, 4 * width)
            .trim()
            .replaceAll(/\s+/g, " "),
          left,
        );
  const parts = [
    style === undefined ? sign : paint(style, sign),
    ...(shownName === "" ? [] : [paint("bold", shownName)]),
    ...(words === "" ? [] : [words]),
  ];
  return `${margin}${parts.join(" ")}${shownEnd === "" ? "" : paint("dim", shownEnd)}`;
}

export function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
