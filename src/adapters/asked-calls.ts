/**
 * The calls of a run that an earlier process asked the user about. A framework that starts again makes them again, under
 * other IDs. They are the same calls, with the same approvals, if the tool and the arguments are the same.
 */
import { digestCall } from "../engine/digest-call.ts";
import type { OpenToolCall, OpenWork } from "../engine/open-work.ts";
import type { ToolCallChunkEvent, ToolCallEvent } from "../protocol/events.generated.ts";

/** A call that the user was asked about. */
export interface AskedCall extends OpenToolCall {
  readonly callId: string;
  readonly name: string;
}

export class AskedCalls {
  readonly #work: Pick<OpenWork, "findCall">;
  readonly #calls = new Map<string, AskedCall>();
  /** Calls whose arguments began to stream while they could be one of these. */
  readonly #streaming = new Set<string>();

  constructor(work: Pick<OpenWork, "calls" | "findCall">) {
    this.#work = work;
    for (const call of work.calls)
      if (call.approvalArguments !== undefined && isNamed(call)) this.#calls.set(call.callId, call);
  }

  /** Those that the source has neither repeated nor continued. */
  get rest(): readonly AskedCall[] {
    return [...this.#calls.values()].filter(({ callId }) => this.#work.findCall(callId) !== undefined);
  }

  /** The source continues the call. */
  delete(callId: string): void {
    this.#calls.delete(callId);
  }

  /** Returns the call that this one repeats, once. */
  take({ call_id: callId, name, arguments: input }: ToolCallEvent): AskedCall | undefined {
    if (this.#calls.size === 0) return undefined;
    const digest = digestCall(name, input);
    const same = this.rest.filter((call) => digestCall(call.name, call.approvalArguments) === digest);
    const found = same.find((call) => call.callId === callId) ?? same[0];
    if (found !== undefined) this.delete(found.callId);
    return found;
  }

  /** True for a piece of the arguments of a call that may repeat one. Which call it is follows from all arguments. */
  mayRepeat({ call_id: callId = "", name }: ToolCallChunkEvent): boolean {
    for (const call of this.#calls.values()) if (name === undefined || call.name === name) this.#streaming.add(callId);
    return this.#streaming.has(callId);
  }
}

function isNamed(call: OpenToolCall): call is AskedCall {
  return call.callId !== undefined && call.name !== undefined;
}
