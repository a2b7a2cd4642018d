/** A tool host that records events and errors, and helpers to create tools and calls for it. */
import { z } from "zod";
import { LoomError, type LoomEvent } from "../src/protocol/index.ts";
import { type ApprovalPolicy, defineTool, type Tool, type ToolContext } from "../src/tools/index.ts";
import { createToolbox } from "../src/tools/toolbox.ts";
import { runToolCall } from "../src/tools/run-tool-call.ts";
import type { ToolCallRequest, ToolOptions, ToolOutcome } from "../src/tools/tool.ts";
import type { ToolHost } from "../src/tools/tool-host.ts";

export interface ToolRecorder extends ToolHost {
  readonly events: LoomEvent[];
  readonly types: () => string[];
  readonly errors: [unknown, string][];
  readonly abort: AbortController;
}

export function createToolRecorder(more: Partial<ToolHost> = {}): ToolRecorder {
  const events: LoomEvent[] = [];
  const errors: [unknown, string][] = [];
  const abort = new AbortController();
  let time = 1000;
  return {
    sessionId: "s1",
    runId: "r1",
    signal: abort.signal,
    emit: (event) => {
      if (abort.signal.aborted) throw new LoomError("run_ended", "the run is over");
      events.push(event);
    },
    ready: async () => undefined,
    requestApproval: async ({ arguments: asked }) => ({ decision: "approved", arguments: asked }),
    onError: (error, errorId) => errors.push([error, errorId]),
    now: () => (time += 5),
    ...more,
    events,
    errors,
    abort,
    types: () => events.map(({ type }) => type),
  };
}

const input = z.object({ n: z.number() });
type Execute = (input: { n: number }, context: ToolContext) => unknown;

export function toolOf(
  execute: Execute,
  options: ToolOptions & { approval?: ApprovalPolicy<{ n: number }> } = {},
): Tool {
  return defineTool({ name: "tool", description: "d", input, execute, ...options });
}

export function callOf(given: object | string, name = "tool"): ToolCallRequest {
  const isObject = typeof given === "object";
  return {
    callId: "c1",
    name,
    input: isObject ? (given as ToolCallRequest["input"]) : undefined,
    rawInput: isObject ? JSON.stringify(given) : given,
  };
}

export function run(tool: Tool, host: ToolHost, call = callOf({ n: 1 })): Promise<ToolOutcome> {
  return runToolCall(call, createToolbox([tool]), host);
}
