/**
 * Interrupts of a LangGraph run, as approvals. The human-in-the-loop request of LangChain has a list of actions and
 * becomes one approval per action; any other interrupt becomes a call of the tool `interrupt`.
 */
import { isDeepStrictEqual } from "node:util";
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import type { SourceAnswer, SourceEvent } from "../source.ts";
import type { GraphCall, GraphCalls } from "./graph-calls.ts";
import { toFields, toPlainJson } from "./langchain-message.ts";

/** Maps the user's answer to what `interrupt` returns in the node. `value` is what the node passed to it. */
export type ToResume = (answer: SourceAnswer, value: unknown) => unknown;

/** How the graph goes on: with these answers by interrupt, from a breakpoint, or not at all. */
export type GraphResumption = { readonly resume: unknown } | "continue" | "stop";

interface PendingInterrupt {
  readonly id: string | undefined;
  readonly value: unknown;
  readonly node: string | undefined;
}

interface AskedInterrupt extends PendingInterrupt {
  readonly kind: "actions" | "value" | "breakpoint";
  readonly calls: readonly GraphCall[];
}

interface RequestedAction {
  readonly name: string;
  readonly input: JsonObject;
  readonly description: string | undefined;
}

/** Name of the tool that stands for an interrupt. */
const INTERRUPT_TOOL = "interrupt";

export class GraphInterrupts {
  readonly #emit: (event: SourceEvent, node: string | undefined) => void;
  readonly #calls: GraphCalls;
  readonly #pending: PendingInterrupt[] = [];
  #asked: readonly AskedInterrupt[] = [];
  #isPaused = false;

  constructor(emit: (event: SourceEvent, node: string | undefined) => void, calls: GraphCalls) {
    this.#emit = emit;
    this.#calls = calls;
  }

