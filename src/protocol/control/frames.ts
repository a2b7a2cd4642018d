/**
 * The control frames of `WS /v1/ws`, declared once: what a client asks on a socket that carries many sessions, and what
 * it is told. A frame is one flat JSON object with its `type`, and one text message of the socket. Only the generator
 * reads this file at run time: decoding needs the generated code alone, so that no page carries these sentences.
 *
 * A stream is known by its session and dialect, so that one `frames` message is the same for all who have asked alike,
 * and can be written once for all of them. What is between one socket and the server (`id`) stands in other messages.
 *
 * `frames` holds the texts of frames as strings, not as JSON values. A text that goes through a JSON value need not come
 * out the same (keys like "1" move to the front, `1.0` becomes `1`, a bare text is none), and what is received must be
 * what was sent. It costs a fifth more characters and 0.2 µs a frame where it is written, once for all readers; reading
 * is 1.7 times as fast as writing every value out again to have its text.
 */
import {
  boolean,
  count,
  duration,
  type Field,
  listOf,
  map,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../schema.ts";

const SECTION = "`WS /v1/ws`";

const id = required(string, "Chosen by the client; the answer bears it", "由客户端选定；应答携带同一值");
const commandId = required(
  string,
  "Chosen by the client; asked again with the same id it is the same command, and gets the same answer",
  "由客户端选定；以相同 ID 重发视为同一命令，得到同一结果",
);
const echo = optional(string, "That of the frame this answers", "所应答帧的 ID");
const session = required(string, "Id of the session", "会话 ID");
const dialect = required(string, "Name of the dialect", "方言名");
const askedDialect = optional(string, "Name of the dialect; `loom` when absent", "方言名；缺省为 loom");

function frame(en: string, zh: string, fields: { readonly [name: string]: Field }): Shape {
  return { section: SECTION, about: { en, zh }, fields };
}

/** From the client to the server. */
export const UP_FRAMES = {
  subscribe: frame("Asks for the frames of a session", "订阅会话", {
    id,
    session,
    dialect: askedDialect,
    modes: optional(
      listOf(string),
      "Only these kinds of events, with states whole: any of `messages`, `tools`, `nodes`, `updates`, `values`, `custom`, `checkpoints`, or `all`; when absent all but the states of graphs, which are stored as what changed",
      "仅订阅这些类别（状态完整）：messages、tools、nodes、updates、values、custom、checkpoints 或 all；缺省为除以增量存储的图状态外的全部",
    ),
    after: optional(
      string,
      "Go on after this place: a cursor, or the event_id of a record as digits; from the first record that is held when absent",
      "从此处之后继续：游标，或以数字表示的 event_id；缺省从现存首条记录开始",
    ),
    skip: optional(count, "Whole frames received since `after`", "自 after 起已完整收到的帧数"),
    of: optional(
      string,
      "Any cursor of the session that is meant, where `after` is a number or absent: in one that was made anew they mean something else, and `cursor_stale` is the answer",
      "所指会话的任一游标，用于 after 为数字或缺省时：会话若已重建则以 cursor_stale 拒绝",
    ),
    follow: optional(boolean, "Go on when the end is reached; true when absent", "到达末尾后继续等待；缺省为 true"),
    limit: optional(count, "At most so many frames, then the stream ends", "最多发送的帧数，之后结束"),
  }),
  unsubscribe: frame("Wants no more of a session; nothing of it comes after the `ack`", "取消订阅；ack 之后不再有帧", {
    id,
    session,
    dialect: askedDialect,
  }),
  run: frame("A message of the user, for an agent to answer", "用户消息，启动一次运行", {
    id: commandId,
    session,
    message: required(string, "What the user says", "消息内容"),
    agent: optional(string, "Which agent", "智能体"),
    run_id: optional(
      string,
      "Id of the run; when absent it follows from session and command id, and the `ack` names it",
      "运行 ID；缺省由会话与命令 ID 推出，见 ack",
    ),
    when_busy: optional(
      oneOf("enqueue", "reject", "interrupt"),
      "When another run is live: wait for its turn (when absent), be refused as `run_live`, also where a message waits, or cancel the live one first",
      "已有运行时：排队（缺省）、以 run_live 拒绝（有消息排队时亦然）、或先取消当前运行",
    ),
    request_id: optional(
      string,
      "The caller's id for the request; kept in `run_start`",
      "调用方的请求 ID；写入 run_start",
    ),
    context: optional(
      map,
      "What the caller wants told with every callback of the run; kept in `run_start`, at most 16 KiB",
      "调用方上下文：随本运行的每个回调给出，写入 run_start，最多 16 KiB",
    ),
    attachments: optional(
      listOf(
        objectOf({
          blob_id: required(string, "A blob of the session", "会话中 blob 的 ID"),
          name: optional(string, "What it is called; its own name when absent", "名称；缺省为其自身名称"),
        }),
      ),
      "Files that the message comes with, at most 20; `unknown_blob` where one is not there",
      "随消息附上的文件，至多 20 个；不存在时以 unknown_blob 拒绝",
    ),
  }),
  cancel: frame("Stops a run, also one that has not started yet", "取消运行，包括尚未开始的", {
    id: commandId,
    session,
    run_id: required(string, "Id of the run", "运行 ID"),
    reason: optional(string, "Why", "原因"),
  }),
  approve: frame("Answers whether a tool may be called", "答复工具调用确认", {
    id: commandId,
    session,
    call_id: required(string, "Id of the tool call", "工具调用 ID"),
    run_id: optional(string, "Id of the run; the live one when absent", "运行 ID；缺省为当前运行"),
    decision: required(oneOf("approved", "rejected"), "The answer", "决定"),
    arguments: optional(map, "The arguments to call it with, where the user has edited them", "用户修改后的参数"),
    digest: optional(
      string,
      "That of the question the user has seen; `approval_mismatch` where it is another",
      "用户所见提问的 digest；不符时以 approval_mismatch 拒绝",
    ),
    reason: optional(string, "Why", "原因"),
  }),
  todo: frame("Changes an item of a to-do list", "修改待办条目", {
    id: commandId,
    session,
    list_id: required(string, "Id of the list", "清单 ID"),
    item_id: required(string, "Id of the item", "条目 ID"),
    completed: optional(boolean, "Whether it is done; unchanged when absent", "是否完成；缺省不变"),
    text: optional(string, "New text; unchanged when absent", "新内容；缺省不变"),
  }),
  ping: frame("Asks for a `pong`", "请求 pong", {
    id: optional(string, "Comes back in the `pong`", "原样返回于 pong"),
  }),
} as const satisfies { readonly [type: string]: Shape };

/** From the server to the client. */
export const DOWN_FRAMES = {
  hello: frame("The first frame of a socket", "连接的首帧", {
    version: required(count, "Of the control protocol", "控制协议版本"),
    heartbeat_ms: required(
      duration,
      "Something comes at least this often; 0 when nothing is promised",
      "至少每隔此毫秒数有一帧；0 表示不保证",
    ),
  }),
  subscribed: frame(
    "The session is there; its frames follow, or a `refusal` where the place is not good",
    "会话存在；随后发送帧，位置无效时发送 refusal",
    {
      id,
      session,
      dialect,
      first_id: required(count, "The first event_id that is held", "现存首条 event_id"),
      last_id: required(count, "The last one, when it was looked at", "查询时的末条 event_id"),
    },
  ),
  frames: frame("Frames of a session, in order; the same for all who have asked alike", "会话的帧，按序", {
    session,
    dialect,
    frames: required(listOf(string), "The text of each frame, as the dialect wrote it", "各帧原文"),
    cursor: required(string, "Where to go on after the last of them", "最后一帧之后的游标"),
  }),
  end: frame("The stream has reached its end, or its limit, and is over", "流已到末尾或上限并结束", {
    session,
    dialect,
    cursor: optional(string, "Where to go on; absent when no frame was sent", "继续位置；未发送帧时缺省"),
  }),
  ack: frame("A command or an `unsubscribe` was carried out, or waits", "命令已执行或等待中", {
    id,
    result: optional(
      map,
      "What came of it: `event_id` of the record it became, `run_id` of the run, `effect: false` where nothing was to do",
      "结果：event_id、run_id；无事可做时 effect 为 false",
    ),
    pending: optional(
      boolean,
      "True: it is written down and waits for its turn; ask again with the same id to learn the outcome",
      "为 true：已记录、等待执行；以相同 ID 再问可得结果",
    ),
  }),
  refusal: frame("No, and why: of one frame or one stream, never of the socket", "拒绝及原因；只影响一帧或一个流", {
    id: optional(
      string,
      "Of the frame that is refused; of its `subscribe` where a stream breaks off; absent where it could not be read",
      "被拒帧的 ID；流中断时为其 subscribe 的 ID；无法读取时缺省",
    ),
    session: optional(string, "Id of the session", "会话 ID"),
    dialect: optional(string, "Name of the dialect, where a stream is refused", "拒绝流时的方言名"),
    code: required(string, "Error code", "错误代码"),
    message: required(string, "For people", "错误信息"),
    details: optional(map, "For programs", "详情"),
  }),
  heartbeat: frame("Nothing else was to send", "心跳", {
    ts: optional(count, "When, in milliseconds since 1970", "毫秒时间戳"),
  }),
  pong: frame("Answers a `ping`", "应答 ping", { id: echo }),
} as const satisfies { readonly [type: string]: Shape };
