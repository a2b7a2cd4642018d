/** The parts of an answer: thinking, tools, approvals, lists, errors, sources, images, tables and charts. */
import type { ReactNode } from "react";
import type { LoomEvent } from "loom-agent/protocol";
import type { UiLanguage } from "loom-agent/react";
import { Pressed } from "./pressed.tsx";
import { pick, RunScene, say, type Scene } from "./scene.tsx";

/** A run with these events, which has ended or still goes on. */
function showParts(
  events: readonly LoomEvent[],
  { isOver = true, message }: { readonly isOver?: boolean; readonly message?: string } = {},
): ReactNode {
  return (
    <RunScene
      write={(session) => {
        session
          .begin("run-1", message === undefined ? {} : { message })
          .put({ type: "node_enter", id: "think" }, ...events);
        if (isOver) session.end();
      }}
    />
  );
}

const ponder = (language: UiLanguage): string =>
  pick(
    language,
    "The question is about the highest tides.\nSpring tides happen at new moon and at full moon.\nThose near the equinoxes are the highest.",
    "问题是关于最高的潮汐。\n大潮发生在新月和满月。\n春分和秋分前后的最高。",
  );
const think = (language: UiLanguage): LoomEvent => ({
  type: "reasoning_chunk",
  id: "think",
  content: ponder(language),
  stage: "planning",
});

const PATH = { path: "notes/tides.md" };
const call = (name: string, args: { readonly [name: string]: string | number }): LoomEvent => ({
  type: "tool_call",
  call_id: "call-1",
  name,
  arguments: args,
});
const place = { call_id: "call-1", name: "read_file" };
const FILE_LINES = Array.from(
  { length: 120 },
  (_, line) => `2025-03-${(line % 28) + 1}  high water  ${4 + (line % 9) / 10} m`,
);

function showTool(...events: readonly LoomEvent[]): ReactNode {
  const isOver = events.some(({ type }) => type === "tool_end");
  return (
    <Pressed selector={isOver ? ".loom-tool [aria-expanded=false]:not([aria-haspopup])" : ""}>
      {showParts([call("read_file", PATH), { type: "tool_start", ...place }, ...events], { isOver })}
    </Pressed>
  );
}

function ask(language: UiLanguage, name: string, args: { readonly [name: string]: string | number }): ReactNode {
  const asked = { call_id: "call-1", name, arguments: args };
  return showParts([call(name, args), { type: "tool_approval", ...asked }], {
    isOver: false,
    message: pick(language, "Write the notes to a file", "把笔记写入文件"),
  });
}

function list(language: UiLanguage, count: number, done: number): LoomEvent {
  return {
    type: "todo_list",
    list_id: "list-1",
    title: pick(language, "Product launch", "产品发布"),
    items: Array.from({ length: count }, (_, index) => ({
      id: `item-${index}`,
      text: pick(language, `Step ${index + 1}: prepare the material`, `第 ${index + 1} 步：准备材料`),
      completed: index < done,
    })),
  };
}

const error = (language: UiLanguage, recoverable: boolean): LoomEvent => ({
  type: "error",
  message: pick(language, "The search service refused the request", "搜索服务拒绝了请求"),
  code: "rate_limited",
  error_type: "system",
  recoverable,
  details: { status: 429, retry_after: 30 },
});

const CITIES = [
  ["Tokyo", "Japan", 37_194_105],
  ["Delhi", "India", 33_807_403],
  ["Shanghai", "China", 29_867_918],
  ["Cairo", "Egypt", 22_623_874],
] as const;

function table(language: UiLanguage, count: number): LoomEvent {
  const columns = pick(language, ["city", "country", "people"], ["城市", "国家", "人口"]);
  const rows = Array.from({ length: count }, (_, index) => [...(CITIES[index % CITIES.length] ?? [])]);
  return { type: "data", data_type: "dataframe", data: { name: pick(language, "Cities", "城市"), columns, rows } };
}

function chart(language: UiLanguage, mark: string): LoomEvent {
  const rows = pick(
    language,
    [
      ["design", 8],
      ["build", 20],
      ["marketing", 12],
    ],
    [
      ["设计", 8],
      ["开发", 20],
      ["市场", 12],
    ],
  );
  const title = pick(language, "Budget in days", "预算（天）");
  return {
    type: "data",
    data_type: "chart",
    data: { title, mark, columns: pick(language, ["task", "days"], ["任务", "天数"]), rows },
  };
}

const sources = (language: UiLanguage, count: number): LoomEvent => ({
  type: "retrieval_complete",
  doc_count: count,
  query: pick(language, "highest tides", "最高的潮汐"),
  sources: Array.from({ length: count }, (_, index) => ({
    title: pick(language, `Tides and currents ${index + 1}`, `潮汐与海流 ${index + 1}`),
    uri: index === 0 ? "https://example.org/tides" : `tides-${index}.md`,
    snippet: pick(language, "Spring tides near the equinoxes are the highest.", "春分和秋分前后的大潮最高。"),
    ref: index + 1,
  })),
});

