/** Note shown in place of the composer for users who cannot send messages. */
import type { ReactNode } from "react";
import { Icon, useWords } from "loom-agent/react";
import { usePageState } from "../shell/page-context.tsx";
import type { PageState } from "../store/page-state.ts";
import { ACCESS_WORDS } from "./access-words.ts";

const selectIsShared = ({ access }: PageState): boolean => access.phase === "shared";

export function ReadOnlyNote(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const isShared = usePageState(selectIsShared);
  return (
    <p className="page-read-only" role="note">
      <Icon name={isShared ? "link" : "user"} />
      {isShared ? words.shared : words.readOnly}
    </p>
  );
}
