/** Steps through the versions of a conversation at the message or answer where they differ. */
import type { ReactNode } from "react";
import { IconButton } from "../ui/button.tsx";
import { type RunVersions, useUi } from "../ui/ui-context.tsx";
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

export interface VersionSwitcherProps {
  readonly turnKey: string;
  /** Which part of the run it belongs to. */
  readonly at: NonNullable<RunVersions["changed"]>;
}

/** Renders nothing if the versions differ elsewhere, or if `UiActions.openVersion` is missing. */
export function VersionSwitcher({ turnKey, at }: VersionSwitcherProps): ReactNode {
  const words = useWords(WORDS);
  const { actions, versions } = useUi();
  const found = versions?.get(turnKey);
  if (found === undefined || actions.openVersion === undefined) return null;
  const { position, count, changed = "message", previous, next } = found;
  if (changed !== at) return null;
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
