/** The keys of a shortcut. */
import type { ReactNode } from "react";

export function Keys({ keys }: { readonly keys: readonly string[] }): ReactNode {
  return (
    <span className="page-shortcut-keys">
      {keys.map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </span>
  );
}
