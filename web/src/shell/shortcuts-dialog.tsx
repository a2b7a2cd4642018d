/** The keys of the page. */
import type { ReactNode } from "react";
import { Dialog, useWords } from "loom-agent/react";
import { SHELL_WORDS } from "./shell-words.ts";
import type { PageState } from "../store/page-state.ts";
import { usePageState } from "./page-context.tsx";
import { isOffered, SHORTCUT_KEYS } from "./shortcuts.ts";

const selectAccess = ({ access }: PageState): PageState["access"] => access;

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const words = useWords(SHELL_WORDS);
  const access = usePageState(selectAccess);
  return (
    <Dialog title={words.shortcuts} onClose={onClose}>
      <dl className="page-shortcuts">
        {SHORTCUT_KEYS.filter(([shortcut]) => isOffered(access, shortcut)).map(([shortcut, keys]) => (
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
