/** A bar chart of one benchmark: the processor time of each contestant as a multiple of ours, on a logarithmic axis. */
import type { ReportedRow } from "./report.ts";

/** The widest bars and their values. */
const BARS = 460;
/** Of a character of a label, at most. */
const CHARACTER = 6.8;
const BAR = 16;
const GAP = 6;
const HEAD = 28;

/** Returns an SVG that is readable on light and dark pages. */
export function drawPlot(rows: readonly ReportedRow[]): string {
  const ratios = rows.flatMap(({ contestants }) => contestants.map(({ ratio }) => ratio?.median ?? 1));
  const longest = Math.max(...rows.flatMap(({ contestants }) => contestants.map(({ name }) => name.length)));
  const labels = Math.ceil(longest * CHARACTER) + 8;
  const width = labels + BARS;
  const [least, most] = [Math.min(1, ...ratios) / 1.3, Math.max(2, ...ratios) * 1.5];
  const x = (ratio: number): number =>
    labels + ((Math.log(ratio) - Math.log(least)) / (Math.log(most) - Math.log(least))) * (BARS - 70);
  const parts: string[] = [];
  let y = 0;
  for (const row of rows) {
    y += HEAD;
    parts.push(`<text x="0" y="${y - 8}" class="head">${escape(row.what)}</text>`);
    for (const { name, isLimit, ratio } of row.contestants) {
      const value = ratio?.median ?? 1;
      const [from, to] = [x(1), x(value)].toSorted((a, b) => a - b) as [number, number];
      const kind = ratio === undefined ? "ours" : isLimit ? "limit" : classOf(ratio.quartiles);
      parts.push(
        `<text x="${labels - 8}" y="${y + 12}" text-anchor="end">${escape(name)}</text>`,
        `<rect x="${from.toFixed(1)}" y="${y}" width="${Math.max(2, to - from).toFixed(1)}" height="${BAR}" class="${kind}"/>`,
        `<text x="${(to + 6).toFixed(1)}" y="${y + 12}">${value.toFixed(2)} ×</text>`,
      );
      y += BAR + GAP;
    }
  }
  const height = y + 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="system-ui, sans-serif" font-size="12">
<title>Processor time as a multiple of Loom's; left of the line is less</title>
<style>text{fill:#57606a}.head{font-weight:600;fill:#24292f}.ours{fill:#0969da}.peer{fill:#8c959f}.better{fill:#bf8700}.equal{fill:#8c959f;fill-opacity:.55}.limit{fill:#afb8c1}.axis{stroke:#afb8c1}@media(prefers-color-scheme:dark){text{fill:#9198a1}.head{fill:#e6edf3}}</style>
<line class="axis" x1="${x(1).toFixed(1)}" x2="${x(1).toFixed(1)}" y1="0" y2="${height}"/>
${parts.join("\n")}
</svg>
`;
}

/** Neither is better if the quartiles are on both sides of 1. */
const classOf = ([low, high]: readonly [number, number]): string => (high < 1 ? "better" : low < 1 ? "equal" : "peer");

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
