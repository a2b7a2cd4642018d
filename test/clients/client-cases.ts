// What every third-party client is tested with: the names of the cases, and the cases for clients that a small interface
// can drive. serve-kill.test.ts kills the server of all of them at once.
import { expect, vi } from "vitest";
import type { Log } from "../../src/log/index.ts";
import { gateOf, PIXEL } from "./scripted-server.ts";

export type CaseName =
  | "text"
  | "thinking"
  | "a tool"
  | "an approval"
  | "a tool of the client"
  | "an image"
  | "stop and the next message"
  | "a reload in the middle"
  | "a killed server"
  | "two tabs";

/** A page or a program of the user, with one conversation. It carries out the tool `locate`, which returns "Oslo". */
export interface ClientPage {
  /** Resolves when the client has the answer, or waits for its user. `image` is a data URL. */
  send(text: string, image?: string): Promise<unknown>;
  /** Text of the last answer, as far as it was received. */
  text(): string;
  thoughts(): string;
  /** What the client has of the calls that the server carried out: their results as JSON. */
  results(): string;
  /** Names of the tools whose calls the user must allow. */
  asks(): readonly string[];
  /** Allows or rejects them. */
  approve(approved: boolean): Promise<unknown>;
  /** What the user does to stop an answer, as the guide of the client says. */
  stop(): Promise<unknown> | void;
  /** The page after a reload, or in another tab: it shows the answer in progress. This page stays open. */
  reload(): Promise<ClientPage>;
  /** Closes the page and its connections. */
  close(): void;
}

export interface Client {
  readonly name: string;
  /** Opens a page of a new conversation. */
  open(origin: string): Promise<ClientPage>;
  /** An answer to an approval that another tab has answered fails. Default: the client shows the rest of the answer. */
  readonly refusesLateAnswers?: boolean;
  /** It shows the text of an attempt that a killed server has left, before the new one. */
  readonly keepsCutText?: boolean;
  /** Why the client has a case only in part: its user does not see it, or its calls that need approval are refused. */
  readonly lacks: { readonly [name in CaseName]?: string };
}

export interface CaseServer {
  readonly url: string;
  readonly log: Log;
  /** Tool calls that the server carried out. */
  readonly ran: readonly unknown[];
}

export const WAIT = { timeout: 20_000, interval: 5 };

async function settle(page: ClientPage, text: string): Promise<void> {
  await vi.waitFor(() => expect(page.text()).toBe(text), WAIT);
}

/** The states of all runs of sessions that did not exist before. */
async function watchRuns({ log }: CaseServer) {
  const before = new Set((await log.listSessions({})).map(({ sessionId }) => sessionId));
  return async (): Promise<readonly string[]> => {
    const added = (await log.listSessions({})).filter(({ sessionId }) => !before.has(sessionId));
    const runs = await Promise.all(added.map(({ sessionId }) => log.listRuns(sessionId)));
    return runs.flat().map(({ status }) => status);
  };
}

type Case = (client: Client, server: CaseServer) => Promise<void>;

/** Text of a message that waits for approval, and of its end. */
const [ASKED, REMOVED] = ["Let me see. ", "Let me see. Done."];

