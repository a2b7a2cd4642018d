/** Sessions, their checkpoints, and what is asked of them. */
import {
  boolean,
  count,
  type Fields,
  json,
  listOf,
  map,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

const time = (en: string, zh: string) => required(count, `${en}, in milliseconds since 1970`, `${zh}（毫秒时间戳）`);
const page = {
  limit: optional(count, "At most so many, from 1 to 500; 50 when absent", "最多条数，1 到 500；缺省 50"),
  after: optional(string, "The id of the last one already listed: `next` of the answer before", "上一页的 next"),
};
const next = optional(string, "`after` of the next page; absent on the last", "下一页的 after；末页缺省");

export const RUN_FIELDS = {
  run_id: required(string, "Id of the run", "运行 ID"),
  status: required(oneOf("live", "completed", "error", "cancelled"), "How it stands", "状态"),
  first_event_id: required(count, "Its first record", "首条记录 ID"),
  last_event_id: optional(count, "Its last record; absent while it is live", "末条记录 ID；运行中缺省"),
  started_at: time("When it began", "开始时间"),
  ended_at: optional(count, "When it ended, in milliseconds since 1970", "结束时间（毫秒时间戳）"),
  code: optional(string, "Why it did not complete", "未完成的原因代码"),
  request_id: optional(string, "The caller's own id", "调用方的请求 ID"),
  agent: optional(string, "Who answers", "智能体"),
} satisfies Fields;

const SESSION_FIELDS = {
  session_id: required(string, "Id of the session", "会话 ID"),
  title: optional(string, "Its title", "标题"),
  created_at: time("When it was made", "创建时间"),
  updated_at: time("When it was made, or its latest run began or ended", "最近更新时间"),
  first_event_id: required(
    count,
    "The first record that is held; one past the last where none is",
    "现存首条记录 ID；无记录时为末条加一",
  ),
  last_event_id: required(count, "The last record; 0 in a new session", "末条记录 ID；新会话为 0"),
  bytes: required(count, "Bytes of the records held", "现存记录的字节数"),
  cursor: required(string, "The place after the last record: what comes from now on", "末条记录之后的游标"),
} satisfies Fields;

const CHECKPOINT_FIELDS = {
  checkpoint_id: required(string, "Id of the checkpoint", "检查点 ID"),
  step: required(count, "Super-step; 0 for the input", "超步；0 为输入"),
  checkpoint_ns: required(string, "Path of the subgraph; empty at the root", "子图路径；根为空"),
  run_id: optional(string, "The run it belongs to", "所属运行"),
  event_id: required(count, "Its record", "记录 ID"),
  timestamp: required(string, "ISO 8601", "ISO 8601 时间"),
  next: optional(listOf(json), "Node runs of the next super-step", "下一超步的节点"),
} satisfies Fields;

const QUEUED_FIELDS = {
  command_id: required(string, "Id of the command: the idempotency key it was sent with", "命令 ID，即幂等键"),
  run_id: required(string, "Id of the run it becomes; by this it can be cancelled", "将成为的运行 ID，可据此取消"),
  message: required(string, "What the user says", "消息内容"),
  agent: optional(string, "The agent it names", "指定的智能体"),
  attachments: optional(listOf(json), "Files that come with it", "附件"),
  created_at: time("When it was taken", "接收时间"),
} satisfies Fields;

export const SESSION_SHAPES = {
  Session: declareShape("A session", "会话", SESSION_FIELDS),
  SessionDetails: declareShape("A session and its latest runs", "会话及其最近的运行", {
    ...SESSION_FIELDS,
    runs: required(listOf(objectOf(RUN_FIELDS)), "Its latest runs, newest first, at most 20", "最近的运行，最多 20 条"),
    is_busy: required(boolean, "A run is live, or a message waits", "有运行或排队的消息"),
    queued: required(
      listOf(objectOf(QUEUED_FIELDS)),
      "Messages that wait for their turn, the next first, at most 20",
      "排队的消息，先到在前，最多 20 条",
    ),
  }),
  SessionList: declareShape("Sessions, newest first", "会话列表，新的在前", {
    sessions: required(
      listOf(
        objectOf({
          ...SESSION_FIELDS,
          match: optional(
            objectOf({
              where: required(oneOf("title", "message", "answer"), "In what it was found", "命中位置"),
              snippet: required(string, "What is around it, on one line", "命中的片段"),
              run_id: optional(string, "The run it was said in", "所属运行"),
            }),
            "Where it was found, in a search",
            "搜索命中",
          ),
        }),
      ),
      "The sessions",
      "会话",
    ),
    next,
  }),
  ListSessions: declareShape("Which sessions", "列出会话", {
    ...page,
    q: optional(string, "Only those in whose title or conversation this is found", "仅标题或内容包含此文本的会话"),
  }),
  CreateSession: declareShape("A new session", "新会话", {
    session_id: optional(string, "Its id; made up when absent", "会话 ID；缺省自动生成"),
    title: optional(string, "Its title", "标题"),
  }),
  RenameSession: declareShape("Another title", "新标题", { title: required(string, "The title", "标题") }),
  ForkSession: declareShape(
    "Where the new session parts from the old; without a place it shares all up to the run that is live",
    "分叉位置；不指定位置时共有正在进行的运行之前的全部内容",
    {
      checkpoint_id: optional(string, "The last thing both share", "共有的最后一个检查点"),
      after_event: optional(
        count,
        "In its place: the last checkpoint up to this record",
        "替代 checkpoint_id：此记录及之前的最后一个检查点",
      ),
      before_run: optional(
        string,
        "In place of both: all that was before this run began. Nothing goes on by itself; the next message does",
        "替代以上两者：此次运行开始之前的全部内容；不会自行继续，由下一条消息继续",
      ),
      session_id: optional(string, "Id of the new session; made up when absent", "新会话 ID；缺省自动生成"),
      title: optional(
        string,
        "Its title; that of the old when absent, unless nothing is shared",
        "标题；缺省沿用原会话，无共有内容时除外",
      ),
      state: optional(map, "Values in place of the checkpoint's, by channel", "按通道替换检查点的值"),
    },
  ),
  ForkedSession: declareShape("A session that was forked", "分叉出的会话", {
    ...SESSION_FIELDS,
    checkpoint_id: optional(
      string,
      "From where it goes on; absent where nothing does",
      "继续运行的检查点；无运行继续时缺省",
    ),
  }),
  ListPage: declareShape("Which part of a list", "分页", page),
  Checkpoints: declareShape("Checkpoints, newest first", "检查点列表，新的在前", {
    checkpoints: required(listOf(objectOf(CHECKPOINT_FIELDS)), "The checkpoints", "检查点"),
    next,
  }),
  Checkpoint: declareShape("A checkpoint and its state", "检查点及其状态", {
    ...CHECKPOINT_FIELDS,
    state: required(json, "The state, whole", "完整状态"),
  }),
  Runs: declareShape("Runs, newest first", "运行列表，新的在前", {
    runs: required(listOf(objectOf(RUN_FIELDS)), "The runs", "运行"),
    next,
  }),
} as const satisfies { readonly [name: string]: Shape };
