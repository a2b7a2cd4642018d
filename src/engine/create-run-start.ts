/** Creates the first event of a run from the request that it was started with. */
import { dropUndefined } from "../dialects/drop-undefined.ts";
import type { RunStartEvent } from "../protocol/events.generated.ts";
import { writeClientTool } from "../protocol/client-tools.ts";
import { readInstructions } from "../protocol/read-instructions.ts";
import { readOutputSchema } from "../protocol/read-output-schema.ts";
import type { RunOrigin } from "./run-contract.ts";

export function createRunStart(origin: RunOrigin): RunStartEvent {
  const { runId, message, agent, source, requestId, context, attachments, reasoning, actor } = origin;
  return {
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
      actor,
      tool_rules: origin.toolRules,
      on_interruption: origin.onInterruption,
      capabilities: origin.capabilities,
      client_tools: origin.clientTools?.map(writeClientTool),
      instructions: readInstructions(origin.instructions),
      output_schema: readOutputSchema(origin.outputSchema),
    }),
  };
}
