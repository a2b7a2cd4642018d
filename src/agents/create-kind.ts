/** Creates the kind that the options of an agent choose. */
import { LoomError } from "../protocol/index.ts";
import type { AgentKind } from "./agent-kind.ts";
import type { AgentOptions } from "./agent-options.ts";
import { createGot } from "./got/got.ts";
import { createReact } from "./react/react.ts";
import { createTot } from "./tot/tot.ts";

export function createKind(options: AgentOptions): AgentKind {
  const { kind = "react" } = options;
  // Without this check, untyped code would get a plain reply and take it for structured output.
  if (kind !== "react" && "answer" in options && options.answer !== undefined)
    throw new LoomError("graph_invalid", `Structured output (\`answer\`) needs the kind react, not ${kind}`);
  switch (options.kind) {
    case undefined:
    case "react":
      return createReact(options);
    case "tot":
      return createTot(options);
    case "got":
      return createGot(options);
    default:
      throw new LoomError("graph_invalid", `Unknown agent kind ${JSON.stringify(kind)}; use react, tot or got`);
  }
}
