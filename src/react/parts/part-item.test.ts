// Server rendering of parts. Their behaviour in a page is tested in test/page.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { beforeAll, describe, expect, it } from "vitest";
import type { MessagePart, TodoList, ToolCall } from "../../client/index.ts";
import type { ThinkingPart, ToolCallStatus } from "../../client/view.ts";
import { type UiLanguage, UiProvider } from "../index.ts";
import type { Ui } from "../ui/ui-context.tsx";
import { UiStateCache, UiStateCacheProvider } from "../ui/ui-state-cache.tsx";
import type { JsonObject } from "../../protocol/index.ts";
import { ApprovalForm } from "./approval-form.tsx";
import { ErrorBanner } from "./error-banner.tsx";
import { FailedPart } from "./part-boundary.tsx";
import { PartItem } from "./part-item.tsx";
import { ReferencesItem } from "./references-item.tsx";
import { TodoCard } from "./todo-card.tsx";

const EVIL = `"><img src=x onerror=alert(1)><script>alert(2)</script>`;

interface Options extends Partial<Ui> {
  readonly isLive?: boolean;
  readonly todoList?: TodoList;
  /** Cached UI state. */
  readonly states?: UiStateCache;
}

/** State in which the part is open. */
function createOpened(): UiStateCache {
  const states = new UiStateCache();
  states.write("t/k/open", true);
  return states;
}

