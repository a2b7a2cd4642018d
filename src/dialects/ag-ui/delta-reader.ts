/**
 * Reads `STATE_DELTA` and `ACTIVITY_DELTA`: applies the patches to the state and the activities of a stream as clients do,
 * and returns events for them. A patch that cannot be applied is reported and, as in clients, changes nothing.
 *
 * What it keeps is bounded; a change of something that is not kept is passed on as it came.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { findLoomEventFault } from "../../protocol/events.generated.ts";
import { copyJson, isJsonObject, type Json, type JsonObject, toJsonObject } from "../../protocol/json.ts";
import type { AnyEvent } from "../../protocol/record.ts";
import type { Issue } from "../../protocol/rules.ts";
import type { ChannelPatch } from "../../protocol/state-patch.ts";
import { MAX_REPLY_CHARACTERS } from "../reply-text.ts";
import { findActivityEvent } from "./carried-events.ts";
import { PatchedValue, readPointer } from "./json-patch.ts";
import { report } from "./rules.ts";

const MAX_TARGETS = 1000;
const STATE = "state";

interface PatchTarget {
  /** JSON of the snapshot, until the first delta. */
  text: string | undefined;
  patched: PatchedValue | undefined;
  /** Characters of the snapshot. */
  readonly size: number;
}

/** The state and the activities of a stream. */
export class DeltaReader {
  #held = 0;
  readonly #targets = new BoundedMap<PatchTarget>(MAX_TARGETS, (target) => void (this.#held -= sizeOf(target)));
  #isIncomplete = false;
  /** True if an event of this run has the whole state. */
  #isStateShown = false;

  /** Another run starts. Clients keep the state and the activities. */
  startRun(): void {
    this.#isStateShown = false;
  }

  setState(snapshot: Json): void {
    this.#set(STATE, snapshot);
    this.#isStateShown = true;
  }

  /** Remembers an activity. `isKept` is true if an existing one is not replaced. */
  setActivity(messageId: string, content: Json, isKept: boolean): void {
    const key = nameActivity(messageId);
    if (!isKept || !this.#targets.has(key)) this.#set(key, content);
  }

  /** Returns the event of a `STATE_DELTA`; undefined if it has none. */
  readState(delta: readonly JsonObject[], issues: Issue[]): AnyEvent | undefined {
    const value = this.#patch(STATE, "the state", delta, issues);
    if (value === undefined) return undefined;
    const change = this.#isStateShown ? readChange(delta, value) : undefined;
    this.#isStateShown = true;
    if (change === undefined) return { type: "values", state: copyJson(value) };
    return { type: "values", state: change as JsonObject, delta: true };
  }

  /** Returns the event of an `ACTIVITY_DELTA`; undefined if it has none. */
  readActivity({ messageId, activityType, patch }: JsonObject, issues: Issue[]): AnyEvent | undefined {
    const id = messageId as string;
    const operations = patch as readonly JsonObject[];
    const content = this.#patch(nameActivity(id), `activity ${id}`, operations, issues);
    const type = findActivityEvent(activityType);
    if (content === undefined || type === undefined) return undefined;
    const event = (type === "todo_list" ? readItemChange(operations, content) : undefined) ?? {
      ...copyJson(toJsonObject(content)),
      type,
    };
    return findLoomEventFault(event) === undefined ? event : undefined;
  }

  #set(key: string, value: Json): void {
    this.#delete(key);
    const text = JSON.stringify(value);
    if (this.#held + text.length > MAX_REPLY_CHARACTERS) {
      this.#isIncomplete = true;
      return;
    }
    this.#held += text.length;
    this.#targets.set(key, { text, patched: undefined, size: text.length });
  }

