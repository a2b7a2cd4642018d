/**
 * Checks the node runs of one run. A node run is identified by its node_id; frames without one are matched by node
 * name, in order.
 */
import { BoundedMap } from "../bounded-map.ts";
import type { SpecifiedType } from "../events/index.ts";
import type { NodeEnterEvent } from "../events.generated.ts";
import type { EventRecord } from "../record.ts";
import { isKnownEvent } from "../record.ts";
import type { IssueReporter } from "./lifecycle-rules.ts";

const MAX_OPEN = 10_000;

/** Event types of 001 §4.2 that happen inside a node run. Others may belong to the run or to the session. */
const INSIDE: ReadonlySet<string> = new Set([
  "usage",
  "updates",
  "tot_expand",
  "tot_evaluate",
  "tot_backtrack",
  "got_plan",
  "got_node_start",
  "got_node_complete",
  "got_node_failed",
  "tool_call_chunk",
  "tool_call",
  "tool_start",
  "tool_output",
  "tool_end",
  "tool_approval",
] satisfies readonly SpecifiedType[]);

interface NodeSpan {
  readonly name: string;
  /** Number of the node run within the run, because a node_id may be reused. */
  readonly number: number;
}

export class SpanChecker {
  readonly #open = new BoundedMap<NodeSpan>(MAX_OPEN, ({ name }) => this.#drop(name));
  /** Number of open node runs by name. */
  readonly #names = new Map<string, number>();
  /** Open node runs without a node_id, by name: their count, and the number of the newest. */
  readonly #unnamed = new BoundedMap<{ readonly open: number; readonly number: number }>(MAX_OPEN);
  /** All node_ids of the run. */
  readonly #entered = new BoundedMap<true>(MAX_OPEN);
  count = 0;
  /** True if frames may be missing: a node run may be open although its node_enter was not received. */
  lenient = false;

  check({ envelope, event }: EventRecord, report: IssueReporter): void {
    const { node_id } = envelope;
    if (this.lenient && node_id !== undefined && event.type !== "node_enter" && this.#open.get(node_id) === undefined) {
      return;
    }
    if (!isKnownEvent(event)) {
      this.#checkInside(node_id, event.type, report);
      return;
    }
    switch (event.type) {
      case "node_enter":
        this.count++;
        this.#enter(node_id, event, report);
        return;
      case "node_exit":
        this.#exit(node_id, event.id, report);
        return;
      case "run_start":
        if (node_id !== undefined) report("run-start-node-id", `run_start has node_id ${node_id}`);
        return;
      case "reply":
      case "run_end":
        return;
      case "message_chunk": {
        if (node_id === undefined) {
          if (this.count > 0 && !this.#runs(event.id))
            report("chunk-outside-span", `node \`${event.id}\` is not running`);
          else this.#checkNamed(event.type, report);
          return;
        }
        const name = this.#open.get(node_id)?.name;
        if (name === undefined) this.#checkInside(node_id, event.type, report);
        else if (name !== event.id)
          report("chunk-node-name", `the chunk names \`${event.id}\`, but ${node_id} is a run of \`${name}\``);
        return;
      }
      default:
        this.#checkInside(node_id, event.type, report);
        if (node_id === undefined && INSIDE.has(event.type)) this.#checkNamed(event.type, report);
        if (event.type === "updates") this.#checkUpdates(node_id ?? "", event.id, report);
    }
  }

  /** Reports the node runs that are still open at the end of the run. */
  close(report: IssueReporter): void {
    const named = [...this.#open.values()].map(({ name }) => name);
    for (const name of [...named, ...this.#unnamed.keys()])
      report("span-unclosed", `\`${name}\` was entered but not exited`);
  }

  /** Returns the number of the node run open under this node_id, or under this name if there is no node_id. */
  findOpen(nodeId: string | undefined, name: string): number | undefined {
    return nodeId === undefined ? this.#unnamed.get(name)?.number : this.#open.get(nodeId)?.number;
  }

  /** True if the run had a node run with this node_id, or may have had one. */
  hasEntered(nodeId: string): boolean {
    return this.lenient || this.#entered.evicted || this.#entered.has(nodeId);
  }

  /** Reports a frame without node_id if all open node runs have one. */
  #checkNamed(type: string, report: IssueReporter): void {
    if (this.lenient || this.#open.size === 0 || this.#unnamed.size > 0) return;
    const [{ name }] = this.#open.values() as unknown as [NodeSpan];
    report("span-node-id-missing", `\`${type}\` has no node_id, but node run \`${name}\` has one`);
  }

  #checkUpdates(nodeId: string, id: string, report: IssueReporter): void {
    const name = this.#open.get(nodeId)?.name;
    if (name !== undefined && name !== id)
      report("updates-node-name", `the updates name \`${id}\`, but ${nodeId} is a run of \`${name}\``);
  }

  #enter(nodeId: string | undefined, { id: name, parent, supersedes }: NodeEnterEvent, report: IssueReporter): void {
    if (nodeId === undefined) {
      this.#unnamed.set(name, { open: (this.#unnamed.get(name)?.open ?? 0) + 1, number: this.count });
      // A stream without node_ids cannot name a parent either.
      return;
    }
    const before = this.#open.get(nodeId);
    if (before !== undefined) {
      report("span-enter-twice", `${nodeId} is already open`);
      this.#drop(before.name);
    }
    this.#open.set(nodeId, { name, number: this.count });
    this.#entered.set(nodeId, true);
    this.#names.set(name, (this.#names.get(name) ?? 0) + 1);
    if (supersedes !== undefined && (!this.hasEntered(supersedes) || this.#open.get(supersedes) !== undefined))
      report("span-supersedes", `there is no ended node run ${supersedes}`);
    if (parent === undefined || this.lenient || this.#open.evicted) return;
    if (this.#open.get(parent) === undefined) report("span-parent", `the parent node run ${parent} is not open`);
  }

  #drop(name: string): void {
    const left = (this.#names.get(name) ?? 0) - 1;
    if (left > 0) this.#names.set(name, left);
    else this.#names.delete(name);
  }

  #runs(name: string): boolean {
    return this.#unnamed.has(name) || this.#names.has(name);
  }

  #checkInside(nodeId: string | undefined, type: string, report: IssueReporter): void {
    if (nodeId !== undefined && !this.#open.evicted && this.#open.get(nodeId) === undefined)
      report("span-not-open", `\`${type}\` has node_id ${nodeId}, which is not open`);
  }

  #exit(nodeId: string | undefined, name: string, report: IssueReporter): void {
    if (nodeId !== undefined) {
      const entered = this.#open.get(nodeId)?.name;
      if (entered === undefined && !this.#open.evicted) report("span-exit-unopened", `${nodeId} is not open`);
      else if (entered !== undefined && entered !== name)
        report("span-exit-name", `${nodeId} was entered as \`${entered}\` but exited as \`${name}\``);
      this.#open.delete(nodeId);
      if (entered !== undefined) this.#drop(entered);
      return;
    }
    const before = this.#unnamed.get(name);
    if (before === undefined) {
      if (!this.#unnamed.evicted) report("span-exit-unopened", `\`${name}\` was not entered`);
    } else if (before.open === 1) this.#unnamed.delete(name);
    else this.#unnamed.set(name, { ...before, open: before.open - 1 });
  }
}
