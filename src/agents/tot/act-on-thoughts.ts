/**
 * The node `act`: runs the tool calls of the thoughts to continue with, and stores their results. Other thoughts run no
 * tools.
 */
import type { NodeContext } from "../../graph/index.ts";
import { runCalls } from "../run-calls.ts";
import { runConcurrently } from "../run-concurrently.ts";
import { findSpentBudget, type TotContext } from "./tot-context.ts";
import { fitText, type ThoughtCall } from "./read-thoughts.ts";
import { measureDepth, ROOT, type TotState } from "./tot-state.ts";
import { shorten } from "../../protocol/cut-text.ts";

/** Maximum characters of one result, and bytes of all results of a step. A record has at most 1 MiB. */
const MAX_OBSERVATION = 8000;
const MAX_BYTES = 600_000;

export async function actOnThoughts(context: TotContext, state: TotState, node: NodeContext) {
  const { solved, startedAt, tokens } = state;
  const all = listActing(context, state);
  const count = all.reduce((sum, { calls }) => sum + calls.length, 0);
  const maxBytes = Math.floor(MAX_BYTES / Math.max(1, count));
  // The tools of a thought that solves the question always run, because the answer needs their results.
  const isSpent = solved === null && findSpentBudget(context, startedAt, tokens) !== undefined;
  const acting = isSpent ? all.filter(({ id }) => node.has(id)) : all;
  const results = await runConcurrently(acting, context.search.concurrency, ({ id, calls }) =>
    node.once(id, async ({ span }): Promise<readonly string[]> => {
      const outcomes = await runCalls(context, calls.map(toPart), {
        span,
        signal: node.signal,
        ready: () => node.ready(),
        endedCalls: node.endedCalls,
        malformed: Object.fromEntries(
          calls.flatMap(({ id: callId, raw }) => (raw === undefined ? [] : [[callId, raw]])),
        ),
      });
      return outcomes.map(({ result, isError }) => {
        const said = isError ? `Error: ${result}` : result;
        return fitText(shorten(said, MAX_OBSERVATION), maxBytes);
      });
    }),
  );
  return { observed: Object.fromEntries(acting.map(({ id }, index) => [id, results[index] ?? []])) };
}

/** Thoughts to continue with that have calls. At the last level only the first one, which the answer is made from. */
export function listActing({ search }: TotContext, { frontier, thoughts, made }: TotState) {
  const [first = ROOT] = frontier;
  const isLast = measureDepth(first) >= search.maxDepth || made >= search.maxThoughts;
  return (isLast ? frontier.slice(0, 1) : frontier).flatMap((id) => {
    const calls = thoughts[id]?.calls ?? [];
    return calls.length === 0 ? [] : [{ id, calls }];
  });
}

function toPart({ id, name, input }: ThoughtCall) {
  return { type: "tool-call", toolCallId: id, toolName: name, input } as const;
}
