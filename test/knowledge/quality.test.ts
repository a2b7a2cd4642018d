// Retrieval quality: documents in two languages, questions, and the document that should rank first. The thresholds are
// what the ranking reaches now; a change that makes it worse fails here.
import { join, relative } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type KnowledgeBase, openKnowledgeBase } from "../../src/context/index.ts";
import { readQuery } from "../../src/context/knowledge-base/query-terms.ts";
import { readTerms } from "../../src/context/knowledge-base/read-terms.ts";
import { packageRoot } from "../source-files.ts";
import { CORPUS, PAGE_QUESTIONS, QUESTIONS, SMALL_TALK } from "./corpus.ts";
import { LONG } from "../sampling.ts";

describe("retrieval quality", () => {
  let base: KnowledgeBase;
  const ranks = new Map<string, number>();
  const scores = new Map<string, number>();

  beforeAll(async () => {
    base = await openKnowledgeBase(":memory:");
    for (const { uri, text } of CORPUS) await base.addText({ uri, text });
    for (const [query, uri] of QUESTIONS) {
      const hits = await base.search(query, { limit: 5 });
      ranks.set(query, hits.findIndex((hit) => hit.uri === uri) + 1);
      scores.set(query, hits.find((hit) => hit.uri === uri)?.score ?? 0);
    }
    return () => base.close();
  });

  it("has enough questions in both languages about existing documents", () => {
    const uris = new Set(CORPUS.map(({ uri }) => uri));
    expect(QUESTIONS.filter(([, uri]) => !uris.has(uri))).toEqual([]);
    for (const language of ["en/", "zh/"]) {
      expect(CORPUS.filter(({ uri }) => uri.startsWith(language)).length).toBeGreaterThanOrEqual(20);
      expect(QUESTIONS.filter(([, uri]) => uri.startsWith(language)).length).toBeGreaterThanOrEqual(25);
    }
  });

  it("ranks the right document first", () => {
    const missed = QUESTIONS.filter(([query]) => ranks.get(query) !== 1).map(([query]) => query);
    // Only the minutes of a meeting contain exactly these words.
    expect(missed).toEqual(["每分钟请求次数"]);
  });

  it("has the right document among the first three", () => {
    const missed = QUESTIONS.filter(([query]) => ![1, 2, 3].includes(ranks.get(query) ?? 0));
    expect(missed).toEqual([]);
  });

  it("scores answers above the minimum, independent of the size of the base", async () => {
    const low = QUESTIONS.filter(([query]) => (scores.get(query) ?? 0) < base.minScore);
    expect(low).toEqual([]);
    const [best] = await base.search("quantum chromodynamics of bread");
    // One of three words occurs.
    expect(best?.uri).toBe("en/sourdough");
    expect(best?.score).toBeLessThan(0.4);
  });

  it.each([
    ["请求", "每个请求都要签名，请求超时后重试。", "求职者求和求解。"],
    ["申请", "员工可以提出申请。", "申报税款，申诉。"],
    ["目的地", "到达目的地之后休息。", "地址和地方，地图。"],
    ["着火", "厨房着火了怎么办。", "火山喷发。火星。"],
    ["酒吧", "附近的酒吧很多。", "酒店预订。"],
    ["C#", "Written in C#.", "Written in C and C++."],
    ["parser", "The XMLParser reads.", "It reads a pair."],
    ["how do I authenticate", "Authentication is by token.", "The author is known."],
  ])("finds %j only by its own words", async (query, right, wrong) => {
    await using small = await openKnowledgeBase(":memory:");
    await small.addText({ uri: "wrong", text: wrong });
    await small.addText({ uri: "right", text: right });
    expect((await small.search(query)).map(({ uri }) => uri)).toEqual(["right"]);
  });

  it.each([
    ["before", (question: string, rest: string) => `${question}\n${rest}`],
    ["behind", (question: string, rest: string) => `${rest}\n${question}`],
  ])("finds the question %s a long pasted text", async (_where, join) => {
    const paste = Array.from({ length: 900 }, (_, at) => `tok${at.toString(36)}q`).join(" ");
    const [best] = await base.search(join("How do I restore the database backup?", paste));
    expect(best?.uri).toBe("en/backup");
    expect(best?.score).toBeGreaterThanOrEqual(base.minScore);
  });

  it("finds nothing for an unknown topic", async () => {
    for (const query of ["quantum chromodynamics", "量子色动力学", "ヴァイオリン", "zzzzqqq"])
      expect(await base.search(query)).toEqual([]);
  });

  it("ignores case, accents and word endings", async () => {
    for (const query of [
      "DEPLOYING APPLICATIONS",
      "deployed application!",
      "  deploy—application  ",
      "Déploy applicätion",
    ])
      expect((await base.search(query))[0]?.uri).toBe("en/deploy");
  });

  it("returns a snippet around the match and its lines", async () => {
    const [hit] = await base.search("如何恢复数据库");
    expect(hit?.snippet).toContain("恢复");
    expect(hit).toMatchObject({ title: "数据库备份", firstLine: 1, lastLine: 4 });
  });
});

describe("retrieval quality for the documentation of this package", () => {
  let pages: KnowledgeBase;
  let all: KnowledgeBase;
  const docs = join(packageRoot, "docs");

  beforeAll(async () => {
    pages = await openKnowledgeBase(":memory:");
    all = await openKnowledgeBase(":memory:");
    for (const folder of ["handbook", "guides"]) await pages.add(join(docs, folder));
    await all.add(docs);
    return async () => {
      await pages.close();
      await all.close();
    };
  });

  it("ranks the right page first", async () => {
    for (const [query, page] of PAGE_QUESTIONS) {
      const [hit] = await pages.search(query);
      expect([query, relative(docs, hit?.uri ?? "")]).toEqual([query, page]);
      expect([query, (hit?.score ?? 0) >= pages.minScore]).toEqual([query, true]);
    }
  });

  it.runIf(LONG)("finds every document by its title", async () => {
    const documents = await all.list({ limit: 1000 });
    expect(documents.length).toBeGreaterThan(60);
    const missed: string[] = [];
    // The front pages of the docs site have no title.
    for (const { title, uri } of documents.filter((one) => !/index(?:\.zh)?\.md$/.test(one.uri))) {
      const [hit] = await all.search(title);
      const asked = new Set(readQuery(title).terms.map(({ term }) => term));
      const text = `${hit?.headings.join("\n")}\n${hit?.content}`;
      const isAbout = hit?.firstLine === 1 || readTerms(text).some(({ term }) => asked.has(term));
      // Some documents have the same title, or one that contains the same words.
      const named = new Set(readTerms(hit?.title ?? "").map(({ term }) => term));
      if (hit?.uri !== uri && ![...asked].every((term) => named.has(term))) missed.push(`${title}: ${hit?.uri}`);
      else if (!isAbout) missed.push(`${title}: line ${hit?.firstLine}`);
    }
    expect(missed).toEqual([]);
  });

  it("finds nothing for small talk", async () => {
    await using handbook = await openKnowledgeBase(":memory:");
    await handbook.add(join(docs, "handbook"));
    for (const query of SMALL_TALK) {
      const hits = await handbook.search(query);
      expect([query, hits.filter(({ score }) => score >= handbook.minScore).map(({ uri }) => uri)]).toEqual([
        query,
        [],
      ]);
    }
  });
});
