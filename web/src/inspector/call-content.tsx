/** The exact prompt and the response of one model call, as the server stored them for the owner of the session. */
import { type ReactNode, useEffect, useMemo, useReducer, useState } from "react";
import {
  Badge,
  Button,
  CopyButton,
  Disclosure,
  formatNumber,
  Spinner,
  useUi,
  useWords,
} from "../../../src/react/page-parts.ts";
import type { ModelCall } from "../../../src/server/api/shapes.generated.ts";
import { createQuery } from "../api/query.ts";
import { CALLS_WORDS } from "./calls-words.ts";
import type { InspectorApi } from "./inspector-api.ts";
import { JsonText } from "./json-text.tsx";
import { readMessage, type ShownPart } from "./read-message.ts";

export interface CallContentProps {
  readonly session: string;
  readonly runId: string;
  readonly callId: string;
  /** The call has ended. Its response is read then. */
  readonly isOver: boolean;
  readonly api: InspectorApi;
}

const ROLES = ["system", "user", "assistant", "tool"] as const;
/** Messages shown at first: the newest. */
const PAGE = 50;

export function CallContent(props: CallContentProps): ReactNode {
  const words = useWords(CALLS_WORDS);
  const { state, retry } = useModelCall(props);
  if (state.status === "loading")
    return (
      <p className="page-inspector-note" role="status">
        <Spinner /> {words.loading}
      </p>
    );
  if (state.status === "failed")
    return (
      <p className="page-inspector-note" role="alert">
        {state.code === "forbidden" ? words.onlyOwner : words.failed(state.why)}{" "}
        {state.code === "forbidden" ? null : <Button onClick={retry}>{words.tryAgain}</Button>}
      </p>
    );
  if (!state.call.has_request) return <p className="page-inspector-note">{words.notRecorded}</p>;
  return <RecordedCall call={state.call} />;
}

function RecordedCall({ call }: { readonly call: ModelCall }): ReactNode {
  const words = useWords(CALLS_WORDS);
  const { language } = useUi();
  const [limit, setLimit] = useState(PAGE);
  const { parameters, tools, messages, response } = call;
  const offered = Array.isArray(tools) ? tools : [];
  const hidden = Math.max(0, messages.length - limit);
  const copy = (): string => JSON.stringify({ parameters, tools, messages }, undefined, 2);
  return (
    <div className="page-inspector-call">
      <Disclosure summary={words.parameters}>
        <JsonText text={JSON.stringify(parameters ?? null)} label={words.parameters} />
      </Disclosure>
      {offered.length === 0 ? null : (
        <Disclosure summary={words.tools(formatNumber(offered.length, language))}>
          <JsonText text={JSON.stringify(offered)} label={words.tools(formatNumber(offered.length, language))} />
        </Disclosure>
      )}
      <h4 className="page-inspector-heading">
        {words.messages(formatNumber(messages.length, language))}
        <CopyButton label={words.copyPrompt} getText={copy} />
      </h4>
      {hidden === 0 ? null : (
        <Button onClick={() => setLimit(limit + PAGE)}>{words.earlier(formatNumber(hidden, language))}</Button>
      )}
      {messages.slice(hidden).map((message, i) => (
        <Message key={hidden + i} message={message} isOpen={hidden + i === messages.length - 1} />
      ))}
      <h4 className="page-inspector-heading">{words.response}</h4>
      {response === undefined ? (
        <p className="page-inspector-note">{words.noResponse}</p>
      ) : (
        <Message message={response} isOpen />
      )}
    </div>
  );
}

function Message({ message, isOpen }: { readonly message: unknown; readonly isOpen: boolean }): ReactNode {
  const words = useWords(CALLS_WORDS);
  const { role, preview, parts } = useMemo(() => readMessage(message), [message]);
  if (role === undefined) return <p className="page-inspector-note">{words.pruned}</p>;
  const known = ROLES.find((name) => name === role);
  return (
    <Disclosure
      isInitiallyOpen={isOpen}
      summary={
        <>
          <Badge>{known === undefined ? role : words[known]}</Badge>
          <span className="page-inspector-call-preview">{preview}</span>
        </>
      }
    >
      {parts.map((part, i) => (
        <Part key={i} part={part} />
      ))}
    </Disclosure>
  );
}

const MAX_SHOWN = 20_000;

function Part({ part: { kind, label, text } }: { readonly part: ShownPart }): ReactNode {
  const words = useWords(CALLS_WORDS);
  const { language } = useUi();
  return (
    <>
      {label === "" ? null : <p className="page-inspector-soft page-inspector-call-label">{label}</p>}
      {kind === "json" ? (
        <JsonText text={text} label={label} />
      ) : (
        <pre className="page-inspector-call-text" tabIndex={0}>
          {text.slice(0, MAX_SHOWN)}
        </pre>
      )}
      {kind === "text" && text.length > MAX_SHOWN ? (
        <p className="page-inspector-note">{words.cut(formatNumber(text.length - MAX_SHOWN, language))}</p>
      ) : null}
    </>
  );
}

type LoadState =
  | { readonly status: "loading" }
  | { readonly status: "failed"; readonly code: string; readonly why: string }
  | { readonly status: "loaded"; readonly call: ModelCall };

const LOADING: LoadState = { status: "loading" };

function useModelCall({ session, runId, callId, isOver, api }: CallContentProps): {
  readonly state: LoadState;
  readonly retry: () => void;
} {
  const [attempt, retry] = useReducer((count: number) => count + 1, 0);
  const [state, setState] = useState<LoadState>(LOADING);
  useEffect(() => {
    const query = createQuery();
    setState(LOADING);
    query
      .latest((signal) => api.readModelCall(session, runId, callId, signal))
      .then(
        (call) => {
          if (call !== undefined) setState({ status: "loaded", call });
        },
        (error: unknown) => {
          const { code = "", message = String(error) } = error as { readonly code?: string; readonly message?: string };
          setState({ status: "failed", code, why: message });
        },
      );
    return query.cancel;
  }, [session, runId, callId, isOver, api, attempt]);
  return { state, retry };
}
