// State of the knowledge base.
import { describe, expect, it } from "vitest";
import { type KnowledgeAction, type KnowledgeDocument, NO_KNOWLEDGE, reduceKnowledge } from "./knowledge.ts";

const document = (id: string): KnowledgeDocument => ({
  document_id: id,
  name: id,
  title: id,
  collection: "default",
  format: "markdown",
  bytes: 1,
  passages: 1,
  indexed_at: 0,
});

const listed = (ids: readonly string[], isMore: boolean): KnowledgeAction => ({
  type: "knowledge/listed",
  isMore,
  page: {
    documents: ids.map(document),
    totals: { documents: 9, passages: 9, bytes: 9 },
    collections: [],
    accepts: [".md"],
    max_document_bytes: 10,
  },
});

const run = (...actions: KnowledgeAction[]) => actions.reduce(reduceKnowledge, NO_KNOWLEDGE);

describe("the knowledge base", () => {
  it("is listed page by page, and reloaded", () => {
    const state = run(listed(["a"], false), listed(["b"], true));
    expect(state.documents.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(run(listed(["a"], false), listed(["b"], false)).documents).toHaveLength(1);
    // The page was requested twice.
    expect(reduceKnowledge(state, listed(["b"], true)).documents).toHaveLength(2);
    const left = reduceKnowledge(state, { type: "knowledge/deleted", document: "a" });
    expect([left.documents.length, left.totals]).toEqual([1, { documents: 8, passages: 8, bytes: 8 }]);
    expect(reduceKnowledge(left, { type: "knowledge/deleted", document: "a" }).totals).toEqual(left.totals);
  });

  it("updates each upload, and clears finished ones", () => {
    const upload = { name: "n", progress: 0, status: "waiting" } as const;
    const state = run(
      {
        type: "uploads/added",
        uploads: [
          { ...upload, id: "1" },
          { ...upload, id: "2" },
        ],
      },
      { type: "upload/updated", id: "1", changes: { status: "failed", error: "no" } },
    );
    expect(state.uploads.map(({ status }) => status)).toEqual(["failed", "waiting"]);
    expect(reduceKnowledge(state, { type: "uploads/cleared" }).uploads.map(({ id }) => id)).toEqual(["2"]);
  });

  it("uses only results of the latest query", () => {
    const typed = run({ type: "knowledge/typed", query: "b" });
    expect(reduceKnowledge(typed, { type: "knowledge/found", query: "a", hits: [] })).toBe(typed);
    expect(reduceKnowledge(typed, { type: "knowledge/search-failed", query: "b" }).searching).toBe("failed");
    expect(run({ type: "knowledge/typed", query: " " }).searching).toBe("idle");
  });
});
