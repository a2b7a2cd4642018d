/** The tools that run without approval in this session. Each can be revoked. */
import { type ReactNode, useState } from "react";
import type { SessionView } from "loom-agent/client";
import { Icon, IconButton, useSession, useWords } from "loom-agent/react";
import { useMay, usePage } from "../shell/page-context.tsx";
import { COMPOSER_WORDS } from "./composer-words.ts";

const NONE: readonly string[] = [];
const selectAllowed = (session: SessionView | undefined): readonly string[] => session?.allowedTools ?? NONE;
const MAX_NAME = 60;

export function AllowedTools({ session }: { readonly session: string }): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  const page = usePage();
  const mayApprove = useMay("approve");
  const tools = useSession(page.receiver, session, selectAllowed);
  const [revoking, setRevoking] = useState<string>();
  if (tools.length === 0) return null;
  const revoke = async (name: string): Promise<void> => {
    setRevoking(name);
    await page.allowTool(name, "ask");
    setRevoking(undefined);
  };
  return (
    <div className="page-allowed" role="group" aria-label={words.allowed}>
      <Icon name="tool" />
      <span>{words.allowed}</span>
      {tools.map((name) => (
        <span key={name} className="page-allowed-tool">
          <code>{name.slice(0, MAX_NAME)}</code>
          {mayApprove ? (
            <IconButton
              icon="close"
              label={words.revoke(name.slice(0, MAX_NAME))}
              disabled={revoking === name}
              onClick={() => void revoke(name)}
            />
          ) : null}
        </span>
      ))}
    </div>
  );
}