/** A blue square. */
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const PART_SCENES: readonly Scene[] = [
  {
    component: "thinking",
    modules: [
      "parts/thinking-item",
      "parts/thought-series-item",
      "parts/log-box",
      "parts/part-item",
      "parts/part-menu",
    ],
    states: {
      streaming: (language) => showParts([think(language)], { isOver: false }),
      finished: (language) => showParts([think(language), { type: "reasoning_end", id: "think", duration_ms: 3200 }]),
      open: (language) => (
        <Pressed selector=".loom-thinking [aria-expanded=false]:not([aria-haspopup])">
          {showParts([think(language), { type: "reasoning_end", id: "think", duration_ms: 3200 }])}
        </Pressed>
      ),
      long: (language) => (
        <RunScene
          write={(session) => {
            session.begin("run-1");
            for (let node = 1; node <= 6; node++)
              session
                .putAt(`node-${node}`, { type: "node_enter", id: `think-${node}` })
                .putAt(`node-${node}`, { ...think(language), id: `think-${node}` } as LoomEvent)
                .putAt(`node-${node}`, { type: "reasoning_end", id: `think-${node}`, duration_ms: 1000 });
            session.end();
          }}
        />
      ),
    },
  },
  {
    component: "tool",
    modules: ["parts/tool-card", "parts/arguments-view", "parts/json-view"],
    states: {
      streaming: () =>
        showParts(
          [{ type: "tool_call_chunk", call_id: "call-1", name: "read_file", arguments_delta: '{"path": "notes/ti' }],
          { isOver: false },
        ),
      running: (language) =>
        showTool({
          type: "tool_progress",
          ...place,
          progress: 40,
          message: pick(language, "Reading line 48 of 120", "正在读取第 48 行，共 120 行"),
        }),
      finished: () =>
        showTool({ type: "tool_end", ...place, result: FILE_LINES.slice(0, 3).join("\n"), is_error: false }),
      failed: (language) =>
        showTool({
          type: "tool_end",
          ...place,
          result: pick(language, "The file notes/tides.md does not exist", "文件 notes/tides.md 不存在"),
          is_error: true,
          error_code: "not_found",
        }),
      long: () => showTool({ type: "tool_end", ...place, result: FILE_LINES.join("\n"), is_error: false }),
    },
  },
  {
    component: "approval",
    modules: ["parts/approval-card", "parts/approval-form", "parts/approval-fields"],
    states: {
      waiting: (language) =>
        ask(language, "write_file", {
          ...PATH,
          content: pick(language, "# Tides\n\nTwice a day.\n", "# 潮汐\n\n每天两次。\n"),
        }),
      "waiting for a fetch": (language) => ask(language, "fetch_url", { url: "https://example.org/tides" }),
      "waiting for another tool": (language) => ask(language, "book_ship", { harbour: "Brest", day: 12 }),
      rejected: (language) => {
        const asked = { call_id: "call-1", name: "write_file", arguments: { ...PATH } };
        const reason = pick(language, "Use another folder", "请使用其他文件夹");
        return showParts([
          call("write_file", PATH),
          { type: "tool_approval", ...asked },
          { type: "tool_approval_result", ...asked, decision: "rejected", reason },
          { type: "tool_end", call_id: "call-1", name: "write_file", result: reason, is_error: true },
        ]);
      },
      long: (language) => ask(language, "write_file", { ...PATH, content: FILE_LINES.join("\n") }),
    },
  },
  {
    component: "to-do list",
    modules: ["parts/todo-card", "ui/indicators"],
    states: {
      empty: (language) => showParts([list(language, 0, 0)]),
      started: (language) => showParts([list(language, 4, 1)], { isOver: false }),
      finished: (language) => showParts([list(language, 4, 4)]),
      long: (language) => showParts([list(language, 120, 30)]),
    },
  },
  {
    component: "error",
    modules: ["parts/error-banner"],
    states: {
      recoverable: (language) => showParts([error(language, true)], { isOver: false }),
      failed: (language) => showParts([error(language, false)]),
    },
  },
  {
    component: "sources",
    modules: ["parts/references-item"],
    states: {
      empty: (language) => showParts([sources(language, 0)]),
      finished: (language) =>
        showParts([sources(language, 2), say(pick(language, "At the equinoxes [1].", "在春分和秋分 [1]。"))]),
      open: (language) => (
        <Pressed selector=".loom-part-references [aria-expanded=false]:not([aria-haspopup])">
          {showParts([sources(language, 2)])}
        </Pressed>
      ),
      long: (language) => showParts([sources(language, 30)]),
    },
  },
  {
    component: "image",
    modules: ["parts/image-item", "parts/image-viewer", "parts/attachment-list"],
    states: {
      finished: () => showParts([{ type: "image", url: PIXEL, alt: "Blue" }]),
      blocked: () => showParts([{ type: "image", url: "https://example.org/tide.png", alt: "A tide" }]),
      failed: () => showParts([{ type: "image", url: "data:image/png;base64,AAAA", alt: "A tide" }]),
    },
  },
  {
    component: "table",
    modules: ["data/data-table", "data/table-grid", "data/table-pages", "data/data-view"],
    states: {
      empty: (language) => showParts([table(language, 0)]),
      finished: (language) => showParts([table(language, 4)]),
      long: (language) => showParts([table(language, 400)]),
    },
  },
  {
    component: "chart",
    modules: ["data/chart-view", "web/plugins/chart-plugin"],
    states: {
      bar: (language) => showParts([chart(language, "bar")]),
      line: (language) => showParts([chart(language, "line")]),
      pie: (language) => showParts([chart(language, "pie")]),
    },
  },
  {
    component: "data",
    modules: ["data/data-tree"],
    states: {
      finished: () =>
        showParts([{ type: "data", data_type: "custom", data: { harbour: "Brest", tides: [4.2, 7.1], open: true } }]),
    },
  },
];
