import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { createToolRecorder } from "../../test/tool-recorder.ts";
import { openKnowledgeBase, type Passage, type Retriever } from "../context/index.ts";
import { type JsonObject, LoomError } from "../protocol/index.ts";
import { findEventFault } from "../protocol/validate.ts";
import { createKnowledgeTool, type KnowledgeToolOptions } from "./knowledge-tool.ts";
import { runToolCall } from "./run-tool-call.ts";
import { createToolbox } from "./toolbox.ts";
import type { ToolHost } from "./tool-host.ts";

function open(retriever: Retriever, options: KnowledgeToolOptions = {}) {
  const tool = createKnowledgeTool(retriever, options);
  const toolbox = createToolbox([tool]);
  let calls = 0;
  const search = async (input: JsonObject, more: Partial<ToolHost> = {}) => {
    const host = createToolRecorder(more);
    const call = { callId: `c${++calls}`, name: tool.name, input, rawInput: JSON.stringify(input) };
    const outcome = await runToolCall(call, toolbox, host);
    for (const event of host.events) expect(findEventFault(event)).toBeUndefined();
    const shown = host.events.filter(({ type }) => type === "retrieval_complete");
    return { ...outcome, events: host.events, shown };
  };
  return { tool, search };
}

const passage = (title: string, more: Partial<Passage> = {}): Passage => ({
  title,
  content: `About ${title}.`,
  ...more,
});

