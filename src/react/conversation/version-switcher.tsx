/** Steps through the versions of a conversation at the message where they differ. */
import type { ReactNode } from "react";
import { IconButton } from "../ui/button.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: {
    version: (position: number, count: number) => `Version ${position} of ${count}`,
    previous: "Previous version",
    next: "Next version",
  },
  zh: {
    version: (position: number, count: number) => `第 ${position} 个版本，共 ${count} 个`,
    previous: "上一个版本",
    next: "下一个版本",
  },
});

/** Renders nothing if the run has one version, or if `UiActions.openVersion` is missing. */
export function VersionSwitcher({ turnKey }: { readonly turnKey: string }): ReactNode {
  const words = useWords(WORDS);
  const { actions, versions } = useUi();
  const found = versions?.get(turnKey);
  if (found === undefined || actions.openVersion === undefined) return null;
  const { position, count, previous, next } = found;
  const open = (session: string | undefined): void => {
    if (session !== undefined) actions.openVersion?.(session, turnKey);
  };
  return (
    <div className="loom-versions" role="group" aria-label={words.version(position, count)}>
      <IconButton icon="back" label={words.previous} disabled={previous === undefined} onClick={() => open(previous)} />
      <span aria-hidden="true">
        {position}/{count}
      </span>
      <IconButton icon="open" label={words.next} disabled={next === undefined} onClick={() => open(next)} />
    </div>
  );
}
