// Tools that the client carries out, through `useChat` with each transport: the results arrive once, also from a page that
// was reloaded, and after the server was restarted.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isToolUIPart, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { afterAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { expectValid } from "../contracts/sender.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import type { ScriptedRequest } from "../../src/models/scripted-model.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import { eventsOf } from "../agents/agent-fixture.ts";
import { sampleCases } from "../sampling.ts";
import { startFaultProxy } from "../server/fault-proxy.ts";
import { renderChat, startChatServer, textOf, toPlain, TRANSPORTS, useDom } from "./chat-fixture.ts";

const WAIT = { timeout: 25_000, interval: 10 };
const folder = mkdtempSync(join(tmpdir(), "loom-client-tools-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Has no `execute`, so a client carries out its calls. */
const locate = defineTool({
  name: "locate",
  description: "Returns the city of a person.",
  input: z.object({ person: z.string() }),
});

/** Depends only on the prompt: after a restart, another model continues. */
function answer({ prompt }: ScriptedRequest) {
  const last = prompt.at(-1);
  if (last?.role !== "tool")
    return {
      text: "I look. ",
      calls: ["ann", "bob"].map((person) => ({ name: "locate", input: { person }, id: person })),
    };
  const results = /Lisbon|No signal/g;
  return { text: `Results: ${(JSON.stringify(prompt).match(results) ?? []).join(", ")}.` };
}

let stores = 0;

/** A server that can be restarted at the same address and on the same store. */
async function startRestartableServer() {
  const store = join(folder, `${stores++}.db`);
  let target = "";
  const proxy = await startFaultProxy(
    () => target,
    () => undefined,
  );
  onTestFinished(() => proxy.close());
  let current = await start();

  async function start() {
    const log = await openSqliteLog(store);
    const started = await startChatServer(answer, { log, hosts: [`127.0.0.1:${proxy.port}`], moreTools: [locate] });
    const stop = async (): Promise<void> => {
      await started.server.close({ graceMs: 0 });
      await log.close();
    };
    onTestFinished(stop);
    target = started.server.url;
    return { ...started, log, stop };
  }

  async function restart(): Promise<void> {
    proxy.cut("reset");
    await current.stop();
    current = await start();
  }

  return { api: `${proxy.url}/api/chat`, current: () => current, restart };
}

beforeEach(useDom);

const CASES = Object.keys(TRANSPORTS).flatMap((transport) =>
  [true, false].flatMap((isReloaded) => [true, false].map((isRestarted) => ({ transport, isReloaded, isRestarted }))),
);
/** use-chat.test.ts uses every transport. */
const SAMPLED = sampleCases(CASES, { kindOf: ({ isReloaded, isRestarted }) => `${isReloaded} ${isRestarted}` });

describe("tools of the client", () => {
  it.each(SAMPLED)(
    "takes each result once: $transport, reloaded $isReloaded, restarted $isRestarted",
    async ({ transport, isReloaded, isRestarted }) => {
      const createTransport = TRANSPORTS[transport] as (typeof TRANSPORTS)[string];
      const { api, current, restart } = await startRestartableServer();
      const open = async (messages: Awaited<ReturnType<ReturnType<typeof current>["loadMessages"]>>) =>
        renderChat({
          id: "c",
          messages,
          transport: createTransport(api),
          resume: messages.length > 0,
          sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
        });
      let page = await open([]);
      const waiting = await page.run(({ sendMessage }) => sendMessage({ text: "Where are they?" }));
      expect(
        waiting
          .at(-1)
          ?.parts.filter(isToolUIPart)
          .map(({ state }) => state),
      ).toEqual(["input-available", "input-available"]);
      const [session] = await current().log.listSessions({});
      const id = session?.sessionId ?? "";
      if (isRestarted) await restart();
      if (isReloaded) {
        page.unmount();
        page = await open(await current().loadMessages(id));
        expect(toPlain(await page.settle())).toEqual(toPlain(waiting));
      }
      const { chat, errors, run, settle } = page;
      await run(({ addToolOutput }) =>
        addToolOutput({ tool: "locate", toolCallId: "ann", output: { city: "Lisbon" } }),
      );
      await run(({ addToolOutput }) =>
        addToolOutput({ tool: "locate", toolCallId: "bob", state: "output-error", errorText: "No signal" }),
      );
      await vi.waitFor(() => expect(textOf(chat().messages.at(-1))).toBe("I look. Results: Lisbon, No signal."), WAIT);
      const messages = toPlain(await settle());
      expect(errors).toEqual([]);
      const { log, loadMessages } = current();
      expect(await loadMessages(id)).toEqual(messages);
      expect(await log.listSessions({})).toHaveLength(1);
      expect((await log.listRuns(id)).map(({ status }) => status)).toEqual(["completed"]);
      const records = await expectValid(log, id);
      expect(eventsOf(records, "tool_start").map(({ call_id }) => call_id)).toEqual(["ann", "bob"]);
      expect(eventsOf(records, "tool_end")).toMatchObject([
        { call_id: "ann", is_error: false },
        { call_id: "bob", is_error: true },
      ]);
    },
  );
});