describe("search_knowledge_base", () => {
  it("returns results as specification 004 defines, numbers them for the model, and shows them", async () => {
    await using base = await openKnowledgeBase(":memory:");
    await base.addText({
      uri: "docs/deploy.md",
      text: "# 部署指南\n\n使用 docker compose 部署应用。",
      collection: "docs",
    });
    const { search, tool } = open(base);
    expect(tool).toMatchObject({ name: "search_knowledge_base", idempotent: true });
    const { output, result, isError, shown, events } = await search({ query: "如何部署应用", sourceType: "all" });
    expect(isError).toBe(false);
    expect(output).toMatchObject({
      results: [
        {
          title: "部署指南",
          content: "# 部署指南\n\n使用 docker compose 部署应用。",
          uri: "docs/deploy.md",
          ref: 1,
          first_line: 1,
          last_line: 3,
        },
      ],
      query: "如何部署应用",
      total: 1,
    });
    expect(result).toMatch(
      /\n\n\[1\] "部署指南" \(docs\/deploy\.md, lines 1 to 3, score 0\.\d+\)\n\| # 部署指南\n\| \n\| 使用 docker compose 部署应用。$/,
    );
    expect(shown).toMatchObject([
      {
        doc_count: 1,
        query: "如何部署应用",
        sources: [{ title: "部署指南", uri: "docs/deploy.md", ref: 1, first_line: 1, last_line: 3 }],
      },
    ]);
    expect(events.map(({ type }) => type)).toEqual(["tool_start", "retrieval_complete", "tool_end"]);
    expect((await search({ query: "部署", sourceType: "docs" })).output).toMatchObject({ total: 1 });
    const elsewhere = await search({ query: "部署", sourceType: "none" });
    expect(elsewhere.result).toContain('use sourceType "all"');
    expect(elsewhere.shown).toMatchObject([{ doc_count: 0, sources: [] }]);
  });

  it("offers sourceType only for a retriever with collections", async () => {
    const { search, tool } = open({ retrieve: async () => [] });
    expect(Object.keys(tool.inputSchema["properties"] ?? {})).toEqual(["query", "limit"]);
    // A model may send it anyway.
    const { result } = await search({ query: "nothing", sourceType: "docs" });
    expect(result).toBe('Nothing was found for "nothing".');
  });

  it("shows a search without results", async () => {
    const { search } = open({ retrieve: async () => [] });
    const { output, result, isError, shown } = await search({ query: "nothing" });
    expect([isError, result]).toEqual([false, 'Nothing was found for "nothing".']);
    expect(output).toEqual({ results: [], query: "nothing", total: 0 });
    expect(shown).toEqual([{ type: "retrieval_complete", doc_count: 0, query: "nothing", sources: [] }]);
  });

  it("continues numbers within a run, and keeps the number of a passage", async () => {
    const answers = [[passage("a"), passage("b")], [passage("b"), passage("c")], [passage("c")]];
    const { search } = open({ retrieve: async () => answers.shift() ?? [] });
    const later = open({ retrieve: async () => [passage("a")] }, { firstRef: 6 });
    expect((await later.search({ query: "x" })).output).toMatchObject({ results: [{ ref: 6 }] });
    const refsOf = (found: { output?: unknown }) =>
      (found.output as { results: { ref: number }[] }).results.map(({ ref }) => ref);
    expect(refsOf(await search({ query: "x" }))).toEqual([1, 2]);
    expect(refsOf(await search({ query: "y" }))).toEqual([2, 3]);
    expect(refsOf(await search({ query: "z" }, { runId: "another" }))).toEqual([1]);
  });

  it("numbers the passages of one long line separately", async () => {
    const parts = ["one", "two"].map((content) => passage("a", { content, uri: "a.md", firstLine: 3 }));
    const { output } = await open({ retrieve: async () => parts }).search({ query: "x" });
    expect(output).toMatchObject({ results: [{ ref: 1 }, { ref: 2 }] });
  });

  it("does not let a document imitate another passage", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("title", "uri", "content", "snippet"),
        fc.array(
          fc.constantFrom("\n", "\r", "\u2028", "\u0085", "[2] ", '"', ")", "| ", "\u202e", "\u200b", "\u{e0041}", "a"),
          {
            maxLength: 20,
          },
        ),
        async (field, parts) => {
          const evil = passage("a", { uri: "a.md", snippet: "a", content: "a", [field]: `Guide${parts.join("")}` });
          const { result, shown } = await open({ retrieve: async () => [evil] }).search({ query: "x" });
          const [, , head = "", ...lines] = result.split("\n");
          expect(head).toMatch(/^\[1\] "[^"]+" \(.*\)$/);
          expect(lines.filter((line) => !line.startsWith("| "))).toEqual([]);
          expect(result + JSON.stringify(shown)).not.toMatch(/[\p{Cf}\r\u2028\u0085]/u);
        },
      ),
    );
  });

  it("reports an unavailable knowledge base without details, and shows nothing", async () => {
    const cause = new LoomError("store_corrupt", "`/srv/secret/kb.db` is damaged: name another one with `--kb FILE`");
    const failing = async (): Promise<never> => Promise.reject(cause);
    const onError = vi.fn<(error: unknown) => void>();
    const { result, isError, errorCode, shown, events } = await open({ retrieve: failing }).search(
      { query: "x" },
      { onError },
    );
    expect(result).toBe("Knowledge base unavailable");
    // The cause goes to the host only.
    expect(JSON.stringify(events)).not.toMatch(/secret|--kb/);
    expect(onError.mock.calls[0]?.[0]).toMatchObject({ code: "retrieval_failed", cause });
    expect([isError, errorCode, shown]).toEqual([true, "retrieval_failed", []]);
    const named = await open({ name: "handbook", retrieve: failing }).search({ query: "x" });
    expect(named.result).toBe("Knowledge base handbook unavailable");
    const closed = await openKnowledgeBase(":memory:");
    await closed.close();
    expect((await open(closed).search({ query: "x" })).result).toBe("Knowledge base unavailable");
  });

  it("accepts any value from a retriever", async () => {
    const strange = [
      null,
      7,
      {},
      { title: "", content: 5, score: Number.NaN, firstLine: -1, uri: {} },
      { title: "\ud800", content: "x".repeat(1e6) },
    ];
    const { search } = open({ retrieve: async () => strange as unknown as Passage[] });
    const { output, isError } = await search({ query: "x", limit: 20 });
    expect(isError).toBe(false);
    expect(output).toMatchObject({ total: 5, results: [{ title: "untitled", content: "" }, {}, {}, {}, {}] });
    const list = await open({ retrieve: async () => "not an array" as never }).search({ query: "x" });
    expect(list.isError).toBe(true);
    const much = open({ retrieve: async () => Array.from({ length: 99 }, (_, at) => passage(`${at}`)) }, { limit: 3 });
    expect((await much.search({ query: "x" })).output).toMatchObject({ total: 3 });
  });

  it("stops when the run ends and after its timeout", async () => {
    const hangs = { retrieve: async (): Promise<never> => new Promise<never>(() => undefined) };
    const abort = new AbortController();
    const pending = open(hangs).search({ query: "x" }, { signal: abort.signal });
    setImmediate(() => abort.abort(new Error("over")));
    await expect(pending).rejects.toThrow("over");
    expect((await open(hangs, { timeoutMs: 5 }).search({ query: "x" })).errorCode).toBe("tool_timeout");
  });

  it.each([{}, { query: "" }, { query: "x", limit: 0 }, { query: "x", limit: 21 }, { query: 5 }])(
    "rejects %j",
    async (input) => {
      const { errorCode } = await open({ retrieve: async () => [] }).search(input);
      expect(errorCode).toBe("invalid_arguments");
    },
  );
});
