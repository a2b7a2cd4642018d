/** Maps the element of a frame to one that the conversation shows. The conversation does not show node runs. */
import type { TurnView } from "loom-agent/client";
import type { ElementTarget } from "../../../src/react/page-parts.ts";

/**
 * A node run maps to its graph node, else to its first part, else to the run. Other elements are returned unchanged.
 */
export function findShownTarget(turn: TurnView | undefined, target: ElementTarget): ElementTarget {
  if (target.kind !== "node") return target;
  const name = turn?.nodes.find(({ key }) => key === target.key)?.name;
  if (turn?.graph?.nodes.some(({ id }) => id === name) === true)
    return { turn: target.turn, kind: "graph-node", key: name ?? "" };
  const part = turn?.messages.at(-1)?.parts.find(({ nodeKey }) => nodeKey === target.key);
  return part === undefined
    ? { turn: target.turn, kind: "turn", key: "" }
    : { turn: target.turn, kind: "part", key: part.key };
}
