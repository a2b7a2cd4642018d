/**
 * An error that ended a run: what happened, what was kept and what to do, with one action. The sender's message, codes
 * and stages are under Details.
 */
import { type ReactNode, useState } from "react";
import type { TurnView } from "../../client/index.ts";
import type { ErrorPart } from "../../client/view.ts";
import { useRunContext } from "../conversation/run-context.ts";
import { Button } from "../ui/button.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import { ERROR_WORDS, isKnownError } from "./error-words.ts";
import { JsonView } from "./json-view.tsx";
import { ShortText } from "./log-box.tsx";
import { RunNotice } from "./run-notice.tsx";
import { cutText } from "../../protocol/cut-text.ts";

const MAX_NAME = 80;

export interface ErrorBannerProps {
  readonly part: ErrorPart;
  /** The run is live. */
  readonly isLive: boolean;
}

/**
 * Shows an error of a run, with a retry button if the run has ended. An error after which the run continued is a notice
 * that says what was done.
 *
 * ```tsx
 * {part.type === "error" && <ErrorBanner part={part} isLive={isLive} />}
 * ```
 */
export function ErrorBanner({ part, isLive }: ErrorBannerProps): ReactNode {
  const words = useWords(ERROR_WORDS);
  const { actions } = useUi();
  const run = useRunContext();
  // Announce new errors only, not those rendered while scrolling.
  const [isNews] = useState(isLive);
  const { message, code, stage, errorType, callId, details } = part;
  const facts = [
    ...(errorType === undefined ? [] : [words[errorType]]),
    ...(stage === undefined ? [] : [words.stage(cutText(stage, MAX_NAME))]),
    ...(callId === undefined ? [] : [words.call(cutText(callId, MAX_NAME))]),
  ];
  const shownFacts =
    code === undefined && facts.length === 0 ? null : (
      <p className="loom-error-facts">
        {code === undefined ? null : <code>{cutText(code, MAX_NAME)}</code>}
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
      </p>
    );
  const data =
    details === undefined || Object.keys(details).length === 0 ? null : (
      <JsonView value={details} label={words.details} />
    );
  const turn = run.getTurn();
  if (hasContinued(part, turn))
    return (
      <RunNotice part={part} isLive={isLive}>
        {shownFacts}
        {data}
      </RunNotice>
    );
  const isKnown = isKnownError(code ?? "");
  const shownMessage =
    message === "" ? null : (
      <p className="loom-error-message" dir="auto">
        <ShortText text={message} />
      </p>
    );
  const retry = (): void => {
    const latest = run.getTurn();
    if (latest !== undefined) actions.retry?.(latest);
  };
  return (
    <div className="loom-error" role={isNews ? "alert" : "group"} aria-label={words.error}>
      <Icon name="alert" />
      <div className="loom-error-body">
        <p className="loom-error-lead">{words.happened(code ?? "")}</p>
        {isKnown ? null : shownMessage}
        <p className="loom-error-next">{[words[findKept(turn)], words.next(code ?? "")].join(words.joined)}</p>
        {!isLive && actions.retry !== undefined ? (
          <Button icon="retry" onClick={retry}>
            {words.retry}
          </Button>
        ) : null}
        {shownFacts === null && data === null && (!isKnown || message === "") ? null : (
          <Disclosure summary={words.details}>
            <div className="loom-error-body">
              {isKnown ? shownMessage : null}
              {shownFacts}
              {data}
            </div>
          </Disclosure>
        )}
      </div>
    </div>
  );
}

/** Without its end, a run is not known to have failed. Only its last error ended a run that failed. */
function hasContinued({ key, recoverable }: ErrorPart, turn: TurnView | undefined): boolean {
  const { status = "error", messages = [] } = turn ?? {};
  if (status === "completed") return true;
  const last = messages.flatMap(({ parts }) => parts).findLast(({ type }) => type === "error");
  return recoverable === true && (status !== "error" || (last !== undefined && last.key !== key));
}

function findKept(turn: TurnView | undefined): "keptAnswer" | "keptSteps" | "keptMessage" {
  const parts = turn?.messages.filter(({ role }) => role === "assistant").flatMap((message) => message.parts) ?? [];
  if (parts.some(({ type }) => type === "text")) return "keptAnswer";
  return parts.some(({ type }) => type !== "error" && type !== "thinking") ? "keptSteps" : "keptMessage";
}
