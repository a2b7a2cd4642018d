/** From what an agent was told to the way it goes about a question. */
import { LoomError } from "../protocol/index.ts";
import type { AgentKind } from "./agent-kind.ts";
import type { AgentOptions } from "./agent-options.ts";
import { createGot } from "./got/got.ts";
import { createReact } from "./react/react.ts";
import { createTot } from "./tot/tot.ts";

export function createKind(options: AgentOptions): AgentKind {
  const { kind = "react" } = options;
  // Somebody who writes no types would take a reply without its form for one that has it.
  if (kind !== "react" && "answer" in options && options.answer !== undefined)
    throw new LoomError("graph_invalid", `an answer with a form is for the kind react, not for ${kind}`);
  switch (options.kind) {
    case undefined:
    case "react":
      return createReact(options);
    case "tot":
      return createTot(options);
    case "got":
      return createGot(options);
    default:
      throw new LoomError("graph_invalid", `there is no agent of the kind ${JSON.stringify(kind)}`);
  }
}
