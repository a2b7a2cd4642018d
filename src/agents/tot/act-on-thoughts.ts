/**
 * The node `act`: makes the tool calls of the thoughts that go on, and keeps what came of them with the thought. Thoughts
 * that do not go on make no call.
 */
import type { NodeContext } from "../../graph/index.ts";
import { runCalls } from "../run-calls.ts";
import { runSideBySide } from "../side-by-side.ts";
import type { TotContext } from "./ask-model.ts";
import { cutText, type ThoughtCall } from "./read-thoughts.ts";
import type { TotState } from "./tot-state.ts";

/** Characters of what one call gave, and of all that are written at once: a record may have 1 MiB. */
const MAX_OBSERVATION = 8000;
const MAX_CHARACTERS = 160_000;

export async function actOnThoughts(context: TotContext, state: TotState, node: NodeContext) {
  const acting = listActing(state);
  const count = acting.reduce((sum, { calls }) => sum + calls.length, 0);
  const max = Math.min(MAX_OBSERVATION, Math.floor(MAX_CHARACTERS / Math.max(1, count)));
  const results = await runSideBySide(acting, context.search.concurrency, ({ id, calls }) =>
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
      return outcomes.map(({ result, isError }) => cutText(isError ? `Error: ${result}` : result, max));
    }),
  );
  return { observed: Object.fromEntries(acting.map(({ id }, index) => [id, results[index] ?? []])) };
}

/** Thoughts that go on and have calls. */
export function listActing({ frontier, thoughts }: TotState) {
  return frontier.flatMap((id) => {
    const calls = thoughts[id]?.calls ?? [];
    return calls.length === 0 ? [] : [{ id, calls }];
  });
}

function toPart({ id, name, input }: ThoughtCall) {
  return { type: "tool-call", toolCallId: id, toolName: name, input } as const;
}
