// Tests that a knowledge base must pass with every store that several processes can use.
import { expect, it, onTestFinished } from "vitest";
import type { KnowledgeBaseOptions } from "../../src/context/knowledge-base/knowledge-base-options.ts";
import type { KnowledgeBase } from "../../src/context/knowledge-base/knowledge-base.ts";

type OpenKnowledgeBase = (options?: KnowledgeBaseOptions) => Promise<KnowledgeBase>;

/** `create` returns a function that opens the same new base again and again, as other processes would. */
export function testSharedKnowledgeBase(create: () => OpenKnowledgeBase): void {
  const openAll = async (count: number, options?: KnowledgeBaseOptions): Promise<readonly KnowledgeBase[]> => {
    const open = create();
    const bases: KnowledgeBase[] = [];
    onTestFinished(async () => void (await Promise.all(bases.map((base) => base.close()))));
    // The first one creates it, as a test must not wait for the others.
    while (bases.length < count) bases.push(await open(options));
    return bases;
  };

  it("finds what another process has written, even if the number of passages is the same", async () => {
    const bases = await openAll(2);
    const [one] = bases as [KnowledgeBase];
    await one.addText({ uri: "x", text: "alpha" });
    for (const reader of bases) expect(await reader.search("omega")).toEqual([]);
    await one.addText({ uri: "x", text: "omega" });
    for (const reader of bases) {
      expect(await reader.search("omega")).toHaveLength(1);
      expect(await reader.search("alpha")).toEqual([]);
    }
  });

  it("removes the current version of a document that is replaced concurrently", async () => {
    const [one, other] = (await openAll(2)) as [KnowledgeBase, KnowledgeBase];
    for (let round = 0; round < 6; round++) {
      await one.addText({ uri: "a", text: `old ${round}` });
      const [isRemoved, outcome] = await Promise.all([
        one.removeDocument("a"),
        other.addText({ uri: "a", text: `new ${round}` }),
      ]);
      expect(isRemoved).toBe(true);
      // Either can come first; a removed document is gone in both cases.
      expect([outcome, (await one.get("a")) === undefined]).toEqual([outcome, outcome === "updated"]);
    }
  });

  it("keeps one version of each document when several processes write the same ones", async () => {
    const bases = await openAll(3);
    const uris = ["a", "b", "c", "d"];
    const outcomes = await Promise.all(
      bases.flatMap((base, at) => uris.map((uri) => base.addText({ uri, text: `heron ${uri} by${at}` }))),
    );
    expect(outcomes.filter((outcome) => outcome === "added")).toHaveLength(uris.length);
    const [one] = bases as [KnowledgeBase];
    expect(await one.stats()).toMatchObject({ documents: 4, chunks: 4, collections: [{ documents: 4 }] });
    for (const base of bases) expect(await base.search("heron", { limit: 50 })).toHaveLength(4);
    const hits = await Promise.all(bases.map((_, at) => one.search(`by${at}`, { limit: 50 })));
    expect(hits.flat()).toHaveLength(4);
    expect(await one.remove("a")).toBe(1);
    expect(await one.stats()).toMatchObject({ documents: 3, chunks: 3 });
  });

  it("limits the documents of all processes together", async () => {
    const bases = await openAll(3, { maxDocuments: 5 });
    const added = await Promise.allSettled(
      bases.flatMap((base, at) => [1, 2, 3].map((n) => base.addText({ uri: `${at}-${n}`, text: "heron" }))),
    );
    expect(added.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    for (const result of added)
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "too_many_documents" });
    const [one] = bases as [KnowledgeBase];
    const [kept] = await one.list();
    // A document that exists can be replaced.
    expect(await one.addText({ uri: kept?.uri ?? "", text: "stork" })).toBe("updated");
  });
}
