/**
 * What is said in sessions: messages, and what is asked of their runs. A message is on the page from the moment it is
 * sent; it leaves the list of those that wait when its run is seen, is withdrawn, or is given up.
 */
import type { CommandOutcome, TurnView } from "loom-agent/client";
import type { ApprovalAnswer, TodoChange } from "loom-agent/react";
import { may } from "../store/access.ts";
import { findAgent, listChoices } from "../store/agents.ts";
import { findDraft, type MessageFile, type WaitingMessage } from "../store/composing.ts";
import type { PageState, Task } from "../store/page-state.ts";
import { attempt, type Kit } from "./kit.ts";

export interface MessageEffects {
  /** What stands in the composer of the session that is shown; whole, or not at all. */
  sendDraft(): void;
  /** To the session that is shown, answered by this way of working. */
  sendPrompt(text: string, choice: string): void;
  /** A waiting message that did not arrive, once more: it is the same message. */
  resend(message: WaitingMessage): void;
  withdraw(message: WaitingMessage): Promise<void>;
  /** The run that is going. */
  stop(): Promise<void>;
  retryTurn(turn: TurnView): void;
  /** Whether it was sent. */
  editTurn(turn: TurnView, text: string): Promise<boolean>;
  approve(answer: ApprovalAnswer): Promise<CommandOutcome>;
  changeTodo(change: TodoChange): Promise<CommandOutcome>;
  /** The stream of the session that is shown, at once. */
  retryStream(): void;
}

/** A run that has begun is seen within this; if not, it is the stream that has trouble, and says so. */
const SEEN_MS = 3000;

/** The page has words of its own for it; the message names the files. */
const FAILED_FILE = "failed_file";
const NO_SESSION: CommandOutcome = { kind: "refused", code: "unknown_session", message: "no session is open" };

