/** The composer of the page: the draft of the current session, its pending messages and the menus of its agent. */
import type { ReactNode } from "react";
import type { SessionView } from "loom-agent/client";
import {
  AllowedTools,
  Composer as MessageComposer,
  findLiveRun,
  isAway,
  splitWaiting,
  useSession,
  WaitingList,
} from "../../../src/react/page-parts.ts";
import { useMay, usePage, usePageState } from "../shell/page-context.tsx";
import { findDraft, findWaiting } from "../store/composing.ts";
import { Pickers } from "./pickers.tsx";

/** Returns the ID of the live run. */
function selectLiveRun(session: SessionView | undefined): string | undefined {
  const live = findLiveRun(session);
  return live?.runId ?? live?.key;
}

export interface PageComposerProps {
  readonly session: string | undefined;
  /** Called before the message is sent, to scroll to the end. */
  readonly onSend: () => void;
}

export function Composer({ session, onSend }: PageComposerProps): ReactNode {
  const page = usePage();
  const name = session ?? "";
  const draft = usePageState(({ composing }) => findDraft(composing, session));
  const waiting = usePageState(({ composing }) => findWaiting(composing, session));
  const stopping = usePageState(({ composing }) => composing.stopping);
  const liveRun = useSession(page.receiver, name, selectLiveRun);
  const isLive = liveRun !== undefined;
  const mayAttach = useMay("write");
  return (
    <MessageComposer
      id="page-message"
      text={draft.text}
      onType={(text) => page.dispatch({ type: "draft/typed", session: name, text })}
      onSend={() => {
        onSend();
        page.sendDraft();
      }}
      files={draft.attachments}
      fileActions={mayAttach ? page : undefined}
      onStop={isLive ? () => void page.stop() : undefined}
      isStopping={isLive && stopping.includes(liveRun)}
      isBusy={isLive || waiting.some(({ status }) => status === "queued")}
      tools={<Pickers session={session} />}
    >
      <AllowedTools receiver={page.receiver} sessionId={name} />
      <WaitingList
        messages={splitWaiting(waiting, isLive).others}
        isAway={useSession(page.receiver, name, (view) => isAway(view?.state))}
        onEdit={(message) => page.takeBack(message)}
        onResend={(message) => page.resend(message)}
        onWithdraw={(message) => void page.withdraw(message)}
      />
    </MessageComposer>
  );
}
