// Tools that record their calls: one that works, one that needs approval, one that fails and one that waits.
import { z } from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Tool } from "../../src/tools/tool.ts";

/** Returns the tools and a list of their calls. */
export function createTools(): { readonly tools: readonly Tool[]; readonly ran: unknown[] } {
  const ran: unknown[] = [];
  const note = (name: string, input: unknown): void => void ran.push([name, input]);
  const add = defineTool({
    name: "add",
    description: "Adds two numbers.",
    input: z.object({ a: z.number(), b: z.number() }),
    execute: (input) => {
      note("add", input);
      return input.a + input.b;
    },
  });
  const remove = defineTool({
    name: "remove",
    description: "Removes a file.",
    input: z.object({ path: z.string() }),
    approval: "always",
    execute: (input) => {
      note("remove", input);
      return `removed ${input.path}`;
    },
  });
  const fail = defineTool({
    name: "fail",
    description: "Fails.",
    input: z.object({}),
    execute: (input): string => {
      note("fail", input);
      throw new Error("the tool broke");
    },
  });
  const wait = defineTool({
    name: "wait",
    description: "Waits until it is aborted.",
    input: z.object({}),
    execute: (input, { signal }) => {
      note("wait", input);
      return new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
    },
  });
  return { tools: [add, remove, fail, wait], ran };
}
