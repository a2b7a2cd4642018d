/**
 * Sends messages and controls their runs. A message is shown as pending from the moment it is sent until its run
 * appears or it is removed.
 */
import type { CommandResult, TurnView } from "loom-agent/client";
import type { ApprovalResponse, FeedbackResponse, TodoChange } from "loom-agent/react";
import { may } from "../store/access.ts";
import { findAgent, listAgentOptions } from "../store/agents.ts";
import { findDraft, type MessageFile, type WaitingMessage } from "../store/composing.ts";
import type { PageState, PageTask } from "../store/page-state.ts";
import { attempt, type EffectContext } from "./effect-context.ts";

export interface MessageEffects {
  /** Sends the draft of the current session with all its files, or nothing. */
  sendDraft(): void;
  /** Sends a prompt to the current session, answered by an agent of this kind. */
  sendPrompt(text: string, kind: string): void;
  /** Sends a failed message again. It keeps its IDs, so the server handles it once. */
  resend(message: WaitingMessage): void;
  withdraw(message: WaitingMessage): Promise<void>;
  /** Stops the live run of the current session. */
  stop(): Promise<void>;
  retryTurn(turn: TurnView): void;
  /** Forks the session before the run and sends the new text there. Resolves to whether it was sent. */
  editTurn(turn: TurnView, text: string): Promise<boolean>;
  approve(answer: ApprovalResponse): Promise<CommandResult>;
  /** Allows all calls of a tool in the current session, or ends that. */
  allowTool(name: string, rule: "allow" | "ask"): Promise<CommandResult>;
  /** Rates the answer of a run. */
  rate(feedback: FeedbackResponse): Promise<CommandResult>;
  changeTodo(change: TodoChange): Promise<CommandResult>;
  /** Reconnects the current session now. */
  retryStream(): void;
}

/** A started run appears within this time. If not, the stream has failed and its status says so. */
const SEEN_MS = 3000;

/** Has its own UI string; the message lists the file names. */
const FAILED_FILE = "failed_file";
const NO_SESSION: CommandResult = { kind: "refused", code: "unknown_session", message: "No session is open." };

