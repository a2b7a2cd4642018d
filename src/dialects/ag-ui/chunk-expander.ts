/**
 * Expands `TEXT_MESSAGE_CHUNK`, `TOOL_CALL_CHUNK` and `REASONING_MESSAGE_CHUNK` to start, content and end, as clients of
 * AG-UI do. What a chunk started ends with the next event of the same subagent that is not a chunk of it.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Issue } from "../../protocol/rules.ts";
import { dropMissing } from "../../protocol/drop-undefined.ts";
import { report } from "./rules.ts";

const MAX_LANES = 1000;

interface ChunkKind {
  readonly id: "messageId" | "toolCallId";
  readonly start: string;
  readonly content: string;
  readonly end: string;
}

const CHUNKS: { readonly [type: string]: ChunkKind | undefined } = {
  TEXT_MESSAGE_CHUNK: {
    id: "messageId",
    start: "TEXT_MESSAGE_START",
    content: "TEXT_MESSAGE_CONTENT",
    end: "TEXT_MESSAGE_END",
  },
  TOOL_CALL_CHUNK: { id: "toolCallId", start: "TOOL_CALL_START", content: "TOOL_CALL_ARGS", end: "TOOL_CALL_END" },
  REASONING_MESSAGE_CHUNK: {
    id: "messageId",
    start: "REASONING_MESSAGE_START",
    content: "REASONING_MESSAGE_CONTENT",
    end: "REASONING_MESSAGE_END",
  },
};
/** Events that may come between the chunks of a message. */
const BETWEEN: ReadonlySet<string> = new Set([
  "RAW",
  "ACTIVITY_SNAPSHOT",
  "ACTIVITY_DELTA",
  "REASONING_ENCRYPTED_VALUE",
  "SUBAGENT_STARTED",
]);
/** Events that end the messages of all subagents. */
const ENDS_ALL: ReadonlySet<string> = new Set(["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"]);

interface ChunkLane {
  readonly kind: ChunkKind;
  readonly id: string;
}

/** Expands the chunks of one stream. */
export class ChunkExpander {
  /** What is open, by subagent. */
  readonly #lanes = new BoundedMap<ChunkLane>(MAX_LANES);

  /** Returns the events that the frame stands for. Undefined for a first chunk without its ID or name. */
  expand(type: string, frame: JsonObject, issues: Issue[]): readonly JsonObject[] | undefined {
    const kind = Object.hasOwn(CHUNKS, type) ? CHUNKS[type] : undefined;
    if (kind === undefined && this.#lanes.size === 0) return [frame];
    const { subagentRunId } = frame;
    const owner = typeof subagentRunId === "string" ? subagentRunId : "";
    if (kind === undefined) {
      if (BETWEEN.has(type)) return [frame];
      const owners = ENDS_ALL.has(type) ? [...this.#lanes.keys()] : [owner];
      return [...owners.flatMap((each) => this.#end(each)), frame];
    }
    const { delta, ...rest } = frame;
    const lane = this.#lanes.get(owner);
    const id = frame[kind.id] ?? (lane?.kind === kind ? lane.id : undefined);
    const isOpen = lane?.kind === kind && lane.id === id;
    if (typeof id !== "string" || (type === "TOOL_CALL_CHUNK" && !isOpen && frame["toolCallName"] == null)) {
      report(issues, "ag-ui-chunk-first", `the first \`${type}\` lacks its ID or name`);
      return undefined;
    }
    const frames: JsonObject[] = [];
    if (!isOpen) {
      frames.push(...this.#end(owner));
      const role = type === "REASONING_MESSAGE_CHUNK" ? { role: "reasoning" } : {};
      frames.push({ ...rest, ...role, type: kind.start });
      this.#lanes.set(owner, { kind, id });
    }
    if (typeof delta === "string") {
      const { timestamp } = frame;
      frames.push({ type: kind.content, [kind.id]: id, delta, ...dropMissing({ subagentRunId, timestamp }) });
    }
    return frames;
  }

  #end(owner: string): readonly JsonObject[] {
    const lane = this.#lanes.get(owner);
    if (lane === undefined) return [];
    this.#lanes.delete(owner);
    const end = { type: lane.kind.end, [lane.kind.id]: lane.id };
    return [owner === "" ? end : { ...end, subagentRunId: owner }];
  }
}
