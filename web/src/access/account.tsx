/** Name of the signed-in user, with a sign-out button. Renders nothing if authentication is off. */
import type { ReactNode } from "react";
import { Icon, IconButton, useWords } from "../../../src/react/page-parts.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import type { PageState } from "../store/page-state.ts";
import { ACCESS_WORDS } from "./access-words.ts";

const selectName = ({ access }: PageState): string | undefined =>
  access.phase === "signed-in" ? (access.name ?? access.owner ?? "") : undefined;

export function Account(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  const name = usePageState(selectName);
  if (name === undefined) return null;
  return (
    <div className="page-account">
      <Icon name="user" />
      <span className="loom-said">{words.signedIn} </span>
      {/* A right-to-left name must not reorder the text around it. */}
      <bdi className="page-account-name" title={name}>
        {name}
      </bdi>
      <IconButton icon="leave" label={words.signOut} onClick={() => void page.signOut()} />
    </div>
  );
}
