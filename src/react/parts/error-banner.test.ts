import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { TurnView } from "../../client/index.ts";
import type { ErrorPart } from "../../client/view.ts";
import { RunContext } from "../conversation/run-context.ts";
import { type UiLanguage, UiProvider } from "../index.ts";
import type { Ui } from "../ui/ui-context.tsx";
import { ErrorBanner } from "./error-banner.tsx";
import { RunNotice } from "./run-notice.tsx";

function render(part: ErrorPart, { isLive = true, ...ui }: Partial<Ui> & { readonly isLive?: boolean } = {}): string {
  const children = createElement(ErrorBanner, { part, isLive });
  return renderToStaticMarkup(createElement(UiProvider, { ...ui, children }));
}

describe("ErrorBanner", () => {
  const part: ErrorPart = { type: "error", key: "k", message: "no model", code: "model_failed", recoverable: true };
  const actions = { retry: () => undefined };

  it("has one action once the run has ended", () => {
    const button = "</svg>Try again</button>";
    expect(render(part, { actions, isLive: false }).split(button)).toHaveLength(2);
    expect(render({ ...part, recoverable: false }, { actions, isLive: false })).toContain(button);
    expect(render(part, { actions })).not.toContain(button);
    expect(render(part, { isLive: false })).not.toContain(button);
  });

  it.each([
    ["en", [], "Your message is kept. Try again, or choose another model."],
    ["en", [{ type: "text", key: "a" }], "The answer so far is kept. Try again, or choose another model."],
    ["zh", [{ type: "tool", key: "a" }], "已完成的步骤已保留。请重试，或选择其他模型。"],
  ] as const)("says what was kept and what to do: %s, %j", (language, parts, next) => {
    const messages = [{ role: "assistant", parts: [...parts, part] }];
    const run = { turnKey: "t", getTurn: () => ({ status: "error", messages }) as unknown as TurnView };
    const item = createElement(ErrorBanner, { part, isLive: false });
    const children = createElement(RunContext, { value: run }, item);
    const html = renderToStaticMarkup(createElement(UiProvider, { language, children }));
    expect(html).toContain(`<p class="loom-error-next">${next}</p>`);
  });

  it.each([
    ["en", "model_failed", "The model failed.", "no model"],
    ["zh", "model_failed", "模型出错。", "no model"],
    ["en", "model_rate_limited", "The model’s rate limit or quota is reached.", "no model"],
    ["zh", "model_unauthorized", "模型服务商拒绝了 API 密钥。", "no model"],
    ["zh", "constructor", "出错了。", "no model"],
    ["zh", undefined, "出错了。", ""],
  ] as const)("starts with a summary in the UI language: %s, %s", (language, code, lead, message) => {
    const html = render({ type: "error", key: "k", message, ...(code === undefined ? {} : { code }) }, { language });
    expect(html).toContain(`<p class="loom-error-lead">${lead}</p>`);
    // The words of the sender are a detail, unless the code says nothing.
    const isShown = message !== "" && lead === "出错了。";
    expect(html.split("loom-error-message")).toHaveLength(isShown ? 2 : 1);
    expect(html.includes("详细信息") || html.includes("Details")).toBe(code !== undefined);
  });

  it("offers a retry after too many attempts", () => {
    const part = { type: "error", key: "k", message: "", code: "too_many_attempts", recoverable: false } as const;
    const html = render(part, { isLive: false, actions });
    expect(html).toContain("The server stopped too often during this run.");
    expect(html).toContain("Try again");
  });

  it("leaves message, code, kind, stage and call to Details", () => {
    const html = render({
      ...part,
      recoverable: false,
      stage: "tool_execute",
      errorType: "timeout",
      callId: "call_7",
      details: { after: 30 },
    });
    for (const text of ["no model", "model_failed", "Timed out", "tool_execute", "call_7"])
      expect(html).not.toContain(text);
    expect(html).toContain("Details");
  });

  it("is a notice if another error ended the run", () => {
    const first = { ...part, key: "first", code: "tool_failed" } as ErrorPart;
    const messages = [{ role: "assistant", parts: [first, part] }];
    const run = { turnKey: "t", getTurn: () => ({ status: "error", messages }) as unknown as TurnView };
    const show = (shown: ErrorPart): string => {
      const item = createElement(ErrorBanner, { part: shown, isLive: false });
      return renderToStaticMarkup(createElement(RunContext, { value: run }, item));
    };
    expect(show(first)).toContain("A tool failed. The run continued without its result.");
    expect(show(part)).toContain("loom-error-lead");
  });

  it.each([
    ["completed", true, true],
    ["completed", undefined, true],
    ["running", true, true],
    ["running", undefined, false],
    ["cancelled", true, true],
    ["error", true, false],
  ] as const)(
    "is a notice of what was done if the run continued: %s, recoverable %s",
    (status, recoverable, isNotice) => {
      const run = { turnKey: "t", getTurn: () => ({ status, messages: [] }) as unknown as TurnView };
      const show = (language: UiLanguage): string => {
        const tooLarge = { ...part, code: "prompt_too_large", recoverable } as ErrorPart;
        const item = createElement(ErrorBanner, { part: tooLarge, isLive: false });
        const children = createElement(RunContext, { value: run }, item);
        return renderToStaticMarkup(createElement(UiProvider, { language, children }));
      };
      expect(show("en").includes("It was sent anyway.")).toBe(isNotice);
      expect(show("zh").includes("仍已发送。")).toBe(isNotice);
      expect(show("en").includes("loom-error-lead")).toBe(!isNotice);
    },
  );

  it.each([
    ["en", "prompt_too_large", "The input may be too long for the model. It was sent anyway."],
    ["zh", "prompt_too_large", "输入可能超出模型的长度限制，仍已发送。"],
    ["zh", "constructor", "出现问题，运行已继续。"],
  ] as const)("says in a notice what was done: %s, %s", (language, code, lead) => {
    const notice = createElement(RunNotice, { part: { ...part, code }, isLive: true, children: null });
    const html = renderToStaticMarkup(createElement(UiProvider, { language, children: notice }));
    expect(html).toContain(`role="status">${lead}</p>`);
    expect(html).not.toContain('role="alert"');
  });

  it("is announced only when it is new", () => {
    expect(render(part)).toContain('role="alert"');
    expect(render(part, { isLive: false })).not.toContain('role="alert"');
  });
});