  /** True if the graph waits for the user. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Adds a list of interrupts. The list of a breakpoint is empty. The framework reports each one several times. */
  add(list: readonly unknown[], node: string | undefined): void {
    this.#isPaused = true;
    for (const item of list) {
      const { id, value } = toFields(item);
      const isKnown = this.#pending.some((known) =>
        typeof id === "string" ? known.id === id : isDeepStrictEqual(known.value, value),
      );
      if (!isKnown) this.#pending.push({ id: typeof id === "string" ? id : undefined, value, node });
    }
  }

  /** Places an interrupt in the node run it came from, which the framework reports after the interrupt. */
  locate(list: readonly unknown[], node: string): void {
    this.add(list, node);
    for (const item of list) {
      const at = this.#pending.findIndex(({ id, node: known }) => known === undefined && id === toFields(item)["id"]);
      if (at >= 0) this.#pending[at] = { ...(this.#pending[at] as PendingInterrupt), node };
    }
  }

  /** Asks for the approvals of all interrupts. */
  ask(): void {
    const pending = this.#pending.splice(0);
    const asked = pending.map((interrupt) => this.#ask(interrupt));
    this.#asked = pending.length > 0 ? asked : [this.#askBreakpoint()];
    this.#isPaused = false;
  }

  /** Returns how to go on, and ends the calls that stand for interrupts. */
  answer(answers: readonly SourceAnswer[], toResume: ToResume | undefined): GraphResumption {
    const byCall = new Map(answers.map((answer) => [answer.callId, answer]));
    const asked = this.#asked;
    this.#asked = [];
    const resumes = asked.map((interrupt) => {
      const given = interrupt.calls.map(({ callId }) => byCall.get(callId) as SourceAnswer);
      for (const [index, call] of interrupt.calls.entries()) call.isRejected = given[index]?.decision !== "approved";
      return interrupt.kind === "actions"
        ? toDecisions(interrupt, given)
        : this.#resumeValue(interrupt, given[0] as SourceAnswer, toResume);
    });
    const [first] = asked;
    if (first?.kind === "breakpoint") return first.calls[0]?.isRejected === true ? "stop" : "continue";
    // A resume value alone must not be false, so each one is given by the ID of its interrupt.
    if (asked.some(({ id }) => id === undefined)) return { resume: resumes[0] };
    return { resume: Object.fromEntries(asked.map(({ id }, index) => [id, resumes[index]])) };
  }

  #ask(interrupt: PendingInterrupt): AskedInterrupt {
    const { value, node } = interrupt;
    const actions = readActions(value);
    if (actions === undefined) {
      const plain = toPlainJson(value) ?? null;
      const input = isJsonObject(plain) ? plain : { value: plain };
      return { ...interrupt, kind: "value", calls: [this.#request({ name: INTERRUPT_TOOL, input }, node)] };
    }
    const calls = actions.map((action) => this.#request(action, node));
    return { ...interrupt, kind: "actions", calls };
  }

  #askBreakpoint(): AskedInterrupt {
    const calls = [this.#request({ name: INTERRUPT_TOOL, input: {} }, undefined)];
    return { id: undefined, value: undefined, node: undefined, kind: "breakpoint", calls };
  }

  /** Asks about a call that the model made or an earlier process asked about, or about a new one. */
  #request(
    { name, input, description }: Partial<RequestedAction> & Omit<RequestedAction, "description">,
    node: string | undefined,
  ) {
    let call = this.#calls.findUnasked(name, input);
    if (call === undefined) {
      const callId = crypto.randomUUID();
      call = this.#calls.add(callId, { callId, name, input, description, node });
    }
    call.isAsked = true;
    this.#emit({ type: "tool_approval", call_id: call.callId, name, arguments: input }, node);
    return call;
  }

  #resumeValue({ value, calls, node }: AskedInterrupt, answer: SourceAnswer, toResume: ToResume | undefined): unknown {
    const { callId, input } = calls[0] as GraphCall;
    const { decision, arguments: given } = answer;
    const isApproved = decision === "approved";
    const isEdited = isApproved && !isDeepStrictEqual(given, input);
    // A value that is not an object was wrapped for the approval.
    const edited = isJsonObject(toPlainJson(value)) ? given : (given["value"] ?? given);
    const resume = toResume === undefined ? (isEdited ? edited : isApproved) : toResume(answer, value);
    const result: Json | undefined = toPlainJson(resume);
    this.#calls.end(callId, { result: JSON.stringify(result ?? null), isError: !isApproved }, node);
    return resume;
  }
}

/** Reads the request of LangChain's human-in-the-loop middleware, in the spelling of JavaScript or of Python. */
function readActions(value: unknown): readonly RequestedAction[] | undefined {
  const { actionRequests, action_requests } = toFields(value);
  const requests: unknown = actionRequests ?? action_requests;
  if (!Array.isArray(requests) || requests.length === 0) return undefined;
  const actions: RequestedAction[] = [];
  for (const request of requests as unknown[]) {
    const { name, args, arguments: other, description } = toFields(request);
    const input = toPlainJson(args ?? other ?? {});
    if (typeof name !== "string" || name === "" || !isJsonObject(input)) return undefined;
    actions.push({ name, input, description: typeof description === "string" ? description : undefined });
  }
  return actions;
}

function toDecisions({ value, calls }: AskedInterrupt, answers: readonly SourceAnswer[]): JsonObject {
  const edited = toFields(value)["actionRequests"] === undefined ? "edited_action" : "editedAction";
  const actions = readActions(value) ?? [];
  const decisions = answers.map(({ decision, arguments: given, reason }, index): JsonObject => {
    if (decision !== "approved") return { type: "reject", ...(reason === undefined ? {} : { message: reason }) };
    if (isDeepStrictEqual(given, actions[index]?.input)) return { type: "approve" };
    return { type: "edit", [edited]: { name: calls[index]?.name ?? "", args: given } };
  });
  return { decisions };
}