const CASES: { readonly [name in Exclude<CaseName, "a killed server">]: Case } = {
  async text(client, { url }) {
    const page = await client.open(url);
    await page.send("text");
    await settle(page, "Hello there.");
    await page.send("text");
    await settle(page, "Hello there.");
  },

  async thinking(client, { url }) {
    const page = await client.open(url);
    await page.send("think");
    await settle(page, "Hello.");
    expect(page.thoughts()).toBe(client.lacks.thinking === undefined ? "They greet me." : "");
  },

  async "a tool"(client, { url }) {
    const page = await client.open(url);
    await page.send("add");
    await vi.waitFor(() => expect(page.text().replaceAll(/\s+/g, " ")).toBe("Adding. Done."), WAIT);
    if (client.lacks["a tool"] === undefined) expect(page.results()).toContain("3");
  },

  async "an approval"(client, server) {
    for (const approved of [true, false]) {
      const count = server.ran.length;
      const listStates = await watchRuns(server);
      const page = await client.open(server.url);
      await page.send("remove");
      if (client.lacks["an approval"] === undefined) {
        await vi.waitFor(() => expect(page.asks()).toEqual(["remove"]), WAIT);
        await page.approve(approved);
      }
      await vi.waitFor(() => expect(page.text()).toMatch(/Done\.$/), WAIT);
      expect(page.asks()).toEqual([]);
      const isRun = approved && client.lacks["an approval"] === undefined;
      expect(server.ran.slice(count)).toEqual(isRun ? [["remove", { path: "x" }]] : []);
      expect(await listStates()).toEqual(["completed"]);
    }
  },

  async "a tool of the client"(client, server) {
    const listStates = await watchRuns(server);
    const page = await client.open(server.url);
    await page.send("locate");
    await settle(page, "You are in Oslo.");
    expect(await listStates()).toEqual(["completed"]);
  },

  async "an image"(client, { url }) {
    const page = await client.open(url);
    await page.send("see", PIXEL);
    await settle(page, "I see image/png.");
  },

  async "stop and the next message"(client, server) {
    const listStates = await watchRuns(server);
    const page = await client.open(server.url);
    const sent = page.send("stall").catch(() => undefined);
    await settle(page, "Neve");
    await page.stop();
    await sent;
    await page.send("text");
    await settle(page, "Hello there.");
    await vi.waitFor(async () => expect((await listStates()).toSorted()).toEqual(["cancelled", "completed"]), WAIT);
  },

  async "a reload in the middle"(client, server) {
    const listStates = await watchRuns(server);
    const page = await client.open(server.url);
    page.send("hold").catch(() => undefined);
    await vi.waitFor(() => expect(page.text()).toMatch(/^One moment\./), WAIT);
    const reloaded = await page.reload();
    page.close();
    await vi.waitFor(() => expect(reloaded.text()).toMatch(/^One moment\./), WAIT);
    const [session] = await server.log.listSessions({ limit: 1 });
    gateOf(session?.sessionId ?? "").resolve();
    await vi.waitFor(() => expect(reloaded.text().replaceAll(/\s+/g, " ")).toBe("One moment. Done."), WAIT);
    expect(await listStates()).toEqual(["completed"]);
  },

  async "two tabs"(client, server) {
    const count = server.ran.length;
    const listStates = await watchRuns(server);
    const first = await client.open(server.url);
    if (client.lacks["an approval"] !== undefined) {
      // Both show the conversation, and send a message at the same moment.
      await first.send("text");
      const second = await first.reload();
      await settle(second, "Hello there.");
      await Promise.all([first.send("think"), second.send("add")]);
      await settle(first, "Hello.");
      expect(second.text()).toMatch(/Done\.$/);
      return;
    }
    await first.send("remove");
    const second = await first.reload();
    await vi.waitFor(() => expect([second.asks(), second.text()]).toEqual([["remove"], ASKED]), WAIT);
    await second.approve(true);
    await settle(second, REMOVED);
    // The other tab answers too late: the first answer counts.
    const isRefused = await first.approve(false).then(
      () => false,
      () => true,
    );
    expect(isRefused).toBe(client.refusesLateAnswers === true);
    await settle(isRefused ? await second.reload() : first, REMOVED);
    expect(server.ran.slice(count)).toEqual([["remove", { path: "x" }]]);
    expect(await listStates()).toEqual(["completed"]);
  },
};

/** The cases of a client, with the reason in the title if it has one only in part. */
export function listCases({ lacks }: Client): readonly (readonly [title: string, run: Case])[] {
  return Object.entries(CASES).map(([name, run]) => {
    const reason = lacks[name as CaseName];
    return [reason === undefined ? name : `${name} (in part: ${reason})`, run];
  });
}
