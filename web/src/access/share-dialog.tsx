/** Dialog that creates, lists and revokes the share links of a session. */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import {
  Button,
  CopyButton,
  Dialog,
  formatTime,
  Icon,
  Spinner,
  useUi,
  useWords,
} from "../../../src/react/page-parts.ts";
import { usePage } from "../shell/page-context.tsx";
import { SHARE_WORDS } from "./share-words.ts";
import type { ShareLink } from "./sharing.ts";
import { type Sharing, useSharing } from "./use-sharing.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const LIFETIMES = { day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS, forever: undefined } as const;
type Lifetime = keyof typeof LIFETIMES;

export interface ShareDialogProps {
  readonly session: string;
  readonly onClose: () => void;
}

export function ShareDialog({ session, onClose }: ShareDialogProps): ReactNode {
  const words = useWords(SHARE_WORDS);
  const { sharing, ...effects } = useSharing(usePage().api, session);
  const { created, isCopied, failure } = sharing;
  return (
    <Dialog title={words.title} onClose={onClose}>
      <div className="page-share">
        <p>{words.shows}</p>
        <p className="page-soft">{words.hides}</p>
        {sharing.isLocal ? (
          <p className="page-share-local">
            <Icon name="alert" /> {words.local}
          </p>
        ) : null}
        <NewLink isCreating={sharing.isCreating} create={effects.create} />
        {created === undefined ? null : <CreatedLink key={created.share_id} url={created.url} isCopied={isCopied} />}
        {failure === undefined || sharing.status === "failed" ? null : (
          <p className="page-sign-in-error" role="alert">
            {failure.message} <code>{failure.code}</code>
          </p>
        )}
        <Links sharing={sharing} {...effects} />
      </div>
    </Dialog>
  );
}

function NewLink({ isCreating, create }: Pick<Sharing, "create"> & { readonly isCreating: boolean }): ReactNode {
  const words = useWords(SHARE_WORDS);
  const id = useId();
  const [lifetime, setLifetime] = useState<Lifetime>("week");
  return (
    <div className="page-share-new">
      <label htmlFor={id}>{words.lifetime}</label>
      <select
        id={id}
        className="page-field"
        value={lifetime}
        onChange={(event) => setLifetime(event.target.value as Lifetime)}
      >
        {(Object.keys(LIFETIMES) as readonly Lifetime[]).map((one) => (
          <option key={one} value={one}>
            {words[one]}
          </option>
        ))}
      </select>
      <Button variant="primary" icon="link" disabled={isCreating} onClick={() => void create(LIFETIMES[lifetime])}>
        {isCreating ? words.creating : words.create}
      </Button>
    </div>
  );
}

function CreatedLink({ url, isCopied }: { readonly url: string; readonly isCopied: boolean }): ReactNode {
  const words = useWords(SHARE_WORDS);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
    // The field shows the beginning of the link.
    field.current?.scrollTo({ left: 0 });
  }, []);
  return (
    <div className="page-share-made">
      <span className="page-share-address">
        <input ref={field} className="page-field" readOnly value={url} aria-label={words.newLink} spellCheck={false} />
        <CopyButton getText={() => url} label={words.copy} />
      </span>
      <p className="page-soft" role="status">
        {isCopied ? <Icon name="check" /> : null} {isCopied ? words.copied : words.notCopied}
      </p>
    </div>
  );
}

function Links({ sharing, list, revoke }: Pick<Sharing, "sharing" | "list" | "revoke">): ReactNode {
  const words = useWords(SHARE_WORDS);
  const { links, status, revoking } = sharing;
  const title = useRef<HTMLHeadingElement>(null);
  const revokeOne = async (share: string): Promise<void> => {
    await revoke(share);
    // The focused button was removed with its link.
    title.current?.focus();
  };
  return (
    <section>
      <h3 ref={title} tabIndex={-1}>
        {words.links}
      </h3>
      {status === "failed" ? (
        <div role="alert" className="page-documents-note">
          <p>{words.listFailed}</p>
          <Button icon="retry" onClick={list}>
            {words.again}
          </Button>
        </div>
      ) : status === "loading" ? (
        <Spinner />
      ) : links.length === 0 ? (
        <p className="page-soft">{words.none}</p>
      ) : (
        <ul className="page-share-links">
          {links.map((link) => (
            <LinkItem
              key={link.share_id}
              link={link}
              isBusy={revoking !== undefined}
              onRevoke={() => void revokeOne(link.share_id)}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

interface LinkItemProps {
  readonly link: ShareLink;
  readonly isBusy: boolean;
  readonly onRevoke: () => void;
}

function LinkItem({ link, isBusy, onRevoke }: LinkItemProps): ReactNode {
  const words = useWords(SHARE_WORDS);
  const { language } = useUi();
  const createdAt = formatTime(link.created_at, language);
  return (
    <li>
      <span className="page-share-link">
        <span>{words.created(createdAt)}</span>
        <span className="page-soft">
          {link.expires_at === undefined ? words.neverExpires : words.expires(formatTime(link.expires_at, language))}
        </span>
        <span className="page-soft">
          {link.opened_at === undefined
            ? words.unopened
            : words.opened(
                link.opened.toLocaleString(language),
                link.opened === 1,
                formatTime(link.opened_at, language),
              )}
        </span>
      </span>
      <Button variant="danger" disabled={isBusy} aria-label={words.revokeOne(createdAt)} onClick={onRevoke}>
        {words.revoke}
      </Button>
    </li>
  );
}
