// A search in PostgreSQL returns what a search in SQLite returns, for the same documents.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../../../test/postgres-server.ts";
import { LONG, KNOWLEDGE_SAMPLES } from "../../../../test/sampling.ts";
import type { KnowledgeBaseOptions } from "../knowledge-base-options.ts";
import { openKnowledgeBase, type KnowledgeBase } from "../knowledge-base.ts";
import { openPostgresKnowledgeBase } from "../open-postgres-knowledge-base.ts";
import { packHits, unpackHits } from "./index-passage.ts";

const TIMEOUT = 600_000;
const WORDS =
  "heron stork the nest nests river Dammbau 单车 清洗旧单车 上油 车 createAgent C++ naïve x 7 backup restore".split(
    " ",
  );

const word = fc.constantFrom(...WORDS);
const words = (max: number): fc.Arbitrary<string> =>
  fc.array(word, { minLength: 1, maxLength: max }).map((all) => all.join(" "));
const section = fc.tuple(words(3), words(60)).map(([heading, text]) => `## ${heading}\n\n${text}\n\n`);
const text = fc
  .tuple(words(4), fc.array(section, { maxLength: 4 }))
  .map(([title, all]) => `# ${title}\n\n${all.join("")}`);
const change = fc.record({
  uri: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz".split("")),
  collection: fc.constantFrom("one", "two"),
  text: fc.option(text, { freq: 8 }),
});
const search = fc.record({
  query: words(6),
  limit: fc.constantFrom(1, 5, 20, 50),
  collection: fc.constantFrom(undefined, "one", "two", "none"),
});

it("packs the hits of a term", () => {
  fc.assert(
    fc.property(fc.nat(127), fc.nat(1023), fc.nat(16_383), (title, headings, body) => {
      const packed = packHits({ title, headings, body });
      expect(packed).toBeLessThan(2 ** 31);
      expect(unpackHits(packed)).toEqual({ title, headings, body });
    }),
  );
  expect(unpackHits(packHits({ title: 1e6, headings: 1e6, body: 1e6 }))).toEqual({
    title: 127,
    headings: 1023,
    body: 16_383,
  });
});

describe.skipIf(NO_POSTGRES !== undefined)("a search in PostgreSQL", { timeout: TIMEOUT }, () => {
  let server: PostgresServer;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres();
  }, TIMEOUT);
  afterAll(() => server.stop(), TIMEOUT);

  const open = async (options?: KnowledgeBaseOptions): Promise<KnowledgeBase> =>
    openPostgresKnowledgeBase(server.url, { ...options, connection: { schema: `kb_${++schemas}`, maxConnections: 2 } });

  it("finds the same passages with the same scores as in SQLite, after any changes", async () => {
    const { compared, documents, queries } = KNOWLEDGE_SAMPLES;
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: documents / 2, maxLength: documents }),
        fc.array(search, { minLength: queries, maxLength: queries }),
        async (changes, searches) => {
          await using base = await open();
          const kept = new Map<string, { readonly text: string; readonly collection: string }>();
          for (const { uri, collection, text: given } of changes) {
            if (given === null) await base.removeDocument(uri);
            else if ((await base.addText({ uri, collection, text: given })) === "unchanged") continue;
            // The order of the passages is that of the last change.
            kept.delete(uri);
            if (given !== null) kept.set(uri, { text: given, collection });
          }
          // New, because deleted passages still count in the index of a file.
          await using file = await openKnowledgeBase(":memory:");
          for (const [uri, one] of kept) await file.addText({ uri, ...one });
          expect(await base.stats()).toEqual(await file.stats());
          for (const { query, limit, collection } of searches) {
            const options = { limit, ...(collection === undefined ? {} : { collection }) };
            expect(await base.search(query, options), query).toEqual(await file.search(query, options));
          }
        },
      ),
      { numRuns: compared },
    );
  });

  it.runIf(LONG)("finds the same passages of a term that is too frequent to examine all of them", async () => {
    await using base = await open({ maxPerDocument: 50 });
    await using file = await openKnowledgeBase(":memory:", { maxPerDocument: 50 });
    const section = (at: number): string =>
      `## ${at % 100 === 0 ? "Heron" : "Part"} ${at}\n\nheron ${at % 3 === 0 ? "stork" : "tern"} ${"x ".repeat(at % 7)}\n\n`;
    const long = Array.from({ length: 1700 }, (_, at) => section(at)).join("");
    for (const one of [base, file]) {
      await one.addText({ uri: "long", text: long, collection: "long" });
      await one.addText({ uri: "short", text: "# Stork\n\nheron", collection: "short" });
    }
    for (const query of ["heron", "part", "stork", "heron stork"])
      for (const collection of [undefined, "long", "short"])
        // 17 passages have it in a heading: enough for the smaller limit.
        for (const limit of [5, 20]) {
          const options = { limit, ...(collection === undefined ? {} : { collection }) };
          const found = await base.search(query, options);
          expect(found, query).toEqual(await file.search(query, options));
          if (collection === undefined) expect(found).toHaveLength(limit);
        }
  });
});
