import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { createReceiver } from "../../client/index.ts";
import { Countdown } from "../parts/clock-text.tsx";
import { StageLine } from "../thoughts/stage.tsx";
import { UiProvider } from "./ui-context.tsx";

const say = (left: string): string => `${left} left`;

describe("useNow", () => {
  it("returns the time the page provides", () => {
    const html = renderToStaticMarkup(
      <UiProvider now={() => 90_000}>
        <Countdown until={93_500} formatLeft={say} expiredText="over" />
        <Countdown until={90_000} formatLeft={say} expiredText="over" />
      </UiProvider>,
    );
    expect(html.replaceAll(/<[^>]+>/g, "|")).toBe("|4 s left||over|");
  });

  it("returns the system time otherwise", () => {
    const html = renderToStaticMarkup(<Countdown until={Date.now() + 100_000} formatLeft={say} expiredText="over" />);
    expect(html).toContain("1 min");
  });
});

describe("isQuiet", () => {
  const receiver = createReceiver();
  const source = receiver.open({ dialect: "loom" });
  const frame = { session_id: "s", run_id: "r", event_id: 1, ts: 1000, type: "run_start", message: "hi" };
  source.push(JSON.stringify({ ...frame, contiguous: true }));
  const [turn] = receiver.session("s").getSnapshot()?.turns ?? [];

  it("turns off stage announcements", () => {
    if (turn === undefined) throw new Error("the run was not received");
    const line = <StageLine turn={turn} />;
    expect(renderToStaticMarkup(line)).toContain('role="status"');
    const quiet = renderToStaticMarkup(
      <UiProvider isQuiet now={() => 4000}>
        {line}
      </UiProvider>,
    );
    expect(quiet).not.toContain("role=");
    expect(quiet).toContain("3 s");
  });
});
