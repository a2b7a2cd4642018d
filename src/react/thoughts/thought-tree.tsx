/** The tree of thoughts of a run, as it grows. */
import type { ReactNode } from "react";
import type { TreeView } from "../../client/index.ts";

export interface ThoughtTreeProps {
  readonly tree: TreeView;
  readonly turnKey: string;
  readonly isLive: boolean;
}

export function ThoughtTree({ tree }: ThoughtTreeProps): ReactNode {
  return (
    <ol>
      {tree.thoughts.map(({ id, text }) => (
        <li key={id}>{text}</li>
      ))}
    </ol>
  );
}
