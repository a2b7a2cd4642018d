/** The graph of thoughts of a run: its tasks, what they need, and what became of them. */
import type { ReactNode } from "react";
import type { GraphView } from "../../client/index.ts";

export interface ThoughtGraphProps {
  readonly graph: GraphView;
  readonly turnKey: string;
  readonly isLive: boolean;
}

export function ThoughtGraph({ graph }: ThoughtGraphProps): ReactNode {
  return (
    <ol>
      {graph.nodes.map(({ id, label }) => (
        <li key={id}>{label ?? id}</li>
      ))}
    </ol>
  );
}
