import { describe } from "vitest";
import { testKnowledgeBase } from "../../../test/contracts/knowledge-base.ts";
import { openKnowledgeBase } from "./knowledge-base.ts";

describe("a knowledge base in memory", () => {
  testKnowledgeBase(async (options) => openKnowledgeBase(":memory:", options), { bases: 60, files: 400 });
});