export function createMessageEffects(context: EffectContext): MessageEffects {
  const { store } = context;

  const deliver = async (session: string, message: WaitingMessage): Promise<void> => {
    const { commandId, runId, text, agent, reasoning, files } = message;
    const outcome = await context.connectionTo(session).run({
      id: commandId,
      message: text,
      run_id: runId,
      when_busy: "enqueue",
      ...(agent === undefined ? {} : { agent }),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(files.length === 0 ? {} : { attachments: files }),
    });
    if (outcome.kind === "accepted") store.dispatch({ type: "message/updated", session, runId, status: "queued" });
    else if (outcome.kind === "done")
      setTimeout(() => store.dispatch({ type: "message/removed", session, runIds: [runId] }), SEEN_MS);
    else
      store.dispatch({
        type: "message/updated",
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
    const { reasoning } = store.getSnapshot().settings;
    const message: WaitingMessage = {
      commandId: context.createId(),
      runId: context.createId(),
      text,
      ...(agent === undefined ? {} : { agent }),
      ...(reasoning === undefined ? {} : { reasoning }),
      files,
      status: "sending",
    };
    store.dispatch({ type: "message/sent", session, message, clearsDraft });
    void deliver(session, message);
  };

  const current = (): string | undefined => store.getSnapshot().sessions.current;
  const reportFailure = (task: PageTask, outcome: CommandResult): void => {
    if (outcome.kind === "refused" || outcome.kind === "lost")
      store.dispatch({ type: "notice/raised", task, code: outcome.code, message: outcome.message });
  };

  return {
    sendDraft() {
      const state = store.getSnapshot();
      const { current: session } = state.sessions;
      const draft = findDraft(state.composing, session);
      // Failed and unfinished uploads would be missing from the message.
      const failed = draft.attachments.flatMap(({ name, error }) => (error === undefined ? [] : [name]));
      if (failed.length > 0) {
        store.dispatch({ type: "notice/raised", task: "send", code: FAILED_FILE, message: failed.join(", ") });
        return;
      }
      // The server stores identical bytes once, under their first name.
      const files = draft.attachments.flatMap(({ name, blob }) =>
        blob === undefined ? [] : [{ blob_id: blob.blob_id, ...(name === "" ? {} : { name }) }],
      );
      if (files.length < draft.attachments.length) return;
      if (draft.text.trim() === "" && files.length === 0) return;
      // The notice about failed uploads no longer applies.
      for (const { id, code } of state.notices) if (code === FAILED_FILE) store.dispatch({ type: "notice/closed", id });
      const target = session ?? context.createId();
      if (session === undefined) store.dispatch({ type: "draft/moved", from: "", to: target });
      send(target, { text: draft.text, files, ...chooseAgent(state) }, { clearsDraft: true });
      context.open(target, { isNew: true });
    },
    sendPrompt(text, kind) {
      const session = current() ?? context.createId();
      // Later messages use the same agent.
      if (listAgentOptions(store.getSnapshot().agents).some(({ name }) => name === kind))
        store.dispatch({ type: "agent/chosen", kind });
      send(session, { text, files: [], ...chooseAgent(store.getSnapshot(), kind) });
      context.open(session, { isNew: true });
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
        store.dispatch({ type: "message/removed", session, runIds: [runId] });
        // The command may have arrived, or may still arrive.
        if (isLost === true) await context.connectionTo(session).cancel({ run_id: runId });
        return;
      }
      store.dispatch({ type: "message/updated", session, runId, status: "withdrawing" });
      const outcome = await context.connectionTo(session).cancel({ run_id: runId });
      reportFailure("withdraw", outcome);
      if (outcome.kind === "done") store.dispatch({ type: "message/removed", session, runIds: [runId] });
      else store.dispatch({ type: "message/updated", session, runId, status: "queued" });
    },
    async stop() {
      const session = current();
      if (session === undefined || !may(store.getSnapshot().access, "run")) return;
      const turns = context.receiver.session(session).getSnapshot()?.turns;
      const latest = turns?.at(-1);
      if (latest?.status !== "running" || latest.runId === undefined) return;
      const { runId } = latest;
      if (store.getSnapshot().composing.stopping.includes(runId)) return;
      store.dispatch({ type: "run/stopping", runId });
      const outcome = await context.connectionTo(session).cancel({ run_id: runId });
      if (outcome.kind === "done" || outcome.kind === "accepted") return;
      reportFailure("stop", outcome);
      store.dispatch({ type: "run/stopped", runId });
    },
    retryTurn(turn) {
      const session = current();
      if (session !== undefined) send(session, readQuestion(turn));
    },
    async editTurn(turn, text) {
      const session = current();
      const { runId } = turn;
      if (session === undefined || runId === undefined) return false;
      const created = await attempt(context, "edit", () => context.api.forkBefore(session, runId, context.createId()));
      if (created === undefined) return false;
      send(created.session_id, { ...readQuestion(turn), text });
      // Do not navigate if the user opened another session meanwhile.
      if (current() === session) context.open(created.session_id);
      return true;
    },
    async approve({ callId, runId, decision, digest, arguments: given, reason }) {
      const session = current();
      if (session === undefined) return NO_SESSION;
      return context.connectionTo(session).approve({
        call_id: callId,
        decision,
        ...(runId === undefined ? {} : { run_id: runId }),
        ...(digest === undefined ? {} : { digest }),
        ...(given === undefined ? {} : { arguments: given }),
        ...(reason === undefined ? {} : { reason }),
      });
    },
    async allowTool(name, rule) {
      const session = current();
      if (session === undefined) return NO_SESSION;
      return context.connectionTo(session).setToolPermission({ name, rule });
    },
    async rate({ runId, rating, comment }) {
      const session = current();
      if (session === undefined) return NO_SESSION;
      const said = comment === undefined || comment === "" ? {} : { comment };
      return context.connectionTo(session).rate({ run_id: runId, rating, ...said });
    },
    async changeTodo({ listId, itemId, completed }) {
      const session = current();
      if (session === undefined) return NO_SESSION;
      return context.connectionTo(session).todo({ list_id: listId, item_id: itemId, completed });
    },
    retryStream() {
      const session = current();
      if (session !== undefined) context.connectionTo(session).retry();
    },
  };
}

/** Returns the agent of this kind with the chosen model. */
function chooseAgent({ agents, settings }: PageState, kind = settings.kind): { readonly agent?: string } {
  const chosen = findAgent(listAgentOptions(agents), kind, settings.model);
  return chosen === undefined ? {} : { agent: chosen.agent.name };
}

/** Returns the user's message of a run, to send it again. */
function readQuestion(turn: TurnView): {
  readonly text: string;
  readonly files: readonly MessageFile[];
  readonly agent?: string;
} {
  const question = turn.messages.find(({ role }) => role === "user");
  const files = (question?.attachments ?? []).map(({ blob_id, name }) => ({
    blob_id,
    ...(name === undefined ? {} : { name }),
  }));
  return { text: question?.mainContent ?? "", files, ...(turn.agent === undefined ? {} : { agent: turn.agent }) };
}
