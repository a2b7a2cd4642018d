import { describe, expect, it } from "vitest";
import { testKnowledgeBase } from "../../../test/contracts/knowledge-base.ts";
import { openKnowledgeBase } from "./knowledge-base.ts";

describe("a knowledge base in memory", () => {
  testKnowledgeBase(async (options) => openKnowledgeBase(":memory:", options), { bases: 60, files: 400 });

  it.each<[object, string]>([
    [{ maxDocument: 5 }, "Unknown option `maxDocument`; did you mean `maxDocuments`?"],
    [{ maxFiles: -1 }, "`maxFiles` must be an integer from 0, not -1"],
    [{ name: 5 }, "`name` must be a string, not 5"],
  ])("refuses a wrong option: %o", async (options, message) => {
    const refusal = { code: "invalid_arguments", message: expect.stringContaining(message) as string };
    await expect(openKnowledgeBase(":memory:", options)).rejects.toMatchObject(refusal);
  });
});
