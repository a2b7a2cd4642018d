/** Where the page shows what a frame is about: a node run has no place of its own there. */
import type { TurnView } from "loom-agent/client";
import type { ElementPlace } from "loom-agent/react";

/** Of a node run: the node of the graph it is, or else the first thing it said; where it said nothing, the run. */
export function findShownPlace(turn: TurnView | undefined, place: ElementPlace): ElementPlace {
  if (place.kind !== "node") return place;
  const name = turn?.nodes.find(({ key }) => key === place.key)?.name;
  if (turn?.graph?.nodes.some(({ id }) => id === name) === true)
    return { turn: place.turn, kind: "graph-node", key: name ?? "" };
  const part = turn?.messages.at(-1)?.parts.find(({ nodeKey }) => nodeKey === place.key);
  return part === undefined
    ? { turn: place.turn, kind: "turn", key: "" }
    : { turn: place.turn, kind: "part", key: part.key };
}
