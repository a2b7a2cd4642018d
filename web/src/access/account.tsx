/** Who is signed in, and the way out. Where nobody is asked who they are there is nothing to say. */
import type { ReactNode } from "react";
import { Icon, IconButton, useWords } from "loom-agent/react";
import { usePage, usePageState } from "../shell/page-context.tsx";
import type { PageState } from "../store/page-state.ts";
import { ACCESS_WORDS } from "./access-words.ts";

const selectName = ({ access }: PageState): string | undefined =>
  access.phase === "in" ? (access.name ?? access.owner ?? "") : undefined;

export function Account(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  const name = usePageState(selectName);
  if (name === undefined) return null;
  return (
    <div className="page-account">
      <Icon name="user" />
      <span className="loom-said">{words.signedIn} </span>
      {/* Whatever it is written in, what stands beside it stays where it is. */}
      <bdi className="page-account-name" title={name}>
        {name}
      </bdi>
      <IconButton icon="leave" label={words.signOut} onClick={() => void page.signOut()} />
    </div>
  );
}
