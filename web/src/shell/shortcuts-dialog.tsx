/** The keys of the page. */
import type { ReactNode } from "react";
import { Dialog, useWords } from "loom-agent/react";
import { SHELL_WORDS } from "./shell-words.ts";
import { SHORTCUT_KEYS } from "./shortcuts.ts";

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const words = useWords(SHELL_WORDS);
  return (
    <Dialog title={words.shortcuts} onClose={onClose}>
      <dl className="page-shortcuts">
        {SHORTCUT_KEYS.map(([shortcut, keys]) => (
          <div key={shortcut}>
            <dt>{words.key(shortcut)}</dt>
            <dd>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
