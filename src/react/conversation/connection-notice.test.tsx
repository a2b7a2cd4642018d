import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { SessionView } from "../../client/index.ts";
import type { StreamReason } from "../../client/view.ts";
import { UiProvider } from "../ui/ui-context.tsx";
import { ConnectionNotice, selectRefusal } from "./connection-notice.tsx";

/** The text of the notice for a session that is not received for this reason. */
function show(reason: StreamReason, language: "en" | "zh" = "en"): string {
  const session = { state: { status: "failed", reason, verified: false, undetectable: [] } } as unknown as SessionView;
  const markup = renderToStaticMarkup(
    <UiProvider language={language} actions={{}}>
      <ConnectionNotice reason={selectRefusal(session)} showsLoss />
    </UiProvider>,
  );
  return markup
    .replaceAll(/<svg.*?<\/svg>/gs, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ");
}

describe("the notice of a refused page", () => {
  it.each<[string, StreamReason, string, string]>([
    [
      "an origin",
      { code: "forbidden", message: "", details: { settings: ["dev-origins", "origins"] } },
      "--dev-origins",
      "--dev-origins",
    ],
    ["a token", { code: "unauthorized", message: "Invalid" }, "loom token create NAME", "loom token create NAME"],
    [
      "a token without a scope",
      { code: "forbidden", message: "Missing scope `read`", details: { scope: "read" } },
      "credentials of this page. Sign in again, or create a token",
      "Missing scope `read`",
    ],
    [
      "a server without authentication behind a proxy",
      { code: "forbidden", message: "A proxy added a header. Set the option `auth`, or `allowPublic: true`" },
      "The server refused the requests of this page. A proxy added a header. Set the option auth , or allowPublic: true",
      "服务器拒绝了此页面的请求。",
    ],
  ])("for %s names what to change", (_, reason, english, chinese) => {
    expect(show(reason)).toContain(english);
    expect(show(reason, "zh")).toContain(chinese);
  });

  it("is absent while a session does not exist yet", () => {
    expect(show({ code: "unknown_session", message: "" }).trim()).toBe("");
  });
});
