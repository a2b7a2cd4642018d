/** Creates the first events of a run from the request that it was started with. */
import { dropUndefined } from "../dialects/drop-undefined.ts";
import type { ErrorEvent, RunStartEvent } from "../protocol/events.generated.ts";
import { writeClientTool } from "../protocol/client-tools.ts";
import { readInstructions } from "../protocol/read-instructions.ts";
import { readOutputSchema } from "../protocol/read-output-schema.ts";
import { readStrategySettings } from "../protocol/strategy-settings.ts";
import type { RunOrigin } from "./run-contract.ts";

/** `copies` has what the caller of the run may change. */
export function createRunStart(
  origin: RunOrigin,
  copies: Pick<RunOrigin, "toolRules" | "capabilities">,
): readonly [RunStartEvent, ...ErrorEvent[]] {
  const { runId, message, agent, source, requestId, context, attachments, reasoning, actor, notices = [] } = origin;
  const start: RunStartEvent = {
    type: "run_start",
    ...dropUndefined({
      run_id: runId,
      message,
      agent,
      contiguous: true,
      source,
      request_id: requestId,
      context,
      attachments,
      reasoning,
      strategy: readStrategySettings(origin.strategy),
      actor,
      tool_rules: copies.toolRules,
      on_interruption: origin.onInterruption,
      capabilities: copies.capabilities,
      client_tools: origin.clientTools?.map(writeClientTool),
      instructions: readInstructions(origin.instructions),
      output_schema: readOutputSchema(origin.outputSchema),
    }),
  };
  // What the run ignores of its request.
  const about = { code: "unknown_field", stage: "request", recoverable: true } as const;
  return [start, ...notices.map((message) => ({ type: "error", message, ...about }) as const)];
}
