/** The tools that run without approval in this session. Each can be revoked. */
import { type ReactNode, useState } from "react";
import type { Receiver } from "../../client/index.ts";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import { useSession } from "../use-receiver.ts";
import { COMPOSER_WORDS } from "./composer-words.ts";

const NONE: readonly string[] = [];
const MAX_NAME = 60;

export interface AllowedToolsProps {
  readonly receiver: Receiver;
  readonly sessionId: string;
}

/**
 * Lists the tools that run without approval, each with a button that ends it. Renders nothing if there are none.
 *
 * ```tsx
 * <AllowedTools receiver={receiver} sessionId="demo" />
 * ```
 */
export function AllowedTools({ receiver, sessionId }: AllowedToolsProps): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  const { actions } = useUi();
  const tools = useSession(receiver, sessionId, (view) => view?.allowedTools ?? NONE);
  const [revoking, setRevoking] = useState<string>();
  if (tools.length === 0) return null;
  const revoke = async (name: string): Promise<void> => {
    setRevoking(name);
    await actions.allowTool?.(name, "ask");
    setRevoking(undefined);
  };
  return (
    <div className="loom-allowed" role="group" aria-label={words.allowed}>
      <Icon name="tool" />
      <span>{words.allowed}</span>
      {tools.map((name) => (
        <span key={name} className="loom-allowed-tool">
          <code>{name.slice(0, MAX_NAME)}</code>
          {actions.allowTool === undefined ? null : (
            <IconButton
              icon="close"
              label={words.revoke(name.slice(0, MAX_NAME))}
              disabled={revoking === name}
              onClick={() => void revoke(name)}
            />
          )}
        </span>
      ))}
    </div>
  );
}
