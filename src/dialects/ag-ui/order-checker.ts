/**
 * Checks the order of AG-UI events as their clients do: what starts must end, once, and only what is open may be
 * continued. Chunks must be expanded before. Never changes what a frame means.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Issue } from "../../protocol/rules.ts";
import { report } from "./rules.ts";

const MAX_OPEN = 10_000;
/** Number of open things that a message lists. */
const MAX_LISTED = 5;

type Thing = "message" | "call" | "reasoning" | "reasoning message" | "step" | "subagent" | "activity";

interface AgUiReference {
  readonly thing: Thing;
  readonly id: string;
  readonly does: "start" | "continue" | "end";
}

const REFERENCES: { readonly [type: string]: AgUiReference | undefined } = {
  TEXT_MESSAGE_START: { thing: "message", id: "messageId", does: "start" },
  TEXT_MESSAGE_CONTENT: { thing: "message", id: "messageId", does: "continue" },
  TEXT_MESSAGE_END: { thing: "message", id: "messageId", does: "end" },
  TOOL_CALL_START: { thing: "call", id: "toolCallId", does: "start" },
  TOOL_CALL_ARGS: { thing: "call", id: "toolCallId", does: "continue" },
  TOOL_CALL_END: { thing: "call", id: "toolCallId", does: "end" },
  REASONING_START: { thing: "reasoning", id: "messageId", does: "start" },
  REASONING_END: { thing: "reasoning", id: "messageId", does: "end" },
  REASONING_MESSAGE_START: { thing: "reasoning message", id: "messageId", does: "start" },
  REASONING_MESSAGE_CONTENT: { thing: "reasoning message", id: "messageId", does: "continue" },
  REASONING_MESSAGE_END: { thing: "reasoning message", id: "messageId", does: "end" },
  STEP_STARTED: { thing: "step", id: "stepName", does: "start" },
  STEP_FINISHED: { thing: "step", id: "stepName", does: "end" },
  SUBAGENT_STARTED: { thing: "subagent", id: "subagentRunId", does: "start" },
  SUBAGENT_FINISHED: { thing: "subagent", id: "subagentRunId", does: "end" },
  SUBAGENT_ERROR: { thing: "subagent", id: "subagentRunId", does: "end" },
};

/** Returns the type of the event that starts such a thing. */
function findStart(thing: Thing): string {
  return Object.keys(REFERENCES).find((type) => REFERENCES[type]?.thing === thing) ?? "";
}

/** Different things have different keys, whatever their IDs contain. */
function openKey(thing: Thing, id: string, owner?: string): string {
  return JSON.stringify([thing, id, owner]);
}

/** Checks the events of one run. */
export class OrderChecker {
  /** Names of open things. */
  readonly #open = new BoundedMap<string>(MAX_OPEN);
  readonly #endedSubagents = new BoundedMap<true>(MAX_OPEN);
  /** The subagent of each message, call and activity; the empty text for the agent itself. */
  readonly #owners = new BoundedMap<string>(MAX_OPEN);

  check(type: string, frame: JsonObject, issues: Issue[]): void {
    if (type === "RUN_FINISHED") this.#checkEnd(issues);
    if (type === "ACTIVITY_SNAPSHOT" || type === "ACTIVITY_DELTA") this.#checkActivity(type, frame, issues);
    const reference = Object.hasOwn(REFERENCES, type) ? REFERENCES[type] : undefined;
    if (reference === undefined) return;
    const { thing, does } = reference;
    const id = frame[reference.id] as string;
    const owner = typeof frame["subagentRunId"] === "string" ? frame["subagentRunId"] : undefined;
    // A step belongs to the subagent that started it.
    const key = openKey(thing, id, thing === "step" ? owner : undefined);
    if (does === "start") {
      if (this.#open.has(key)) report(issues, "ag-ui-open-twice", `${thing} ${id} is already open; end it first`);
      if (thing === "subagent") this.#checkSubagent(id, frame["parentSubagentRunId"], issues);
      this.#open.set(key, `${thing} ${id}`);
    } else {
      if (!this.#open.has(key) && !this.#open.evicted)
        report(issues, "ag-ui-not-open", `there is no open ${thing} ${id}; send \`${findStart(thing)}\` first`);
      if (does === "end") this.#open.delete(key);
      if (does === "end" && thing === "subagent") this.#endedSubagents.set(id, true);
    }
    // Reasoning and the message in it usually have the same ID, and the same owner.
    const kind = thing === "reasoning message" ? "reasoning" : thing;
    if (thing !== "step" && thing !== "subagent") this.#checkOwner(`${kind} ${id}`, owner, issues);
  }

  #checkEnd(issues: Issue[]): void {
    if (this.#open.size === 0) return;
    const names = [...this.#open.keys()].map((key) => this.#open.get(key) as string);
    const more = names.length > MAX_LISTED ? `, and ${names.length - MAX_LISTED} more` : "";
    const list = names.slice(0, MAX_LISTED).join(", ") + more;
    report(issues, "ag-ui-open-at-end", `still open at \`RUN_FINISHED\`: ${list}; end each before the run`);
  }

  #checkSubagent(id: string, parent: unknown, issues: Issue[]): void {
    if (this.#endedSubagents.has(id)) report(issues, "ag-ui-subagent-again", `subagent ${id} has already ended`);
    if (typeof parent !== "string" || this.#endedSubagents.has(parent) || this.#open.has(openKey("subagent", parent)))
      return;
    report(issues, "ag-ui-subagent-again", `the parent ${parent} of subagent ${id} was not started`);
  }

  /** An event without a subagent agrees with any. */
  #checkOwner(key: string, owner: string | undefined, issues: Issue[]): void {
    const known = this.#owners.getOrCreate(key, () => owner ?? "");
    if (owner === undefined || owner === known) return;
    const other = known === "" ? "the agent itself" : `subagent ${known}`;
    report(issues, "ag-ui-owner", `${key} belongs to ${other}, not to subagent ${owner}`);
  }

  #checkActivity(type: string, { messageId, subagentRunId, replace }: JsonObject, issues: Issue[]): void {
    const key = `activity ${messageId as string}`;
    const owner = typeof subagentRunId === "string" ? subagentRunId : undefined;
    if (type === "ACTIVITY_SNAPSHOT" && (replace !== false || !this.#owners.has(key)))
      this.#owners.set(key, owner ?? "");
    else if (type === "ACTIVITY_DELTA" && this.#owners.has(key)) this.#checkOwner(key, owner, issues);
  }
}
