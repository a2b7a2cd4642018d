// The parts where there is no page: rendered to text, as a server does. What they do in a page is tested in test/page.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { MessagePart, ThinkingPart, TodoList, ToolCall, ToolCallStatus } from "../../client/index.ts";
import { type Language, type Ui, UiProvider } from "../index.ts";
import { KeptStates, KeptStatesProvider } from "../ui/kept-state.tsx";
import { FailedPart } from "./part-boundary.tsx";
import { PartItem } from "./part-item.tsx";

const EVIL = `"><img src=x onerror=alert(1)><script>alert(2)</script>`;

interface Options extends Partial<Ui> {
  readonly isLive?: boolean;
  readonly todoList?: TodoList;
  /** What its reader has chosen. */
  readonly states?: KeptStates;
}

/** The part was opened. */
function createOpened(): KeptStates {
  const states = new KeptStates();
  states.write("t/k/open", true);
  return states;
}

function render(part: MessagePart, { isLive = true, todoList, states, ...ui }: Options = {}): string {
  const item = createElement(PartItem, { part, turnKey: "t", runId: "r", isLive, todoList });
  const children = createElement(KeptStatesProvider, { states, children: item });
  return renderToStaticMarkup(createElement(UiProvider, { ...ui, children }));
}

function tool(fields: Partial<ToolCall>): MessagePart {
  const call: ToolCall = {
    toolId: "c",
    toolName: "search",
    arguments: { query: "loom" },
    argumentsText: "",
    argumentsInvalid: false,
    status: "ready",
    output: "",
    ...fields,
  };
  return { type: "tool", key: "k", call };
}

const statuses: { readonly [S in ToolCallStatus]: readonly [en: string, zh: string] } = {
  streaming: ["Writing arguments", "正在编写参数"],
  ready: ["Ready", "已就绪"],
  awaiting_approval: ["Waiting for approval", "等待批准"],
  running: ["Running", "运行中"],
  success: ["Done", "完成"],
  failed: ["Failed", "失败"],
  rejected: ["Rejected", "已拒绝"],
  interrupted: ["Interrupted", "已中断"],
};

describe("a tool", () => {
  it.each(Object.entries(statuses))("that is %s says so in both languages, with a sign", (status, words) => {
    for (const [index, language] of (["en", "zh"] as const satisfies Language[]).entries()) {
      const html = render(tool({ status: status as ToolCallStatus }), { language });
      expect(html).toContain(words[index]);
      expect(html).toMatch(/loom-badge[^>]*>(?:<svg|<span class="loom-spinner")/);
      expect(html).toContain(`aria-expanded="${status !== "success"}"`);
    }
  });

  it("tells what it was given in one line when it went well", () => {
    const html = render(tool({ status: "success", arguments: { query: "loom", limit: 5 }, durationMs: 1500 }));
    expect(html).toContain("query: loom, limit: 5");
    expect(html).toContain("1.5 s");
  });

  it("shows as much of its output, arguments and result as has room", () => {
    const lines = Array.from({ length: 100_000 }, (_, index) => `line ${index}`).join("\n");
    const html = render(
      tool({ status: "running", output: lines, arguments: { text: lines, list: lines.split("\n") } }),
    );
    expect(html.length).toBeLessThan(30_000);
    expect(html).toContain("line 99999");
    const result = render(tool({ status: "failed", result: { text: "", data: lines.split("\n") } }));
    expect(result.length).toBeLessThan(30_000);
    expect(result).toContain("Show 50 more of 99,950");
  });

  it("shows the end of what is being written", () => {
    const text = `${"a ".repeat(2000)}the end`;
    expect(render(tool({ status: "streaming", arguments: { text } }))).toContain("the end");
    expect(render(tool({ status: "ready", arguments: { text } }))).not.toContain("the end");
    expect(render(tool({ status: "streaming", arguments: {}, argumentsText: '{"que' }))).toContain("{&quot;que");
  });

  it("tells how far it is", () => {
    const html = render(tool({ status: "running", progress: 40, progressMessage: "Reading" }));
    expect(html).toContain('value="40"');
    expect(html).toContain("Reading");
    expect(render(tool({ status: "success", progress: 40 }))).not.toContain("<progress");
  });

  it("tells its error with its code", () => {
    const html = render(tool({ status: "failed", error: { message: "no answer", code: "tool_timeout" } }));
    expect(html).toContain("no answer");
    expect(html).toContain("tool_timeout");
  });
});