  #delete(key: string): void {
    const known = this.#targets.get(key);
    if (known === undefined) return;
    this.#held -= sizeOf(known);
    this.#targets.delete(key);
  }

  /** Returns the changed value, which the next patch changes again. */
  #patch(key: string, name: string, patch: readonly JsonObject[], issues: Issue[]): Json | undefined {
    const target = this.#targets.get(key);
    if (target === undefined) {
      if (!this.#isIncomplete && !this.#targets.evicted)
        report(
          issues,
          "ag-ui-delta-first",
          `${name} changes before its snapshot: send ${key === STATE ? "`STATE_SNAPSHOT`" : "`ACTIVITY_SNAPSHOT`"} first`,
        );
      return undefined;
    }
    target.patched ??= new PatchedValue(JSON.parse(target.text ?? "null") as Json);
    target.text = undefined;
    const before = target.patched.added;
    const fault = target.patched.apply(patch, MAX_REPLY_CHARACTERS - this.#held);
    this.#held += target.patched.added - before;
    if (fault === undefined) return target.patched.value;
    report(issues, "ag-ui-patch", `the change of ${name} is dropped: ${fault}`);
    return undefined;
  }
}

function sizeOf({ size, patched }: PatchTarget): number {
  return size + (patched?.added ?? 0);
}

function nameActivity(messageId: string): string {
  return `activity ${messageId}`;
}

/** Returns the change of each channel of the state; undefined if only the whole state says it. */
function readChange(
  patch: readonly JsonObject[],
  state: Json,
): { readonly [channel: string]: ChannelPatch } | undefined {
  if (!isJsonObject(state)) return undefined;
  const changes = new Map<string, { append?: Json[]; merge?: [string, Json][] }>();
  for (const { op, path, from, value } of patch) {
    if (op === "test") continue;
    const tokens = readPointer(path) as readonly string[];
    const source = op === "move" ? (readPointer(from) as readonly string[]) : undefined;
    if (tokens.length === 0 || (tokens.length === 1 && op === "remove") || (source?.length ?? 2) < 2) return undefined;
    if (source !== undefined) changes.set(source[0] as string, {});
    const [channel = "", key = ""] = tokens;
    const known = changes.get(channel);
    const isAdded = tokens.length === 2 && (op === "add" || op === "replace") && value !== undefined;
    if (isAdded && op === "add" && key === "-" && Array.isArray(state[channel])) {
      if (known === undefined) changes.set(channel, { append: [value] });
      else if (known.append !== undefined) known.append.push(value);
    } else if (isAdded && isJsonObject(state[channel])) {
      if (known === undefined) changes.set(channel, { merge: [[key, value]] });
      else if (known.merge !== undefined) known.merge.push([key, value]);
    } else changes.set(channel, {});
  }
  return Object.fromEntries(
    Array.from(changes, ([channel, { append, merge }]): [string, ChannelPatch] => {
      if (append !== undefined) return [channel, { append: copyJson(append) }];
      if (merge !== undefined) return [channel, { merge: copyJson(Object.fromEntries(merge)) }];
      return [channel, { set: copyJson(state[channel] ?? null) }];
    }),
  );
}

/** Returns the change of one item of a to-do list; undefined if the patch changes anything else. */
function readItemChange(patch: readonly JsonObject[], list: Json): AnyEvent | undefined {
  const { list_id, items } = toJsonObject(list);
  const changes = patch.map(({ op, path, value }) => {
    const [, index = "", field] = /^\/items\/(\d+)\/(text|completed)$/.exec(path as string) ?? [];
    const item = Array.isArray(items) ? toJsonObject(items[Number(index)]) : {};
    return {
      item_id: op === "replace" && field !== undefined ? item["id"] : undefined,
      change: { [field ?? ""]: value },
    };
  });
  const [first] = changes;
  if (first === undefined || changes.some(({ item_id }) => item_id === undefined || item_id !== first.item_id))
    return undefined;
  const change = Object.assign({}, ...changes.map(({ change: each }) => each)) as JsonObject;
  return { type: "todo_update", list_id, item_id: first.item_id, ...change } as AnyEvent;
}