export function createMessageEffects(kit: Kit): MessageEffects {
  const { store } = kit;

  const deliver = async (session: string, message: WaitingMessage): Promise<void> => {
    const { commandId, runId, text, agent, files } = message;
    const outcome = await kit.connectionTo(session).run({
      id: commandId,
      message: text,
      run_id: runId,
      when_busy: "enqueue",
      ...(agent === undefined ? {} : { agent }),
      ...(files.length === 0 ? {} : { attachments: files }),
    });
    if (outcome.kind === "accepted") store.dispatch({ type: "message/told", session, runId, status: "queued" });
    else if (outcome.kind === "done")
      setTimeout(() => store.dispatch({ type: "message/gone", session, runIds: [runId] }), SEEN_MS);
    else
      store.dispatch({
        type: "message/told",
        session,
        runId,
        status: "failed",
        error: outcome.message,
        ...(outcome.kind === "lost" ? { isLost: true } : {}),
      });
  };

  const send = (
    session: string,
    { text, files, agent }: { readonly text: string; readonly files: readonly MessageFile[]; readonly agent?: string },
    { clearsDraft = false }: { readonly clearsDraft?: boolean } = {},
  ): void => {
    const message: WaitingMessage = {
      commandId: kit.createId(),
      runId: kit.createId(),
      text,
      ...(agent === undefined ? {} : { agent }),
      files,
      status: "sending",
    };
    store.dispatch({ type: "message/sent", session, message, clearsDraft });
    void deliver(session, message);
  };

  const current = (): string | undefined => store.getSnapshot().sessions.current;
  const trouble = (task: Task, outcome: CommandOutcome): void => {
    if (outcome.kind === "refused" || outcome.kind === "lost")
      store.dispatch({ type: "notice/raised", task, code: outcome.code, message: outcome.message });
  };

  return {
    sendDraft() {
      const state = store.getSnapshot();
      const { current: session } = state.sessions;
      const draft = findDraft(state.composing, session);
      // What did not go up, or is still going up, would be lost.
      const failed = draft.attachments.flatMap(({ name, error }) => (error === undefined ? [] : [name]));
      if (failed.length > 0) {
        store.dispatch({ type: "notice/raised", task: "send", code: FAILED_FILE, message: failed.join(", ") });
        return;
      }
      // By the name it has here: to the server, the same bytes under two names are one.
      const files = draft.attachments.flatMap(({ name, blob }) =>
        blob === undefined ? [] : [{ blob_id: blob.blob_id, ...(name === "" ? {} : { name }) }],
      );
      if (files.length < draft.attachments.length) return;
      if (draft.text.trim() === "" && files.length === 0) return;
      // What was said of it is no longer so.
      for (const { id, code } of state.notices) if (code === FAILED_FILE) store.dispatch({ type: "notice/closed", id });
      const made = session ?? kit.createId();
      if (session === undefined) store.dispatch({ type: "draft/moved", from: "", to: made });
      send(made, { text: draft.text, files, ...nameAgent(state) }, { clearsDraft: true });
      kit.open(made, { isUnmade: true });
    },
    sendPrompt(text, choice) {
      const session = current() ?? kit.createId();
      // What is asked next is asked of the same.
      if (listChoices(store.getSnapshot().agents).some(({ name }) => name === choice))
        store.dispatch({ type: "agent/chosen", kind: choice });
      send(session, { text, files: [], ...nameAgent(store.getSnapshot(), choice) });
      kit.open(session, { isUnmade: true });
    },
    resend(message) {
      const session = current();
      if (session === undefined) return;
      const { error: _error, isLost: _isLost, ...again } = message;
      store.dispatch({ type: "message/sent", session, message: { ...again, status: "sending" }, clearsDraft: false });
      void deliver(session, again);
    },
    async withdraw({ runId, status, isLost }) {
      const session = current();
      if (session === undefined) return;
      if (status === "failed") {
        store.dispatch({ type: "message/gone", session, runIds: [runId] });
        // It may have arrived all the same, or arrive yet.
        if (isLost === true) await kit.connectionTo(session).cancel({ run_id: runId });
        return;
      }
      store.dispatch({ type: "message/told", session, runId, status: "withdrawing" });
      const outcome = await kit.connectionTo(session).cancel({ run_id: runId });
      trouble("withdraw", outcome);
      if (outcome.kind === "done") store.dispatch({ type: "message/gone", session, runIds: [runId] });
      else store.dispatch({ type: "message/told", session, runId, status: "queued" });
    },
    async stop() {
      const session = current();
      if (session === undefined || !may(store.getSnapshot().access, "run")) return;
      const turns = kit.receiver.session(session).getSnapshot()?.turns;
      const latest = turns?.at(-1);
      if (latest?.status !== "running" || latest.runId === undefined) return;
      const { runId } = latest;
      if (store.getSnapshot().composing.stopping.includes(runId)) return;
      store.dispatch({ type: "run/stopping", runId });
      const outcome = await kit.connectionTo(session).cancel({ run_id: runId });
      if (outcome.kind === "done" || outcome.kind === "accepted") return;
      trouble("stop", outcome);
      store.dispatch({ type: "run/stopped", runId });
    },
    retryTurn(turn) {
      const session = current();
      if (session !== undefined) send(session, readAsked(turn));
    },
    async editTurn(turn, text) {
      const session = current();
      const { runId } = turn;
      if (session === undefined || runId === undefined) return false;
      const made = await attempt(kit, "edit", () => kit.api.forkBefore(session, runId, kit.createId()));
      if (made === undefined) return false;
      send(made.session_id, { ...readAsked(turn), text });
      // Who has gone elsewhere meanwhile is not called back.
      if (current() === session) kit.open(made.session_id);
      return true;
    },
    async approve({ callId, runId, decision, digest, arguments: given, reason }) {
      const session = current();
      if (session === undefined) return NO_SESSION;
      return kit.connectionTo(session).approve({
        call_id: callId,
        decision,
        ...(runId === undefined ? {} : { run_id: runId }),
        ...(digest === undefined ? {} : { digest }),
        ...(given === undefined ? {} : { arguments: given }),
        ...(reason === undefined ? {} : { reason }),
      });
    },
    async changeTodo({ listId, itemId, completed }) {
      const session = current();
      if (session === undefined) return NO_SESSION;
      return kit.connectionTo(session).todo({ list_id: listId, item_id: itemId, completed });
    },
    retryStream() {
      const session = current();
      if (session !== undefined) kit.connectionTo(session).retry();
    },
  };
}

/** As it was chosen in the composer, or by this way of working and the model chosen there. */
function nameAgent({ agents, settings }: PageState, choice = settings.kind): { readonly agent?: string } {
  const chosen = findAgent(listChoices(agents), choice, settings.model);
  return chosen === undefined ? {} : { agent: chosen.agent.name };
}

/** What the user asked of a run, to be asked again. */
function readAsked(turn: TurnView): {
  readonly text: string;
  readonly files: readonly MessageFile[];
  readonly agent?: string;
} {
  const asked = turn.messages.find(({ role }) => role === "user");
  const files = (asked?.attachments ?? []).map(({ blob_id, name }) => ({
    blob_id,
    ...(name === undefined ? {} : { name }),
  }));
  return { text: asked?.mainContent ?? "", files, ...(turn.agent === undefined ? {} : { agent: turn.agent }) };
}
