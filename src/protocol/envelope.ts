/**
 * The envelope (001 §2): what says where a frame belongs. Declared here once, like an event; its type is generated.
 * On the flat `loom` wire its fields stand beside the payload; in memory they are kept apart, so that nothing collides.
 */
import { additional, count, map, number, optional, type Shape, string } from "./schema.ts";

export const ENVELOPE = {
  section: "001 §2",
  about: { en: "Where a frame belongs", zh: "帧的归属（信封字段）" },
  fields: {
    session_id: optional(string, "The conversation; constant over its turns", "会话 ID，会话内不变"),
    run_id: additional(
      string,
      "The run, one user turn; absent on records that belong to no run",
      "所属运行；不属于任何运行的记录不带",
    ),
    node_id: optional(
      string,
      "The node run; shared from node_enter to node_exit, may repeat in later runs",
      "节点运行 ID；node_enter 到 node_exit 共享，跨运行可重复",
    ),
    event_id: optional(count, "Position in the session's stream: unique, growing", "流内序号：唯一且递增"),
    ts: additional(number, "When it happened, in milliseconds since 1970", "发生时间（毫秒）"),
    prev_event_id: additional(
      count,
      "On a filtered stream: event_id of the frame sent before this one",
      "过滤流中，前一已发送帧的 event_id",
    ),
    ext: additional(
      map,
      "What another dialect's frame had and no field here holds, by dialect",
      "其他方言帧中此处无对应字段的内容，按方言存放",
    ),
  },
} as const satisfies Shape;

/** `got_expand` has a payload field `node_id`; on the flat wire the span's own goes here. */
export const SPAN_NODE_ID = additional(
  string,
  "On got_expand only: the node run's id, since node_id is the payload's there",
  "仅用于 got_expand：节点运行 ID（该帧的 node_id 属于载荷）",
);
