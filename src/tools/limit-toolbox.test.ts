import { describe, expect, it } from "vitest";
import { callOf, record, toolOf } from "../../test/tool-recorder.ts";
import { limitToolbox } from "./limit-toolbox.ts";
import { runToolCall } from "./run-tool-call.ts";
import { createToolbox } from "./toolbox.ts";

const ran: unknown[] = [];
const tool = toolOf((input) => void ran.push(input));
const box = createToolbox([tool, { ...tool, name: "answer" }]);

describe("a toolbox under rules", () => {
  it("offers what is not denied, and knows what is", () => {
    const limited = limitToolbox(box, { rules: [{ tool: "deny" }] });
    expect([limited.names, limited.describe().map(({ name }) => name)]).toEqual([["answer"], ["answer"]]);
    expect([limited.ruleOf("tool"), limited.ruleOf("answer"), box.ruleOf("tool")]).toEqual(["deny", "allow", "allow"]);
    expect(limitToolbox(box, { rules: [{ "*": "deny" }], except: ["answer"] }).names).toEqual(["answer"]);
    expect(limitToolbox(box, { rules: [undefined] })).toBe(box);
  });

  it("runs no call of what is denied, and says so", async () => {
    const host = record();
    const outcome = await runToolCall(callOf({ n: 1 }), limitToolbox(box, { rules: [{ tool: "deny" }] }), host);
    expect(outcome).toMatchObject({ isError: true, errorCode: "tool_denied" });
    expect([host.types(), ran]).toEqual([["tool_end"], []]);
  });

  it("asks where a rule says so, and only that: arguments that are wrong are still wrong", async () => {
    const asked: unknown[] = [];
    const host = record({
      requestApproval: async (request) => {
        asked.push(request.arguments);
        return { decision: "rejected", arguments: request.arguments };
      },
    });
    const limited = limitToolbox(box, { rules: [{ "*": "ask" }] });
    expect(await runToolCall(callOf({ n: "x" }), limited, host)).toMatchObject({ errorCode: "invalid_arguments" });
    expect(await runToolCall(callOf({ n: 1 }), limited, host)).toMatchObject({ errorCode: "tool_rejected" });
    expect([asked, ran]).toEqual([[{ n: 1 }], []]);
  });

  it("leaves a question standing until it is answered, and does not run what was agreed to", async () => {
    const asked: unknown[] = [];
    const host = record({
      recall: () => ({ asked: { n: 7 }, started: false }),
      requestApproval: async (request) => {
        asked.push(request.arguments);
        return { decision: "approved", arguments: request.arguments };
      },
    });
    const outcome = await runToolCall(callOf({ n: 7 }), limitToolbox(box, { rules: [{ tool: "deny" }] }), host);
    expect([outcome.errorCode, asked, ran]).toEqual(["tool_denied", [{ n: 7 }], []]);
  });
});
