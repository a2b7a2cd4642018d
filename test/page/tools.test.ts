// Tools: progress, output, results and approval, in several tabs.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, type Tool } from "../../src/tools/index.ts";
import { hasChromium } from "../browser/launch.ts";
import { LONG } from "../sampling.ts";
import { createCommandModel } from "./command-model.ts";
import { findAnswer, findRun, openPage, PHONE, readEvents, readSessionId, sendMessage, waitForEnd } from "./journey.ts";
import { type PageFixture, createPageFixture } from "./page-fixture.ts";

const MARKDOWN = `# Report

| name | count |
| ---- | ----- |
| a    | 1     |

- [x] looked
- [ ] found

\`\`\`ts
const x = 1;
\`\`\`

$$\\frac{1}{2}$$

[a page](https://example.org/) and [a trap](javascript:alert(1))`;

const REMOVAL = 'remove {"path": "old.txt", "copies": 2, "force": false}';

describe.skipIf(!hasChromium)("tools on the page (skipped without Chromium)", () => {
  const model = createCommandModel();
  const removed: unknown[] = [];
  /** Ends the tool `measure`. */
  let measure: (reading: { readonly metres: number }) => void = () => undefined;
  const tools = [
    defineTool({
      name: "measure",
      description: "Measures a distance.",
      input: z.object({}),
      execute: async (_, { print, report }) => {
        print("the tape is out\n");
        report(40, "two of five");
        return new Promise((resolve) => {
          measure = resolve;
        });
      },
    }),
    defineTool({
      name: "remove",
      description: "Removes a file.",
      input: z.object({ path: z.string(), copies: z.number(), force: z.boolean().optional() }),
      approval: "always",
      preview: () => "@@ -1,2 +1,1 @@\n kept\n-gone",
      execute: (input) => {
        removed.push(input);
        return `removed ${input.path}`;
      },
    }),
    defineTool({
      name: "fail",
      description: "Fails.",
      input: z.object({}),
      execute: (): string => {
        throw new Error("the tape broke");
      },
    }),
  ];
  /** As the tools of an MCP server are made: its server says what it does. */
  const lookup: Tool = {
    ...defineTool({
      name: "dictionary__write_file",
      title: "Harmless lookup",
      description: "Looks up a word.",
      input: z.object({}),
      approval: "always",
      execute: () => "a word",
    }),
    server: "dictionary",
  };
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await createPageFixture({ model, tools: [...tools, lookup] });
  });
  afterAll(() => fixture.close());

  // First, because the list has the runs of all tests.
  it.runIf(LONG)("lists the runs of all sessions, to answer and stop them from there", async () => {
    const first = await openPage(fixture);
    const { page } = first;
    await sendMessage(page, "measure");
    await findRun(page).getByText("the tape is out").waitFor();
    const measuring = readSessionId(page);
    await page.keyboard.press("Alt+n");
    await sendMessage(page, 'remove {"path": "listed.txt", "copies": 1}');
    await findRun(page).getByRole("button", { name: "Allow", exact: true }).waitFor();
    await page.keyboard.press("Alt+n");

    // The list marks what goes on, also on a page that is not connected to the sessions.
    const list = page.getByRole("complementary", { name: "Sessions" }).getByRole("listitem");
    await list.filter({ hasText: "remove" }).getByRole("img", { name: "Waiting for approval" }).waitFor();
    await list.filter({ hasText: "measure" }).getByRole("img", { name: "Running" }).waitFor();
    const second = await openPage(fixture, { language: "zh", ...PHONE });
    await second.page.getByRole("button", { name: /显示会话.*1 项待审批/ }).click();
    await second.page
      .getByRole("listitem")
      .filter({ hasText: "remove" })
      .getByRole("img", { name: "等待审批" })
      .waitFor();
    await second.page.getByRole("button", { name: /运行与审批.*1 项待审批/ }).click();
    const other = second.page.getByRole("dialog", { name: "运行与审批" });
    await other.getByRole("group", { name: "允许执行 remove？" }).waitFor();
    await expect.poll(() => other.getByRole("heading", { level: 3 }).allInnerTexts()).toEqual(["等待审批", "运行中"]);

    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search sessions, actions and agents" }).fill("activity");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Activity" });
    const card = dialog.getByRole("group", { name: "Allow remove?" });
    await card.getByText("listed.txt").first().waitFor();
    // Escape leaves the reason of a rejection, not the list.
    await card.getByRole("button", { name: "Reject…" }).click();
    await card.getByRole("textbox").press("Escape");
    await card.getByRole("textbox").waitFor({ state: "detached" });
    await card.getByRole("button", { name: "Allow", exact: true }).click();
    await card.waitFor({ state: "detached" });
    await expect.poll(() => removed.at(-1)).toMatchObject({ path: "listed.txt" });
    // The focus stays in the list, and the other page sees the answer.
    await expect.poll(() => page.evaluate(() => document.activeElement?.closest("dialog") !== null)).toBe(true);
    await other.getByRole("group", { name: "允许执行 remove？" }).waitFor({ state: "detached" });

    // Opening a run shows its session.
    await dialog.getByRole("button", { name: "measure", exact: true }).click();
    await expect.poll(() => readSessionId(page)).toBe(measuring);
    await findRun(page).getByText("the tape is out").waitFor();
    await page.getByRole("button", { name: "Activity" }).click();
    await dialog.getByRole("button", { name: "Stop measure" }).click();
    await dialog.getByText("Nothing is running").last().waitFor();
    await other.getByText("当前没有运行").last().waitFor();
    expect((await fixture.log.listRuns(measuring))[0]?.status).toBe("cancelled");
    expect([...first.complaints, ...second.complaints]).toEqual([]);
    removed.length = 0;
    await first.context.close();
    await second.context.close();
  });

  it.runIf(LONG)(
    "says what tools do and have done in the language of the user, and leaves their names to the details",
    async () => {
      const { page, context, complaints } = await openPage(fixture, { theme: "dark" });
      await sendMessage(page, 'write_todo_list {"title": "Trip", "items": [{"text": "Pack"}, {"text": "Go"}]}');
      await waitForEnd(page);
      const card = findAnswer(page).getByRole("group", { name: "Made a to-do list (2 items): Trip" });
      await card.waitFor();
      expect(await page.getByText("write_todo_list", { exact: true }).count()).toBe(0);
      await card.getByRole("button", { name: /^Made a to-do list/ }).click();
      await card.getByText("write_todo_list", { exact: true }).waitFor();

      await sendMessage(page, 'write_todo_list {"title": "旅行的待办", "items": [{"text": "收拾行李"}]}');
      await findAnswer(page).getByRole("group", { name: "已列出待办清单（1 项）：旅行的待办" }).waitFor();
      await waitForEnd(page, "en", 2);
      expect(complaints).toEqual([]);
      await context.close();
    },
  );

  it.runIf(LONG)("marks the words of a server in a request for approval, with its tool and arguments", async () => {
    const { page, context, complaints } = await openPage(fixture);
    await sendMessage(page, 'dictionary__write_file {"path": "a.txt"}');
    const card = findAnswer(page).getByRole("group", { name: "“Harmless lookup”" });
    const request = card.getByRole("group", { name: "Allow dictionary__write_file?" });
    for (const fact of ["dictionary__write_file", "dictionary", "path", "a.txt"])
      await request.getByText(fact, { exact: true }).waitFor();
    await request.getByText("The title is this server’s own description.").waitFor();
    await card.getByText("from dictionary", { exact: true }).waitFor();

    // Also in the list of runs of another page.
    const second = await openPage(fixture, { language: "zh", ...PHONE });
    await second.page.getByRole("button", { name: /显示会话/ }).click();
    await second.page.locator(".page-sessions").getByRole("img", { name: "等待审批" }).first().waitFor();
    await second.page.getByRole("button", { name: /运行与审批/ }).click();
    const listed = second.page.getByRole("group", { name: "允许执行 dictionary__write_file？" });
    await listed.getByText("服务器", { exact: true }).waitFor();
    await listed.getByText("dictionary", { exact: true }).waitFor();
    await request.getByRole("button", { name: "Allow", exact: true }).click();
    await waitForEnd(page);
    await card.getByText("Done", { exact: true }).waitFor();
    expect([...complaints, ...second.complaints]).toEqual([]);
    await context.close();
    await second.context.close();
  });

  it.runIf(LONG)(
    "shows Arabic and Hebrew from right to left, and code and other paragraphs from left to right",
    async () => {
      const { page, context, complaints } = await openPage(fixture);
      const arabic = "مرحبا بالعالم";
      const box = page.getByRole("textbox", { name: "Message", exact: true });
      await box.fill(arabic);
      const direction = (element: Element): string => getComputedStyle(element).direction;
      expect(await box.evaluate(direction)).toBe("rtl");
      const given = `${arabic}\n\nEnglish text\n\n- שלום\n- word\n\n| مدينة | عدد |\n| --- | --- |\n| بيروت | 2 |\n\n\`\`\`\nx = 1;\n\`\`\``;
      await sendMessage(page, `say ${given}`);
      await waitForEnd(page);
      const answer = findAnswer(page);
      /** Whether the text of an element is nearer to the right end of the answer than to its left end. */
      const isRight = async (text: string): Promise<boolean> =>
        answer
          .getByText(text, { exact: true })
          .last()
          .evaluate((element) => {
            const range = document.createRange();
            range.selectNodeContents(element);
            const [inner, outer] = [
              range.getBoundingClientRect(),
              element.closest(".loom-text")?.getBoundingClientRect(),
            ];
            return outer !== undefined && outer.right - inner.right < inner.left - outer.left;
          });
      for (const text of [arabic, "שלום", "word", "بيروت"]) expect(await isRight(text), text).toBe(true);
      for (const text of ["English text", "x = 1;"]) expect(await isRight(text), text).toBe(false);
      expect(await answer.getByRole("table").evaluate(direction)).toBe("rtl");
      await sendMessage(page, arabic);
      await expect.poll(() => page.locator(".loom-user-text").last().evaluate(direction)).toBe("rtl");
      expect(complaints).toEqual([]);
      await context.close();
    },
  );

  it.runIf(LONG)("renders an answer as Markdown", async () => {
    const { page, context, complaints, copies } = await openPage(fixture, { language: "zh", theme: "dark" });
    await sendMessage(page, `say ${MARKDOWN}`, "zh");
    await waitForEnd(page, "zh");
    const answer = findAnswer(page, "zh");
    await answer.getByRole("heading", { name: "Report" }).waitFor();
    expect(await answer.getByRole("table").getByRole("cell").allInnerTexts()).toEqual(["a", "1"]);
    const [done, open] = await answer.getByRole("checkbox").all();
    expect([await done?.isChecked(), await open?.isChecked()]).toEqual([true, false]);
    const code = answer.getByRole("group", { name: "代码（ts）" });
    await code.locator(".loom-hl-keyword", { hasText: "const" }).waitFor();
    await answer.getByRole("button", { name: "复制代码" }).click();
    await expect.poll(() => copies).toEqual(["const x = 1;"]);
    await answer.locator("math mfrac").waitFor();
    await answer.getByRole("link", { name: "a page" }).waitFor();
    expect(await answer.getByRole("link", { name: "a trap" }).count()).toBe(0);

    // A session opens with the last question in view, not with the end of a long answer.
    await sendMessage(page, `say ${"A paragraph of a long answer.\n\n".repeat(60)}`, "zh");
    await waitForEnd(page, "zh", 2);
    await page.reload();
    await waitForEnd(page, "zh", 2);
    const measureTop = (): Promise<number> =>
      findRun(page).evaluate((run) => {
        const list = run.closest(".loom-conversation-scroller");
        return run.getBoundingClientRect().top - (list?.getBoundingClientRect().top ?? 0);
      });
    await expect.poll(async () => Math.abs((await measureTop()) - 8)).toBeLessThan(8);
    await page.getByRole("button", { name: "跳到最新" }).click();
    await expect.poll(measureTop).toBeLessThan(-100);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows the progress, output and result of a tool", async () => {
    const { page, context, complaints } = await openPage(fixture, { theme: "dark" });
    await sendMessage(page, "measure");
    const card = findAnswer(page).getByRole("group", { name: "Measures a distance", exact: true });
    await card.getByText("Running").waitFor();
    await card.getByText("measure", { exact: true }).waitFor();
    expect(await card.getByRole("progressbar", { name: "Progress" }).getAttribute("value")).toBe("40");
    await card.getByText("two of five").waitFor();
    await card.getByRole("group", { name: "Output" }).getByText("the tape is out").waitFor();
    const stageLine = findRun(page).getByRole("status").getByText("Measures a distance");
    await stageLine.waitFor();

    // The end of a run in the background is shown in the title of the tab.
    const session = page.url();
    await page.keyboard.press("Alt+n");
    await expect.poll(() => page.title()).toBe("New session – Loom");
    measure({ metres: 12 });
    await expect.poll(() => page.title()).toBe("Answer ready: measure – Loom");
    await page.goto(session);
    await expect.poll(() => page.title()).toBe("measure – Loom");
    await waitForEnd(page);
    // A successful call is collapsed to one line.
    const head = card.getByRole("button", { name: /^Measures a distance .*Done .*\d s$/ });
    expect(await head.getAttribute("aria-expanded")).toBe("false");
    await head.click();
    await card.getByText("metres").waitFor();
    await card.getByText("12", { exact: true }).waitFor();
    expect(await findAnswer(page).locator("strong").innerText()).toBe("all");

    await sendMessage(page, "fail");
    const failed = findAnswer(page).getByRole("group", { name: "Fails", exact: true });
    await failed.getByText("the tape broke").waitFor();
    await failed.getByText("Failed", { exact: true }).waitFor();
    await waitForEnd(page, "en", 2);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("asks for approval, runs with edited arguments, and updates every tab", async () => {
    const first = await openPage(fixture);
    await sendMessage(first.page, REMOVAL);
    const card = findAnswer(first.page).getByRole("group", { name: "Removes a file", exact: true });
    await card.getByText("Allow remove?").waitFor();
    await first.page.getByRole("status").getByText("Waiting for your approval: Removes a file").first().waitFor();
    const second = await openPage(fixture, {
      language: "zh",
      theme: "dark",
      ...PHONE,
      path: `#/s/${readSessionId(first.page)}`,
    });
    const other = findAnswer(second.page, "zh").getByRole("group", { name: "Removes a file", exact: true });
    await other.getByRole("button", { name: "允许", exact: true }).waitFor();
    await other.getByText("old.txt").waitFor();
    expect(await other.getByRole("group", { name: "更改：+0 −1" }).innerText()).toBe("第 1 行\n kept\n-gone");

    const allow = card.getByRole("button", { name: "Allow", exact: true });
    /** The place of the button in its card. */
    const findPlace = async (): Promise<readonly number[]> => {
      const [inner, outer] = [await allow.boundingBox(), await card.boundingBox()];
      return [inner!.x - outer!.x, inner!.y - outer!.y, inner!.width];
    };
    const place = await findPlace();
    await card.getByRole("button", { name: "Edit", exact: true }).click();
    const path = card.getByRole("textbox", { name: "path" });
    await path.waitFor();
    await expect.poll(() => path.evaluate((field) => field === document.activeElement)).toBe(true);
    await card.getByRole("textbox", { name: "copies" }).fill("many");
    await card.getByText("Enter a number.").waitFor();
    expect(await allow.isDisabled()).toBe(true);
    await card.getByRole("textbox", { name: "copies" }).fill("3");
    await card.getByRole("textbox", { name: "path" }).fill("new.txt");
    await card.getByRole("checkbox", { name: "force" }).check();
    expect(removed).toEqual([]);
    // The button neither moves nor changes its name.
    await card.getByText("Runs with your changes.").waitFor();
    expect(await findPlace()).toEqual(place);
    await allow.click();

    await waitForEnd(first.page);
    await waitForEnd(second.page, "zh");
    expect(removed).toEqual([{ path: "new.txt", copies: 3, force: true }]);
    for (const [shown, approved, done] of [
      [card, "Approved", /Done/],
      [other, "已批准", /完成/],
    ] as const) {
      const head = shown.getByRole("button", { name: done });
      if ((await head.getAttribute("aria-expanded")) === "false") await head.click();
      await shown.getByText(approved, { exact: true }).waitFor();
      await shown.getByText("new.txt", { exact: true }).waitFor();
    }
    for (const { complaints, context } of [first, second]) {
      expect(complaints).toEqual([]);
      await context.close();
    }
  });

  it.runIf(LONG)("runs without arguments that were removed, and Escape in the form does not stop the run", async () => {
    removed.length = 0;
    const { page, context, complaints } = await openPage(fixture);
    await sendMessage(page, REMOVAL);
    const card = findAnswer(page).getByRole("group", { name: "Removes a file", exact: true });
    await card.getByRole("button", { name: "Edit", exact: true }).click();
    await card.getByRole("button", { name: "Edit as JSON" }).click();
    await card.getByRole("textbox", { name: "Arguments (JSON)" }).fill('{"path": "old.txt", "copies": 2}');
    await card.getByRole("button", { name: "Edit as form" }).click();
    await card.getByRole("textbox", { name: "path" }).press("Escape");
    expect(await card.getByRole("checkbox").count()).toBe(0);
    await card.getByRole("button", { name: "Allow", exact: true }).focus();
    await page.keyboard.press("Escape");
    await card.getByRole("button", { name: "Always allow in this session" }).click();
    await waitForEnd(page);
    const given = { path: "old.txt", copies: 2 };
    expect(removed).toEqual([given]);
    const events = await readEvents(fixture, readSessionId(page));
    const results = events.flatMap((event) => (event.type === "tool_approval_result" ? [event] : []));
    expect(results.map(({ decision, arguments: ran }) => [decision, ran])).toEqual([["approved", given]]);

    // Later calls run without approval, until that is revoked.
    const allowed = page.getByRole("group", { name: "Runs without approval" });
    await allowed.getByText("remove", { exact: true }).waitFor();
    await sendMessage(page, REMOVAL);
    await waitForEnd(page, "en", 2);
    expect(removed).toHaveLength(2);
    await page.reload();
    await allowed.getByRole("button", { name: "Ask again before remove runs" }).click();
    await allowed.waitFor({ state: "detached" });
    await sendMessage(page, REMOVAL);
    await findAnswer(page).getByText("Allow remove?").waitFor();
    expect(removed).toHaveLength(2);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.runIf(LONG)("sends the reason of a rejection to the model", async () => {
    removed.length = 0;
    const first = await openPage(fixture, { language: "zh", ...PHONE });
    await sendMessage(first.page, REMOVAL, "zh");
    const card = findAnswer(first.page, "zh").getByRole("group", { name: "Removes a file", exact: true });
    await card.getByRole("button", { name: "拒绝…" }).click();
    // The short run has one page here: the edited arguments above are shown on two.
    const second = LONG ? await openPage(fixture, { path: `#/s/${readSessionId(first.page)}` }) : undefined;
    const other = second && findAnswer(second.page).getByRole("group", { name: "Removes a file", exact: true });
    await other?.getByRole("button", { name: "Allow", exact: true }).waitFor();
    await card.getByRole("textbox", { name: "原因（将发送给模型）" }).fill("还需要这个文件");
    await card.getByRole("button", { name: "拒绝", exact: true }).click();
    await waitForEnd(first.page, "zh");
    if (second) await waitForEnd(second.page);

    await card.getByText("已拒绝").first().waitFor();
    await other?.getByText("Rejected").first().waitFor();
    for (const shown of [card, other]) await shown?.getByText("还需要这个文件").waitFor();
    for (const shown of [card, other])
      expect((await shown?.getByRole("button", { name: /^(Allow|允许)$/ }).count()) ?? 0).toBe(0);
    expect(removed).toEqual([]);
    expect(JSON.stringify(model.prompts.at(-1)?.at(-1))).toContain("还需要这个文件");
    for (const { complaints, context } of second ? [first, second] : [first]) {
      expect(complaints).toEqual([]);
      await context.close();
    }
  });
});
