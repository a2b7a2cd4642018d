/**
 * Shows a search (tot, got) on a terminal. The thoughts of parallel node runs would be unreadable as text, so it prints
 * one line per step, and one progress line with the latest words.
 *
 * Invariant: the number of printed lines is bounded.
 */
import { type EventOf, type EventRecord, isKnownEvent } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { isThinkingChannel } from "../../protocol/record.ts";
import { plural } from "../fit-text.ts";
import type { Note } from "./format-note.ts";
import { GraphLines } from "./graph-lines.ts";
import type { StepPosition } from "./step-lines.ts";
import { TreeLines } from "./tree-lines.ts";

export interface ThoughtOutput {
  readonly width: number;
  /** Prints a permanent line. */
  note(note: Note): void;
  /** Replaces the progress line. */
  progress(text: string): void;
}

/** Agents whose thoughts come from several node runs at once. */
const SEARCHES: ReadonlySet<string> = new Set(["tot", "got"]);
/** Name of the node whose text is the answer. */
const ANSWER = "answer";
const MAX_LINES = 300;
const MAX_SPANS = 10_000;
/** Maximum nesting of node runs. */
const MAX_NESTING = 20;
/** Interval of the progress line in milliseconds, and characters shown of the latest words. */
const PROGRESS_MS = 120;
const TAIL_CHARACTERS = 200;

interface Span {
  readonly name: string;
  readonly parent: string | undefined;
  /** The graph node started in this span. */
  graphNode?: string;
  tail: string;
}

export class ThoughtScreen {
  readonly #output: ThoughtOutput;
  readonly #spans = new BoundedMap<Span>(MAX_SPANS);
  readonly #tree = new TreeLines();
  readonly #graph = new GraphLines();
  #isSearch = false;
  #hasTree = false;
  #lines = 0;
  #omitted = 0;
  #lastProgress = -Infinity;

  constructor(output: ThoughtOutput) {
    this.#output = output;
  }

  /** Returns true if the record needs no further output. */
  take({ envelope: { node_id, ts }, event }: EventRecord): boolean {
    if (!isKnownEvent(event)) return false;
    switch (event.type) {
      case "run_start":
        this.#isSearch = SEARCHES.has(event.agent ?? "");
        return false;
      case "node_enter":
        if (node_id !== undefined) this.#spans.set(node_id, { name: event.id, parent: event.parent, tail: "" });
        if (this.#isSearch && event.id === ANSWER) this.#conclude();
        return false;
      case "node_exit":
        this.#exitNode(node_id, event, ts);
        return false;
      case "run_end":
        if (this.#isSearch) this.#printOmitted();
        return false;
      case "message_chunk":
        return isThinkingChannel(event.channel) && this.#think(node_id, event.content, ts);
      case "reasoning_chunk":
        return this.#think(node_id, event.content, ts);
      case "reasoning_end":
        return this.#isInner(node_id);
      case "tot_expand":
      case "tot_evaluate":
      case "tot_backtrack":
        this.#hasTree = true;
        this.#print(this.#tree.describe(event, this.#output.width), ts);
        return true;
      case "got_node_start":
        this.#startNode(node_id, event);
        this.#print(this.#graph.describe(event, ts), ts);
        return true;
      case "got_plan":
      case "got_node_complete":
      case "got_node_failed":
      case "got_expand":
        this.#print(this.#graph.describe(event, ts), ts);
        return true;
      default:
        return false;
    }
  }

  /** True for text that is only shown as progress. */
  isTransient({ envelope: { node_id }, event }: EventRecord): boolean {
    const isThought =
      event.type === "reasoning_chunk" ||
      (event.type === "message_chunk" && isThinkingChannel((event as EventOf<"message_chunk">).channel));
    return isThought && this.#isInner(node_id);
  }

  /** Position of a step of this node run; undefined outside a search. */
  locate(nodeId: string | undefined): StepPosition | undefined {
    if (!this.#isInner(nodeId)) return undefined;
    let span = this.#spans.get(nodeId ?? "");
    for (let i = 0; span !== undefined && i < MAX_NESTING; i++) {
      const { graphNode: name, parent } = span;
      if (name !== undefined) return { indent: this.#graph.findLevel(name) + 1, name };
      span = parent === undefined ? undefined : this.#spans.get(parent);
    }
    return { indent: this.#tree.depth + 1, name: undefined };
  }

  #exitNode(nodeId = "", { result }: EventOf<"node_exit">, ts: number | undefined): void {
    const { graphNode } = this.#spans.get(nodeId) ?? {};
    this.#spans.delete(nodeId);
    if (graphNode !== undefined && result !== "Ok")
      this.#print(this.#graph.describeFailedAttempt(graphNode, result.Err), ts);
  }

  #startNode(nodeId: string | undefined, { id }: EventOf<"got_node_start">): void {
    const span = this.#spans.get(nodeId ?? "");
    if (span !== undefined) span.graphNode = id;
  }

  /** True if the node run belongs to the search and not to the answer. */
  #isInner(nodeId: string | undefined): boolean {
    return this.#isSearch && this.#spans.get(nodeId ?? "")?.name !== ANSWER;
  }

  #think(nodeId: string | undefined, text: string, ts: number | undefined): boolean {
    if (!this.#isInner(nodeId)) return false;
    const span = this.#spans.get(nodeId ?? "");
    if (span !== undefined) span.tail = (span.tail + text.slice(-TAIL_CHARACTERS)).slice(-TAIL_CHARACTERS);
    const { name = span?.name ?? "" } = this.locate(nodeId) ?? {};
    this.#showProgress(() => `${name} ${lastLine(span?.tail ?? text)}`, ts);
    return true;
  }

  #showProgress(describe: () => string, ts = 0): void {
    if (ts - this.#lastProgress < PROGRESS_MS) return;
    this.#lastProgress = ts;
    this.#output.progress(describe());
  }

  #print(notes: readonly Note[], ts: number | undefined): void {
    for (const note of notes) {
      if (this.#lines++ < MAX_LINES) this.#output.note(note);
      else this.#omitted++;
    }
    if (this.#omitted > 0) this.#showProgress(() => this.#summary, ts);
  }

  /** Prints the path that the search took. */
  #conclude(): void {
    this.#printOmitted();
    for (const note of this.#tree.describePath()) this.#output.note(note);
  }

  get #summary(): string {
    return this.#hasTree ? this.#tree.summary : this.#graph.summary;
  }

  #printOmitted(): void {
    if (this.#omitted > 0)
      this.#output.note({
        style: "dim",
        sign: "…",
        name: "",
        text: `${plural(this.#omitted, "more line")}: ${this.#summary}`,
      });
    this.#omitted = 0;
  }
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}