describe("a question", () => {
  const pending = { decision: "pending", arguments: { to: "alice" } } as const;
  const approve = { approve: () => Promise.resolve({ kind: "done" } as const) };

  it("can be answered where there is a way to, and while its run goes", () => {
    const part = tool({ status: "awaiting_approval", approval: pending });
    expect(render(part, { actions: approve })).toContain("Approve");
    expect(render(part)).toContain("It cannot be given here.");
    expect(render(part, { actions: approve, isLive: false })).toContain("The run ended before this was answered.");
  });

  it("is no form, so that Enter answers nothing", () => {
    const html = render(tool({ status: "awaiting_approval", approval: pending }), { actions: approve });
    expect(html).not.toMatch(/<form|type="submit"|autofocus/i);
  });

  it("shows what was decided, by whom and why", () => {
    const by = { arguments: {}, actor: "bob", reason: "too risky" };
    const rejected = render(tool({ status: "rejected", approval: { ...by, decision: "rejected" } }));
    expect(rejected).toContain("Rejected by bob");
    expect(rejected).toContain("too risky");
    expect(render(tool({ status: "running", approval: { ...by, decision: "approved" } }))).toContain("Approved by bob");
    expect(render(tool({ status: "rejected", approval: { decision: "expired", arguments: {} } }))).toContain("in time");
  });
});

describe("thinking", () => {
  const part = (fields: Partial<ThinkingPart>): MessagePart => ({
    type: "thinking",
    key: "k",
    text: "",
    channel: "reasoning",
    isComplete: false,
    ...fields,
  });

  it("is closed, with its newest line while it goes on", () => {
    const html = render(part({ text: "first\nsecond", stage: "planning" }));
    expect(html).toContain("Thinking…");
    expect(html).toContain("second");
    expect(html).not.toContain("first");
    expect(html).toContain("planning");
    expect(html).toContain('aria-expanded="false"');
  });

  it("tells how long it took", () => {
    expect(render(part({ text: "x", isComplete: true, durationMs: 3200 }))).toContain("Thought for 3.2 s");
    const html = render(part({ channel: "thought", isComplete: true, durationMs: 800 }), { language: "zh" });
    expect(html).toContain("推敲思路用时 0.8 秒");
  });

  it("shows its text when it is opened, and as much of it as has room", () => {
    const text = Array.from({ length: 10_000 }, (_, index) => `thought ${index}\n`).join("");
    const html = render(part({ text }), { states: createOpened() });
    expect(html).toContain("thought 9999");
    expect(html.length).toBeLessThan(20_000);
  });

  it("goes on no longer than its run", () => {
    expect(render(part({ text: "x" }), { isLive: false })).not.toContain("loom-spinner");
  });
});

