/** Creates the kind that the options of an agent choose. */
import type { AgentKind } from "./agent-kind.ts";
import type { AgentOptions } from "./agent-options.ts";
import { createGot } from "./got/got.ts";
import { createReact } from "./react/react.ts";
import { createTot } from "./tot/tot.ts";

export function createKind(options: AgentOptions): AgentKind {
  switch (options.kind) {
    case "tot":
      return createTot(options);
    case "got":
      return createGot(options);
    default:
      return createReact(options);
  }
}
