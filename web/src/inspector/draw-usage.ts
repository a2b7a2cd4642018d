/** The tokens of a run as a line of steps, in a drawing of 100 by 100. */
import type { UsageStep } from "./run-recording.ts";

/** More could not be told apart. */
const MOST_STEPS = 400;

/** An area under the steps; empty where nothing was used. */
export function drawUsage(steps: readonly UsageStep[], count: number): string {
  const total = steps.at(-1)?.sum ?? 0;
  if (total === 0 || count === 0) return "";
  const every = Math.ceil(steps.length / MOST_STEPS);
  const shown = steps.filter((_, i) => i % every === every - 1 || i === steps.length - 1);
  const x = ({ frame }: UsageStep): string => (((frame + 1) / count) * 100).toFixed(2);
  const y = ({ sum }: UsageStep): string => (100 - (sum / total) * 96).toFixed(2);
  return `M0 100${shown.map((step) => `H${x(step)}V${y(step)}`).join("")}H100V100Z`;
}
