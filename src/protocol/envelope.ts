/**
 * The envelope of a frame (001 §2): session, run, node run and position. In flat `loom` frames its fields are next to
 * the payload; in memory they are kept apart, so names cannot collide.
 */
import { additional, count, map, number, optional, type Shape, string } from "./schema.ts";

/** Declaration of the envelope; its type is generated. */
export const ENVELOPE = {
  section: "001 §2",
  about: "Identifies the session, the run and the position of a frame",
  zh: "信封：标明帧所属的会话、运行和位置",
  fields: {
    session_id: optional(
      string,
      "ID of the session; stays the same for the whole conversation",
      "会话 ID，在整个会话中不变",
    ),
    run_id: additional(
      string,
      "ID of the run that the frame belongs to; absent outside a run",
      "所属运行的 ID；不属于任何运行的帧没有此字段",
    ),
    node_id: optional(
      string,
      "ID of the node run, on every frame from `node_enter` to `node_exit`; may be reused in a later run",
      "节点运行 ID，从 `node_enter` 到 `node_exit` 的每一帧都带有；后续运行中可以重复使用",
    ),
    event_id: optional(count, "Position in the session; unique and increasing", "在会话中的序号，唯一且递增"),
    ts: additional(number, "Time of the event, in milliseconds since 1970", "事件发生时间，Unix 毫秒时间戳"),
    prev_event_id: additional(
      count,
      "In a filtered stream, the `event_id` of the previous frame sent",
      "在过滤后的流中，表示上一个已发送帧的 `event_id`",
    ),
    ext: additional(
      map,
      "Fields of a frame from another dialect that have no equivalent here, keyed by dialect",
      "来自其他方言、在此没有对应字段的内容，按方言名存放",
    ),
  },
} as const satisfies Shape;

/** In flat frames, `got_expand` uses `node_id` for its payload; the node run's ID goes here. */
export const SPAN_NODE_ID = additional(
  string,
  "Only on `got_expand`: ID of the node run, because `node_id` belongs to the payload there",
);