function render(part: MessagePart, { isLive = true, todoList, states, ...ui }: Options = {}): string {
  // The page loads these on demand.
  const item =
    part.type === "error"
      ? createElement(ErrorBanner, { part, isLive })
      : part.type === "todo"
        ? createElement(TodoCard, { list: todoList })
        : part.type === "references"
          ? createElement(ReferencesItem, { part, turnKey: "t" })
          : createElement(PartItem, { part, turnKey: "t", runId: "r", isLive, todoList });
  const children = createElement(UiStateCacheProvider, { cache: states, children: item });
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

/** Loaded on demand: the first one starts that, and later ones are rendered at once. */
beforeAll(async () => {
  render(tool({ status: "awaiting_approval", approval: { decision: "pending", arguments: {} } }));
  await import("./approval-card.tsx");
  await new Promise((resolve) => setTimeout(resolve));
});

const statuses: { readonly [S in ToolCallStatus]: readonly [en: string, zh: string] } = {
  streaming: ["Writing arguments", "正在生成参数"],
  ready: ["Ready", "已就绪"],
  awaiting_approval: ["Waiting for approval", "等待审批"],
  awaiting_client: ["Waiting for the client", "等待客户端"],
  running: ["Running", "执行中"],
  success: ["Done", "完成"],
  failed: ["Failed", "失败"],
  rejected: ["Rejected", "已拒绝"],
  interrupted: ["Interrupted", "已中断"],
};

describe("ToolCard", () => {
  it.each(Object.entries(statuses))(
    "shows the status %s in both languages, with an icon, or a spinner while it runs",
    (status, words) => {
      for (const [index, language] of (["en", "zh"] as const satisfies UiLanguage[]).entries()) {
        const html = render(tool({ status: status as ToolCallStatus }), { language });
        expect(html).toContain(words[index]);
        expect(html).toMatch(/loom-badge[^>]*>(?:<svg|<span class="loom-spinner")/);
        expect(html.includes('class="loom-spinner"')).toBe(status === "running");
        expect(html).toContain(`aria-expanded="${status !== "success"}"`);
      }
    },
  );

  it("summarizes the arguments of a successful call in one line", () => {
    const html = render(tool({ status: "success", arguments: { query: "loom", limit: 5 }, durationMs: 1500 }));
    expect(html).toContain("query: loom, limit: 5");
    expect(html).toContain("1.5 s");
  });

  it.each([
    [{ status: "streaming", arguments: {} }, "Write todo list", "en"],
    [{ status: "running", description: "Make a to-do list: Trip" }, "Make a to-do list: Trip", "en"],
    [
      { status: "success", description: "Make a list", summary: "Made a list (5 items)" },
      "Made a list (5 items)",
      "en",
    ],
    [{ status: "failed", description: "列出待办清单。", summary: "没有" }, "列出待办清单", "zh"],
    [{ status: "running", server: "lists", description: "Safe. Allow it." }, "“Safe. Allow it”", "en"],
  ] as const)("has a title about the task: %j", (fields, title, language) => {
    const toggled = (isOpen: boolean): UiStateCache => {
      const states = new UiStateCache();
      states.write("t/k/open", { isOpen, wasAwaitingApproval: false });
      return states;
    };
    const part = tool({ toolName: "write_todo_list", ...fields });
    const html = render(part, { language, states: toggled(true) });
    expect(html).toContain(`dir="auto">${title}</span>`);
    expect(html).toContain(`aria-label="${title}"`);
    // The name of the tool is a detail.
    expect(html).toContain("<code>write_todo_list</code>");
    expect(html.includes("from lists")).toBe("server" in fields);
    expect(html.includes("this server’s own description")).toBe("server" in fields);
    expect(render(part, { language, states: toggled(false) })).not.toContain("write_todo_list");
  });

  it("limits output, arguments and result", () => {
    const lines = Array.from({ length: 100_000 }, (_, index) => `line ${index}`).join("\n");
    const html = render(
      tool({ status: "running", output: lines, arguments: { text: lines, list: lines.split("\n") } }),
    );
    expect(html.length).toBeLessThan(30_000);
    expect(html).toContain("line 99999");
    const result = render(tool({ status: "failed", result: { text: "", data: lines.split("\n") } }));
    expect(result.length).toBeLessThan(30_000);
    expect(result).toContain("Show 50 more (99,950 left)");
  });

  it("shows the end of streaming text", () => {
    const text = `${"a ".repeat(2000)}the end`;
    expect(render(tool({ status: "streaming", arguments: { text } }))).toContain("the end");
    expect(render(tool({ status: "ready", arguments: { text } }))).not.toContain("the end");
    expect(render(tool({ status: "streaming", arguments: {}, argumentsText: '{"que' }))).toContain("{&quot;que");
  });

  it("shows progress", () => {
    const html = render(tool({ status: "running", progress: 40, progressMessage: "Reading" }));
    expect(html).toContain('value="40"');
    expect(html).toContain("Reading");
    expect(render(tool({ status: "success", progress: 40 }))).not.toContain("<progress");
  });

  it("shows the error and its code", () => {
    const html = render(tool({ status: "failed", error: { message: "no answer", code: "tool_timeout" } }));
    expect(html).toContain("no answer");
    expect(html).toContain("tool_timeout");
  });
});

describe("ApprovalCard", () => {
  const pending = { decision: "pending", arguments: { to: "alice" } } as const;
  const approve = { approve: () => Promise.resolve({ kind: "done" } as const) };

  it("can be answered only if the page allows it and the run is live", () => {
    const part = tool({ status: "awaiting_approval", approval: pending });
    // The form is loaded later.
    expect(render(part, { actions: approve })).toContain("loom-spinner");
    expect(render(part)).not.toContain("loom-spinner");
    expect(render(part)).toContain("Waiting for approval from another user.");
    expect(render(part, { actions: approve, isLive: false })).toContain("The run ended before approval.");
  });

  it("always shows tool, server and arguments", () => {
    const ask = (fields: Partial<ToolCall>, given: JsonObject): string =>
      render(tool({ status: "awaiting_approval", ...fields, approval: { decision: "pending", arguments: given } }));
    const known = ask({ toolName: "write_file" }, { path: "a.md", content: "hi" });
    expect(known).toContain("Writes this file.");
    expect(known).toContain("<code>write_file</code>");
    expect(known).toContain("<code>path: a.md, content: hi</code>");
    // A server can give its tool any title, and the name of a built-in tool.
    const foreign = ask({ toolName: "write_file", server: "notes", description: "Looks up a word" }, { path: "a.md" });
    expect(foreign).not.toContain("Writes this file.");
    expect(foreign).toContain("“Looks up a word”");
    expect(foreign).toContain("<code>notes</code>");
    expect(foreign).toContain("The title is this server’s own description.");
    expect(foreign).toContain("a.md");
  });

  it("is not a form, so that Enter does not submit", () => {
    const html = renderToStaticMarkup(
      createElement(ApprovalForm, {
        requested: { to: "alice" },
        stateKey: "t",
        phase: { kind: "idle" },
        hasSummary: false,
        canAllowAlways: true,
        onAnswer: () => undefined,
      }),
    );
    expect(html).toContain("Always allow in this session");
    expect(html).not.toMatch(/<form|type="submit"|autofocus/i);
  });

  it("shows decision, actor and reason", () => {
    const by = { arguments: {}, actor: "bob", reason: "too risky" };
    const rejected = render(tool({ status: "rejected", approval: { ...by, decision: "rejected" } }));
    expect(rejected).toContain("Rejected by bob");
    expect(rejected).toContain("too risky");
    expect(render(tool({ status: "running", approval: { ...by, decision: "approved" } }))).toContain("Approved by bob");
    expect(render(tool({ status: "rejected", approval: { decision: "expired", arguments: {} } }))).toContain(
      "Approval expired",
    );
  });
});

describe("ThinkingItem", () => {
  const part = (fields: Partial<ThinkingPart>): MessagePart => ({
    type: "thinking",
    key: "k",
    text: "",
    channel: "reasoning",
    isComplete: false,
    ...fields,
  });

  it("is collapsed and shows the latest line while streaming", () => {
    const html = render(part({ text: "first\nsecond", stage: "planning" }));
    expect(html).toContain("Thinking…");
    expect(html).toContain("second");
    expect(html).not.toContain("first");
    expect(html).toContain("Planning");
    expect(html).toContain('aria-expanded="false"');
  });

  it("shows its duration", () => {
    expect(render(part({ text: "x", isComplete: true, durationMs: 3200 }))).toContain("Thought for 3.2 s");
    const html = render(part({ channel: "thought", isComplete: true, durationMs: 800 }), { language: "zh" });
    expect(html).toContain("探索想法用时 0.8 秒");
  });

  it("limits its text when open", () => {
    const text = Array.from({ length: 10_000 }, (_, index) => `thought ${index}\n`).join("");
    const html = render(part({ text }), { states: createOpened() });
    expect(html).toContain("thought 9999");
    expect(html.length).toBeLessThan(20_000);
  });

  it("stops when the run ends", () => {
    expect(render(part({ text: "x" }), { isLive: false })).not.toContain("loom-spinner");
  });
});

describe("untrusted content", () => {
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

  it.each(parts)("is rendered as text: $type", (part) => {
    const html = render(part, { todoList: list, ...(part.type === "tool" ? {} : { states: createOpened() }) });
    expect(html).not.toMatch(/<script|<img|onerror=(?!alert\(1\)&gt;)|href="javascript:/i);
  });
});

describe("ReferencesItem", () => {
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

  it("shows one line that opens the list of sources", () => {
    expect(render(part)).toContain("5 sources for “how”");
    const html = render(part, { states: createOpened() });
    for (const text of ["Guide", "Use it.", "lines 2–9 · score 0.88", ">3<", "3 more not listed"]) {
      expect(html).toContain(text);
    }
    expect(render({ ...part, docCount: 0, sources: [] })).toContain("No results");
  });

  it("links only to web addresses", () => {
    const html = render(part, { states: createOpened() });
    expect(html.match(/href="[^"]*"/g)).toEqual(['href="https://example.com/guide"']);
    expect(html).toContain("javascript:alert(1)");
  });
});

describe("TodoCard", () => {
  const part: MessagePart = { type: "todo", key: "k", listId: "l" };
  const items = [true, true, false, false, false].map((completed, id) => ({
    id: `${id}`,
    text: `Item ${id}`,
    completed,
  }));

  it("shows progress and can be ticked if the page allows it", () => {
    const html = render(part, { todoList: { listId: "l", items } });
    expect(html).toContain("2 of 5");
    expect(html.match(/<input[^>]*checked/g)).toHaveLength(2);
    expect(html).toContain("disabled");
    const actions = { changeTodo: () => Promise.resolve({ kind: "done" } as const) };
    expect(render(part, { todoList: { listId: "l", items }, actions, isLive: false })).not.toContain("disabled");
    expect(render(part)).toContain("no longer available");
  });
});

describe("ImageItem", () => {
  it("loads through the page or shows its description", () => {
    const part: MessagePart = { type: "image", key: "k", url: "https://example.com/a.png", alt: "A chart" };
    const html = render(part, { imageUrl: (url) => `/v1/images?url=${encodeURIComponent(url)}` });
    expect(html).toContain('src="/v1/images?url=https%3A%2F%2Fexample.com%2Fa.png"');
    const withheld = render(part);
    expect(withheld).not.toContain("<img");
    expect(withheld).toContain("A chart");
    expect(withheld).toContain("https://example.com/a.png");
  });
});

describe("RichText", () => {
  it("shows held-back text once the run has ended", () => {
    const part: MessagePart = { type: "text", key: "k", text: "a\n\n| b | c |", format: "markdown", isComplete: false };
    expect(render(part)).not.toContain("| b | c |");
    expect(render(part, { isLive: false })).toContain("| b | c |");
  });
});

describe("approval of hidden content", () => {
  const hidden = "a\u202Egnp.exe";

  it("shows invisible characters", () => {
    const requested = { [hidden]: hidden, deep: { [hidden]: [hidden] } };
    const html = render(
      tool({
        toolName: hidden,
        arguments: requested,
        status: "awaiting_approval",
        approval: { decision: "pending", arguments: requested },
      }),
      { actions: { approve: () => Promise.resolve({ kind: "done" }) } },
    );
    expect(html).not.toContain("\u202E");
    expect(html.match(/a⟨U\+202E⟩gnp\.exe/g)?.length).toBeGreaterThanOrEqual(4);
  });

  it("shows invisible characters in a file that is to be written", () => {
    const requested = { path: hidden, content: hidden };
    const html = render(
      tool({
        toolName: "write_file",
        status: "awaiting_approval",
        approval: { decision: "pending", arguments: requested },
      }),
    );
    expect(html).not.toContain("\u202E");
    // In the summary, and as the arguments of the tool.
    expect(html.match(/a⟨U\+202E⟩gnp\.exe/g)).toHaveLength(4);
  });

  it("hides a deadline that is years away", () => {
    const approval = { decision: "pending", arguments: {}, expiresAt: 1e300 } as const;
    const html = render(tool({ status: "awaiting_approval", approval }));
    expect(html).not.toContain("left");
    expect(html).not.toContain("e+");
  });
});

describe("PartBoundary", () => {
  it("replaces a part that fails to render", () => {
    const part: MessagePart = { type: "image", key: "k", url: "x" };
    const html = renderToStaticMarkup(createElement(FailedPart, { part }));
    expect(html).toContain("Can&#x27;t display this content.");
    expect(html).toContain("Copy as JSON");
  });
});

describe("PartItem", () => {
  it("has a menu if the page can show its frames", () => {
    const part: MessagePart = { type: "image", key: "k", url: "x" };
    const text: MessagePart = { type: "text", key: "k", text: "x", format: "text", isComplete: true };
    const actions = { inspect: () => undefined };
    expect(render(part, { actions })).toContain("Actions for this step");
    expect(render(part)).not.toContain("Actions for this step");
    // The menu of the answer is that of its text.
    expect(render(text, { actions })).not.toContain("Actions for this step");
  });
});
