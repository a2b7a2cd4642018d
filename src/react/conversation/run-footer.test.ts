// Server rendering of run footers and user messages.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { StreamState, TurnView } from "../../client/index.ts";
import type { MessageView } from "../../client/view.ts";
import { type Ui, UiProvider } from "../ui/ui-context.tsx";
import { RunFooter } from "./run-footer.tsx";
import { UserMessage } from "./user-message.tsx";

const message = (fields: Partial<MessageView>): MessageView => ({
  messageId: "m",
  role: "assistant",
  thinkingContent: "",
  mainContent: "",
  toolCalls: [],
  dataBlocks: [],
  isStreaming: false,
  hasError: false,
  metadata: { requestId: "r", startTime: 0 },
  parts: [],
  ...fields,
});

const turn = (fields: Partial<TurnView>): TurnView => ({
  key: "t",
  status: "completed",
  verified: true,
  isPartial: false,
  messages: [message({ mainContent: "forty-two" })],
  nodes: [],
  usage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 },
  modelCalls: [],
  checkpoints: [],
  compressions: [],
  others: [],
  omitted: 0,
  ...fields,
});

const renderFooter = (fields: Partial<TurnView>, ui: Partial<Ui> = {}, state?: StreamState): string => {
  const footer = createElement(RunFooter, { turn: turn(fields), state });
  return renderToStaticMarkup(createElement(UiProvider, { ...ui, children: footer }));
};

describe("RunFooter", () => {
  it("shows status, duration and token usage", () => {
    const usage = { promptTokens: 1200, completionTokens: 34, totalTokens: 1234 };
    const html = renderFooter({ durationMs: 4300, usage });
    for (const text of ["Completed", "4.3 s", "1,234 tokens (1,200 in, 34 out)", "Copy answer"]) {
      expect(html).toContain(text);
    }
    expect(renderFooter({ durationMs: 4300, usage }, { language: "zh" })).toContain(
      "1,234 token（输入 1,200，输出 34）",
    );
  });

  it("shows the reason unless the answer shows it already", () => {
    const cancelled = renderFooter({ status: "cancelled", reason: "stopped by the user", code: "cancelled" });
    expect(cancelled).toContain("Cancelled");
    expect(cancelled).toContain("stopped by the user");
    expect(cancelled).not.toContain("<code>");
    const failed = { status: "error", reason: "no model", code: "model_failed" } as const;
    expect(renderFooter(failed)).toContain("<code>model_failed</code>");
    const banner = { type: "error", key: "e", message: "no model", code: "model_failed" } as const;
    const shown = renderFooter({ ...failed, messages: [message({ parts: [banner] })] });
    expect(shown).toContain("Failed");
    expect(shown).not.toContain("no model");
    expect(shown).not.toContain("model_failed");
  });

  it("explains why a run is not verified", () => {
    expect(renderFooter({})).not.toContain("loom-run-note");
    expect(renderFooter({ verified: false })).toContain("Some events couldn&#x27;t be verified");
    const state: StreamState = { status: "complete", verified: false, undetectable: ["order", "loss"] };
    expect(renderFooter({ verified: false }, {}, state)).toContain("Completeness can&#x27;t be verified");
    expect(renderFooter({ verified: false }, { language: "zh" }, state)).toContain("无法验证完整性");
  });

  it("offers only the actions that the page provides", () => {
    expect(renderFooter({})).not.toContain("Retry");
    expect(renderFooter({}, { actions: { retry: () => undefined } })).toContain("Retry");
  });
});

const renderUser = (fields: Partial<MessageView>, ui: Partial<Ui> = {}): string => {
  const item = createElement(UserMessage, { message: message({ role: "user", ...fields }) });
  return renderToStaticMarkup(createElement(UiProvider, { ...ui, children: item }));
};

describe("UserMessage", () => {
  it("shows the text unformatted and folds long text", () => {
    expect(renderUser({ mainContent: "**not** bold <b>" })).toContain("**not** bold &lt;b&gt;");
    const html = renderUser({ mainContent: Array.from({ length: 20 }, (_, index) => `line ${index}`).join("\n") });
    expect(html).toContain("line 11");
    expect(html).not.toContain("line 12");
    expect(html).toContain("Show all");
  });

  it("offers editing if the page supports it", () => {
    expect(renderUser({ mainContent: "x" }, { actions: { edit: async () => true } })).toContain("Edit message");
    expect(renderUser({ mainContent: "x" })).not.toContain("Edit message");
  });

  it("shows attachments", () => {
    const attachments = [
      { blob_id: "a", name: "photo.png", media_type: "image/png", bytes: 10 },
      { blob_id: "b", name: "notes.txt", media_type: "text/plain", bytes: 2048 },
      { blob_id: "c", name: "evil.svg", media_type: "image/svg+xml", bytes: 5 },
    ];
    const html = renderUser(
      { attachments },
      { blobUrl: (id) => `/blobs/${id}`, imageUrl: (url) => `/proxy?url=${url}` },
    );
    expect(html.match(/<img/g)).toHaveLength(1);
    expect(html).toContain('src="/blobs/a"');
    expect(html).toContain('href="/blobs/b" download="notes.txt"');
    expect(html).toContain("2 kB");
    expect(renderUser({ attachments })).not.toContain("<img");
  });
});
