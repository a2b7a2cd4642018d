/** Tests of search in titles, messages and replies. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LONG } from "../../sampling.ts";
import type { FoundSession, Log } from "../../../src/log/log.ts";
import {
  type RecordDraft,
  drafts,
  expectRefusal,
  type LogStore,
  makeEntries,
  NOON,
  openWriter,
  withLog,
} from "./log-fixture.ts";
import { MemoryLog } from "../../../src/log/memory-log.ts";
import { MAX_SEARCHED_LENGTH } from "../../../src/log/search-text.ts";

function draftTurn(run: string, message: string, reply: string): readonly RecordDraft[] {
  const start = { ...drafts.start(run), event: { type: "run_start", run_id: run, message } as const };
  const answer = { ...drafts.reply(run), event: { type: "reply", reply } as const };
  return [start, drafts.chunk(run), drafts.end(run, "completed"), answer];
}

async function writeTurns(
  log: Log,
  sessionId: string,
  ...turns: readonly (readonly [string, string])[]
): Promise<void> {
  const writer = await openWriter(log, sessionId);
  for (const [message, reply] of turns) await writer.write(draftTurn(`r${writer.lastId + 1}`, message, reply));
}

const namesOf = (found: readonly FoundSession[]): readonly string[] => found.map(({ sessionId }) => sessionId);

const WORDS = [
  "Deploy",
  "deploying",
  "café",
  "CAFE\u0301",
  "部署服务器",
  "服务",
  "ｄｅｐｌｏｙ",
  "👍",
  "24",
  "x-ray",
  '"',
  "*",
  "NEAR(",
  "的",
  "서울시",
];

const QUERIES: readonly (readonly [query: string, isFound: boolean])[] = [
  ["DEPLOY", true],
  ["serv", true],
  ["erver", false],
  ["server deploy", true],
  ["server cat", false],
  ["résumé", true],
  ["resume", true],
  ["部署", true],
  ["部", true],
  ["署服", true],
  ["署务", false],
  ["部署 server", true],
  ["ｓｅｒｖｅｒ", true],
  ["👍", true],
  ["👎", false],
  ["x-ray", true],
  ["ray", true],
  ["x", true],
  ["r", false],
  ["4", false],
  ["42", true],
  ["", false],
  [" ", false],
  ["*", false],
  ['"', false],
  ['deploy" OR "cat', false],
  ["NOT cat", false],
  ["words : deploy", false],
  ["deploy*", true],
  ["^deploy", true],
  ["{deploy}", true],
  ["deploy'); DROP TABLE said; --", false],
  ["\0deploy", true],
  ["\ud800", false],
];

export function describeSearch(store: LogStore): void {
  describe("a search", () => {
    const search = async (log: Log, query: string) => namesOf(await log.searchSessions({ query }));

    test("finds titles, messages and replies, newest session first, and reports where", () =>
      withLog(store, async ({ log, other }) => {
        await log.createSession("a", { title: "How to deploy" });
        await writeTurns(log, "b", ["Please\n deploy it", "Done."]);
        await writeTurns(log, "c", ["Hello", "You can deploy with one command."]);
        await writeTurns(log, "d", ["Hello", "Bye"]);
        const found = await other.searchSessions({ query: "deploy" });
        expect(found.map(({ sessionId, match }) => [sessionId, match])).toEqual([
          ["c", { where: "answer", snippet: "You can deploy with one command.", runId: "r1" }],
          ["b", { where: "message", snippet: "Please deploy it", runId: "r1" }],
          ["a", { where: "title", snippet: "How to deploy" }],
        ]);
        const { match: _, ...info } = found[0]!;
        expect(info).toEqual(await log.getSession("c"));
      }));

    test.each(["cancelled", "error"] as const)("finds the answer so far of a run that ended with %s", (status) =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        const end = { type: "run_end", status, has_reply: true } as const;
        const reply = { type: "reply", reply: "The answer is apples and" } as const;
        await writer.write([drafts.start("r"), drafts.chunk("r"), { ...drafts.end("r", status), event: end }]);
        await writer.write([{ ...drafts.reply("r"), event: reply }]);
        const [found] = await other.searchSessions({ query: "apples" });
        expect(found?.match).toEqual({ where: "answer", snippet: "The answer is apples and", runId: "r" });
      }),
    );

    test("prefers the title, then the latest text", () =>
      withLog(store, async ({ log }) => {
        await writeTurns(log, "s", ["one apple", "two apples"], ["three apple trees", "no fruit"]);
        const [latest] = await log.searchSessions({ query: "apple" });
        expect(latest?.match).toEqual({ where: "message", snippet: "three apple trees", runId: "r5" });
        await log.updateSession("s", { title: "Apples!" });
        const [titled] = await log.searchSessions({ query: "apple" });
        expect(titled?.match).toEqual({ where: "title", snippet: "Apples!" });
      }));

    test("rejects a query that is not a string", () =>
      withLog(store, async ({ log }) => {
        for (const options of [undefined, {}, { query: 5 }])
          await expectRefusal(log.searchSessions(options as never), "invalid_arguments");
      }));

    test("treats a query as plain words", () =>
      withLog(store, async ({ log }) => {
        await writeTurns(log, "s", ["Deploy the server 部署服务器 👍 with the Résumé and x-ray 42", "-"]);
        for (const [query, isFound] of QUERIES) expect(await search(log, query), query).toEqual(isFound ? ["s"] : []);
      }));

    test("requires all words in one text", () =>
      withLog(store, async ({ log }) => {
        await writeTurns(log, "s", ["apples", "pears"]);
        expect(await search(log, "apples pears")).toEqual([]);
      }));

    test("forgets old titles and deleted sessions", () =>
      withLog(store, async ({ log, other }) => {
        await log.createSession("s", { title: "apples" });
        await writeTurns(log, "s", ["plums", "-"]);
        await log.updateSession("s", { title: "pears" });
        expect([await search(other, "apples"), await search(other, "pears")]).toEqual([[], ["s"]]);
        await other.deleteSession("s");
        await log.createSession("s", { title: "cherries" });
        expect(await search(log, "pears")).toEqual([]);
        expect(await search(log, "plums")).toEqual([]);
        expect(await search(log, "cherries")).toEqual(["s"]);
      }));

    test("forgets pruned records", () =>
      withLog(store, async ({ log, other }) => {
        await writeTurns(log, "s", ["apples", "-"], ["pears", "-"]);
        await log.updateSession("s", { title: "fruit" });
        const [first] = (await log.listRuns("s")).toReversed();
        expect(first?.status).toBe("completed");
        await log.prune({ maxAgeMs: 0, now: NOON + 5 });
        expect(await search(other, "apples")).toEqual([]);
        expect(await search(other, "pears")).toEqual(["s"]);
        expect(await search(other, "fruit")).toEqual(["s"]);
      }));

    test("finds records a session was created with", () =>
      withLog(store, async ({ log, other }) => {
        const entries = makeEntries("s", 40, draftTurn("r", "apples", "pears"));
        await log.createSession("s", { firstId: 41, title: "plums", entries });
        for (const query of ["apples", "pears", "plums"]) expect(await search(other, query)).toEqual(["s"]);
      }));

    test("is paged, and rejects a cursor whose session was deleted", () =>
      withLog(store, async ({ log }) => {
        for (let index = 0; index < 7; index++)
          await writeTurns(log, `s${index}`, ["apple", "apple"], ["apple", "apple"]);
        const found: string[] = [];
        for (let page = await log.searchSessions({ query: "apple", limit: 3 }); page.length > 0;) {
          expect(page.length).toBeLessThanOrEqual(3);
          found.push(...namesOf(page));
          page = await log.searchSessions({ query: "apple", limit: 3, after: found.at(-1)! });
        }
        expect(found).toEqual(["s6", "s5", "s4", "s3", "s2", "s1", "s0"]);
        await log.deleteSession("s4");
        await expectRefusal(log.searchSessions({ query: "apple", after: "s4" }), "cursor_invalid");
      }));

    test("by owner ignores other owners, also in pages", () =>
      withLog(store, async ({ log, other }) => {
        const owners = ["alice", "bob", "local"];
        for (let index = 0; index < 18; index++) {
          await log.createSession(`s${index}`, { owner: owners[index % 3]!, ...(index % 2 ? { title: "apple" } : {}) });
          if (index % 4 === 0) await writeTurns(log, `s${index}`, ["apple", "pear"], ["pear", "apple"]);
        }
        await log.deleteSession("s4");
        const all = await other.searchSessions({ query: "apple" });
        expect(all.length).toBeGreaterThan(10);
        for (const owner of owners) {
          const own = all.filter((session) => session.owner === owner);
          expect(await other.searchSessions({ query: "apple", owner })).toEqual(own);
          const found = [...(await other.searchSessions({ query: "apple", owner, limit: 2 }))];
          for (let more = found; more.length > 0; found.push(...more)) {
            const after = found.at(-1)!.sessionId;
            more = [...(await other.searchSessions({ query: "apple", owner, limit: 2, after }))];
          }
          expect(found).toEqual(own);
        }
        expect(await other.searchSessions({ query: "apple", owner: "missing" })).toEqual([]);
      }));

    test("by owner finds sessions behind many matches of others", () =>
      withLog(store, async ({ log, other }) => {
        const turns = Array.from({ length: 600 }, (_, index) => draftTurn(`r${index}`, "apple", "-")).flat();
        for (let index = 0; index < 4; index++) {
          await log.createSession(`mine ${index}`, { owner: "alice", title: index % 2 ? "apple" : "pear" });
          await log.createSession(`theirs ${index}`, { owner: "bob" });
          await (await openWriter(log, `theirs ${index}`)).write(turns);
        }
        expect(namesOf(await other.searchSessions({ query: "apple", owner: "alice" }))).toEqual(["mine 3", "mine 1"]);
        expect(await other.searchSessions({ query: "apple", owner: "local" })).toEqual([]);
      }));

    test("finds each session once, regardless of its number of matches", () =>
      withLog(store, async ({ log, other }) => {
        await writeTurns(log, "old", ["apple", "-"]);
        for (const name of ["long", "longer"]) {
          const writer = await openWriter(log, name);
          const turns = Array.from({ length: 600 }, (_, index) => draftTurn(`r${index}`, "apple", "-"));
          await writer.write(turns.flat());
        }
        expect(await search(other, "apple")).toEqual(["longer", "long", "old"]);
      }));

    test("searches the start of long texts and returns a snippet", () =>
      withLog(store, async ({ log }) => {
        await writeTurns(log, "s", [
          `${"👍 ".repeat(500)}needle${" straw".repeat(500)}`,
          `${"x ".repeat(MAX_SEARCHED_LENGTH / 2)}beyond`,
        ]);
        const [found] = await log.searchSessions({ query: "needle" });
        expect(found?.match.snippet).toMatch(/^….*needle.*…$/);
        expect(found?.match.snippet.length).toBeLessThan(200);
        expect(found?.match.snippet.isWellFormed()).toBe(true);
        expect(await search(log, "beyond")).toEqual([]);
        expect(await search(log, "x ".repeat(10_000))).toEqual(["s"]);
      }));

    test("returns the same results in every log", () =>
      withLog(store, async ({ log, other, clock }) => {
        const text = fc.array(fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 4, unit: "grapheme" })), {
          maxLength: 5,
        });
        const said = fc.record({ title: text, message: text, reply: text });
        const cases = fc.record({
          sessions: fc.array(said, { minLength: 1, maxLength: 4 }),
          queries: fc.array(text, { minLength: 3, maxLength: 6 }),
        });
        const model = new MemoryLog({ now: () => clock.now });
        for (const { sessions, queries } of fc.sample(cases, LONG ? 200 : store.isShared === true ? 3 : 8)) {
          for (const one of [log, model])
            for (const [index, { title, message, reply }] of sessions.entries()) {
              await one.createSession(`s${index}`, { title: title.join("") });
              await writeTurns(one, `s${index}`, [message.join(" "), reply.join("")]);
            }
          const asked = [...queries, ...sessions.flatMap(({ title, reply }) => [title, reply])];
          for (const query of asked.map((words) => words.join(" "))) {
            const strip = async (one: Log) =>
              (await one.searchSessions({ query })).map(({ sessionId, match }) => ({ sessionId, match }));
            expect(await strip(other), query).toEqual(await strip(model));
          }
          // Delete the sessions, so that the next round reuses their IDs.
          for (const one of [log, model]) for (const index of sessions.keys()) await one.deleteSession(`s${index}`);
        }
      }));
  });
}
