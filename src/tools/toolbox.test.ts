import { describe, expect, it } from "vitest";
import { callOf, createToolRecorder, toolOf } from "../../test/tool-recorder.ts";
import { createToolbox, limitToolbox } from "./toolbox.ts";
import { runToolCall } from "./run-tool-call.ts";

const ran: unknown[] = [];
const tool = toolOf((input) => void ran.push(input));
const box = createToolbox([tool, { ...tool, name: "answer" }]);

describe("limitToolbox", () => {
  it("does not offer denied tools, and reports their rule", () => {
    const limited = limitToolbox(box, [{ tool: "deny" }]);
    expect([limited.names, limited.describe().map(({ name }) => name)]).toEqual([["answer"], ["answer"]]);
    expect([limited.ruleOf("tool"), limited.ruleOf("answer"), box.ruleOf("tool")]).toEqual(["deny", "allow", "allow"]);
    expect(limitToolbox(box, [undefined])).toBe(box);
  });

  it("does not run a call to a denied tool", async () => {
    const host = createToolRecorder();
    const outcome = await runToolCall(callOf({ n: 1 }), limitToolbox(box, [{ tool: "deny" }]), host);
    expect(outcome).toMatchObject({ isError: true, errorCode: "tool_denied" });
    expect([host.types(), ran]).toEqual([["tool_end"], []]);
  });

  it("asks for approval if a rule requires it, after validating the arguments", async () => {
    const asked: unknown[] = [];
    const host = createToolRecorder({
      requestApproval: async (request) => {
        asked.push(request.arguments);
        return { decision: "rejected", arguments: request.arguments };
      },
    });
    const limited = limitToolbox(box, [{ "*": "ask" }]);
    expect(await runToolCall(callOf({ n: "x" }), limited, host)).toMatchObject({ errorCode: "invalid_arguments" });
    expect(await runToolCall(callOf({ n: 1 }), limited, host)).toMatchObject({ errorCode: "tool_rejected" });
    expect([asked, ran]).toEqual([[{ n: 1 }], []]);
  });

  it("waits for a pending approval of a denied tool, and does not run it", async () => {
    const asked: unknown[] = [];
    const host = createToolRecorder({
      recall: () => ({ approvalArguments: { n: 7 }, started: false }),
      requestApproval: async (request) => {
        asked.push(request.arguments);
        return { decision: "approved", arguments: request.arguments };
      },
    });
    const outcome = await runToolCall(callOf({ n: 7 }), limitToolbox(box, [{ tool: "deny" }]), host);
    expect([outcome.errorCode, asked, ran]).toEqual(["tool_denied", [{ n: 7 }], []]);
  });
});