describe("what a sender wrote", () => {
  const list = { listId: "l", title: EVIL, items: [{ id: "i", text: EVIL, completed: false }] };
  const parts: readonly MessagePart[] = [
    tool({ status: "failed", toolName: EVIL, description: EVIL, output: EVIL, arguments: { [EVIL]: EVIL } }),
    tool({ status: "failed", error: { message: EVIL, code: EVIL } }),
    tool({ status: "ready", argumentsInvalid: true, argumentsText: EVIL }),
    tool({ status: "rejected", approval: { decision: "rejected", arguments: {}, actor: EVIL, reason: EVIL } }),
    { type: "thinking", key: "k", text: EVIL, channel: "reasoning", stage: EVIL, isComplete: false },
    { type: "todo", key: "k", listId: "l" },
    { type: "image", key: "k", url: EVIL, alt: EVIL },
    { type: "image", key: "k", url: "javascript:alert(1)", alt: EVIL },
    { type: "error", key: "k", message: EVIL, code: EVIL, stage: EVIL, details: { [EVIL]: EVIL } },
    { type: "references", key: "k", query: EVIL, docCount: 1, sources: [{ title: EVIL, uri: EVIL, snippet: EVIL }] },
  ];

  it.each(parts)("is text wherever it stands: $type", (part) => {
    const html = render(part, { todoList: list, ...(part.type === "tool" ? {} : { states: createOpened() }) });
    expect(html).not.toMatch(/<script|<img|onerror=(?!alert\(1\)&gt;)|href="javascript:/i);
  });
});

describe("sources", () => {
  const sources = [
    {
      title: "Guide",
      uri: "https://example.com/guide",
      snippet: "Use it.",
      score: 0.876,
      ref: 3,
      firstLine: 2,
      lastLine: 9,
    },
    { title: "Trap", uri: "javascript:alert(1)" },
  ];
  const part: MessagePart = { type: "references", key: "k", query: "how", docCount: 5, sources };

  it("are told in one line, and open to what was found", () => {
    expect(render(part)).toContain("5 sources for “how”");
    const html = render(part, { states: createOpened() });
    for (const said of ["Guide", "Use it.", "lines 2–9 · score 0.88", ">3<", "3 more not listed"]) {
      expect(html).toContain(said);
    }
    expect(render({ ...part, docCount: 0, sources: [] })).toContain("Nothing found");
  });

  it("lead to the web and nowhere else", () => {
    const html = render(part, { states: createOpened() });
    expect(html.match(/href="[^"]*"/g)).toEqual(['href="https://example.com/guide"']);
    expect(html).toContain("javascript:alert(1)");
  });
});

describe("an error", () => {
  const part: MessagePart = { type: "error", key: "k", message: "no model", code: "model_failed", recoverable: true };
  const actions = { retry: () => undefined };

  it("can be tried again when it is recoverable and its run is over", () => {
    expect(render(part, { actions, isLive: false })).toContain("Try again");
    expect(render(part, { actions })).not.toContain("Try again");
    expect(render(part, { isLive: false })).not.toContain("Try again");
    expect(render({ ...part, recoverable: false }, { actions, isLive: false })).not.toContain("Try again");
  });

  it.each([
    ["en", "model_failed", "The model failed.", "no model"],
    ["zh", "model_failed", "模型出错了。", "no model"],
    ["zh", "constructor", "出错了。", "no model"],
    ["zh", undefined, "出错了。", ""],
  ] as const)("begins in the language of the page: %s, %s", (language, code, lead, message) => {
    const html = render({ type: "error", key: "k", message, ...(code === undefined ? {} : { code }) }, { language });
    expect(html).toContain(`<p class="loom-error-lead">${lead}</p>`);
    expect(html.split("loom-error-message")).toHaveLength(message === "" ? 1 : 2);
  });

  it("says all there is: its kind, where, in which call, and that another try does not help", () => {
    const html = render({
      ...part,
      recoverable: false,
      stage: "tool_execute",
      errorType: "timeout",
      callId: "call_7",
      details: { after: 30 },
    });
    for (const told of [
      "no model",
      "model_failed",
      "Took too long",
      "tool_execute",
      "call_7",
      "does not help",
      "Details",
    ])
      expect(html).toContain(told);
  });

  it("is said aloud when it happens, and not when it is scrolled past", () => {
    expect(render(part)).toContain('role="alert"');
    expect(render(part, { isLive: false })).not.toContain('role="alert"');
  });
});

describe("a to-do list", () => {
  const part: MessagePart = { type: "todo", key: "k", listId: "l" };
  const items = [true, true, false, false, false].map((completed, id) => ({
    id: `${id}`,
    text: `Item ${id}`,
    completed,
  }));

  it("tells how much is done, and can be ticked where there is a way to", () => {
    const html = render(part, { todoList: { listId: "l", items } });
    expect(html).toContain("2 of 5");
    expect(html.match(/<input[^>]*checked/g)).toHaveLength(2);
    expect(html).toContain("disabled");
    const actions = { changeTodo: () => Promise.resolve({ kind: "done" } as const) };
    expect(render(part, { todoList: { listId: "l", items }, actions, isLive: false })).not.toContain("disabled");
    expect(render(part)).toContain("no longer kept");
  });
});

describe("an image", () => {
  it("is fetched from where the page says, or shown by its words", () => {
    const part: MessagePart = { type: "image", key: "k", url: "https://example.com/a.png", alt: "A chart" };
    const html = render(part, { imageUrl: (url) => `/v1/images?url=${encodeURIComponent(url)}` });
    expect(html).toContain('src="/v1/images?url=https%3A%2F%2Fexample.com%2Fa.png"');
    const withheld = render(part);
    expect(withheld).not.toContain("<img");
    expect(withheld).toContain("A chart");
    expect(withheld).toContain("https://example.com/a.png");
  });
});

describe("a text", () => {
  it("holds nothing back once nothing more will come, even if it never ended", () => {
    const part: MessagePart = { type: "text", key: "k", text: "a\n\n| b | c |", format: "markdown", isComplete: false };
    expect(render(part)).not.toContain("| b | c |");
    expect(render(part, { isLive: false })).toContain("| b | c |");
  });
});

describe("what a sender hides", () => {
  const hidden = "a\u202Egnp.exe";

  it("is told in what is to be approved", () => {
    const asked = { [hidden]: hidden, deep: { [hidden]: [hidden] } };
    const html = render(
      tool({
        toolName: hidden,
        arguments: asked,
        status: "awaiting_approval",
        approval: { decision: "pending", arguments: asked },
      }),
      { actions: { approve: () => Promise.resolve({ kind: "done" }) } },
    );
    expect(html).not.toContain("\u202E");
    expect(html.match(/a⟨U\+202E⟩gnp\.exe/g)?.length).toBeGreaterThanOrEqual(4);
  });

  it("is no time to answer that is years away", () => {
    const approval = { decision: "pending", arguments: {}, expiresAt: 1e300 } as const;
    const html = render(tool({ status: "awaiting_approval", approval }));
    expect(html).not.toContain("left to answer");
    expect(html).not.toContain("e+");
  });
});

describe("a part that cannot be shown", () => {
  it("is said so in its place", () => {
    const part: MessagePart = { type: "image", key: "k", url: "x" };
    const html = renderToStaticMarkup(createElement(FailedPart, { part }));
    expect(html).toContain("This part cannot be shown.");
    expect(html).toContain("Copy as JSON");
  });
});

describe("every part", () => {
  it("leads to its frames where there is a way to", () => {
    const part: MessagePart = { type: "text", key: "k", text: "x", format: "text", isComplete: true };
    expect(render(part, { actions: { inspect: () => undefined } })).toContain("Show its frames");
    expect(render(part)).not.toContain("Show its frames");
  });
});
