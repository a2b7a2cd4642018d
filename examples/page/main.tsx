// A small chat built from the components of the package: one session, its conversation and an input.
import { type ReactNode, useState } from "react";
import { createRoot } from "react-dom/client";
import { connect, createLoomReceiver, createWebSocketTransport, type SessionView } from "loom-agent/client";
import {
  Button,
  Conversation,
  createSessionActions,
  findRunPhase,
  StreamStatus,
  type UiActions,
  type UiPlugins,
  UiProvider,
  useRun,
  useSession,
} from "loom-agent/react";
import { NumberedCode } from "./numbered-code.tsx";

// The receiver holds what the page shows. The connection fills it and reconnects when needed.
const session = location.hash.slice(1) || "demo";
const receiver = createLoomReceiver();
const socket = new URL("./v1/ws", location.href.replace(/^http/, "ws")).href;
const connection = connect(receiver, { transport: createWebSocketTransport({ url: socket }), session });

// Actions offered to the user. Actions that are left out are not offered.
const actions: UiActions = {
  ...createSessionActions(connection),
  retry: (turn) => {
    const asked = turn.messages.find(({ role }) => role === "user");
    void connection.run({ message: asked?.mainContent ?? "" });
  },
};

// Custom rendering.
const plugins: UiPlugins = { Code: NumberedCode };

const proxyImage = (url: string): string => `./v1/images?url=${encodeURIComponent(url)}`;

function Chat(): ReactNode {
  return (
    <UiProvider language="en" actions={actions} plugins={plugins} imageUrl={proxyImage}>
      <main className="chat">
        <Header />
        <Conversation receiver={receiver} sessionId={session} />
        <Composer />
      </main>
    </UiProvider>
  );
}

const selectState = (view: SessionView | undefined) => (view?.turns.length ? view.state : undefined);

/** Uses hooks, so it renders only when the selected state changes. */
function Header(): ReactNode {
  const state = useSession(receiver, session, selectState);
  const phase = useSession(receiver, session, findRunPhase);
  const run = useRun(receiver, session);
  return (
    <header>
      <h1>{run === undefined ? "Ask something" : `${run.usage.totalTokens} tokens in the latest run`}</h1>
      {state === undefined ? null : <StreamStatus state={state} run={phase} onRetry={() => connection.retry()} />}
    </header>
  );
}

function Composer(): ReactNode {
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const run = useRun(receiver, session);
  const runId = run?.status === "running" ? run.runId : undefined;
  const send = async (): Promise<void> => {
    setText("");
    const outcome = await connection.run({ message: text });
    const isSent = outcome.kind === "done" || outcome.kind === "accepted";
    setError(isSent ? "" : outcome.message);
    if (!isSent) setText(text);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") void send();
      }}
    >
      <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
      {error === "" ? null : <span role="alert">{error}</span>}
      {runId === undefined ? null : <Button onClick={() => void connection.cancel({ run_id: runId })}>Stop</Button>}
      <Button variant="primary" isSubmit>
        Send
      </Button>
    </form>
  );
}

const root = document.querySelector("#root");
if (root !== null) createRoot(root).render(<Chat />);
