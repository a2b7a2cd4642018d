/** Draws the token usage of a run as an SVG step chart of 100 by 100. */
import type { UsageStep } from "./run-recording.ts";

/** More steps would not be visible. */
const MAX_STEPS = 400;

/** Returns the SVG path of the area, or an empty string if nothing was used. */
export function drawUsage(steps: readonly UsageStep[], count: number): string {
  const total = steps.at(-1)?.sum ?? 0;
  if (total === 0 || count === 0) return "";
  const every = Math.ceil(steps.length / MAX_STEPS);
  const shown = steps.filter((_, i) => i % every === every - 1 || i === steps.length - 1);
  const x = ({ frame }: UsageStep): string => (((frame + 1) / count) * 100).toFixed(2);
  const y = ({ sum }: UsageStep): string => (100 - (sum / total) * 96).toFixed(2);
  return `M0 100${shown.map((step) => `H${x(step)}V${y(step)}`).join("")}H100V100Z`;
}
