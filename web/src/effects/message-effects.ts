/**
 * Sends messages and controls their runs. A message is shown as pending from the moment it is sent until its run
 * appears or it is removed.
 */
import type { CommandResult, TurnView } from "loom-agent/client";
import {
  type ApprovalResponse,
  createSessionActions,
  type FeedbackResponse,
  isAway,
  type TodoChange,
} from "../../../src/react/page-parts.ts";
import { may } from "../store/access.ts";
import { SHELL_WORDS } from "../shell/shell-words.ts";
import { type AgentSource, chooseAgent, findAgent, findLatestAgent, listAgentOptions } from "../store/agents.ts";
import { findDraft, findWaiting, NO_DRAFT, type MessageFile, type WaitingMessage } from "../store/composing.ts";
import { findInstructions } from "../store/instructions.ts";
import { findStrategy, type Strategy } from "../store/strategy.ts";
import type { PageTask } from "../store/page-state.ts";
import { attempt, type EffectContext } from "./effect-context.ts";

export interface MessageEffects {
  /** Sends the draft of the current session with all its files, or nothing. */
  sendDraft(): void;
  /** Sends a prompt to the current session, answered by an agent of this kind. */
  sendPrompt(text: string, kind: string): void;
  /** Sends a failed message again. It keeps its IDs, so the server handles it once. */
  resend(message: WaitingMessage): void;
  withdraw(message: WaitingMessage): Promise<void>;
  /** Puts a failed message back into the box. */
  takeBack(message: WaitingMessage): void;
  /** Stops the live run of the current session. */
  stop(): Promise<void>;
  /** Sends the message of a run again, as another version of the conversation. */
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

/** A message to send. */
interface DraftedMessage {
  readonly text: string;
  readonly files: readonly MessageFile[];
  readonly agent?: string;
  readonly strategy?: Strategy;
}

/** A started run appears within this time. If not, the stream has failed and its status says so. */
const SEEN_MS = 3000;

/** Has its own UI string; the message lists the file names. */
const FAILED_FILE = "failed_file";
const TOO_LONG = "too_long";
/** A command has at most 65,536 characters, so that a longer text was refused for its length. */
const LONG_TEXT = 60_000;
/** A message waits this long for the agents, if it needs to know them. */
const AGENTS_MS = 15_000;
const NO_SESSION: CommandResult = { kind: "refused", code: "unknown_session", message: "No session is open." };

export function createMessageEffects(context: EffectContext): MessageEffects {
  const { store } = context;

  /** `isDraft`: the message was written in the box, to which it returns if it is refused. */
  const deliver = async (session: string, message: WaitingMessage, isDraft = false): Promise<void> => {
    const { commandId, runId, text, reasoning, strategy, instructions, files } = message;
    const agent = message.agent ?? (await awaitDefaultAgent(store));
    if (agent === UNKNOWN_AGENT) {
      const error = SHELL_WORDS[store.getSnapshot().settings.language].task("agents");
      store.dispatch({ type: "message/updated", session, runId, status: "failed", error });
      return;
    }
    const command = {
      id: commandId,
      message: text,
      run_id: runId,
      when_busy: "enqueue" as const,
      ...(agent === undefined ? {} : { agent }),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(strategy === undefined ? {} : { strategy }),
      ...(instructions === undefined ? {} : { instructions }),
      ...(files.length === 0 ? {} : { attachments: files.map(pickSent) }),
    };
    let outcome: CommandResult;
    // A message waits for the connection as long as that is lost. Its ID makes repeating it safe.
    do outcome = await context.connectionTo(session).run(command);
    while (outcome.kind === "lost" && isAway(context.receiver.session(session).getSnapshot()?.state));
    if (outcome.kind === "accepted") store.dispatch({ type: "message/updated", session, runId, status: "queued" });
    else if (outcome.kind === "done")
      setTimeout(() => store.dispatch({ type: "message/removed", session, runIds: [runId] }), SEEN_MS);
    else if (outcome.kind === "refused" && isDraft && findDraft(store.getSnapshot().composing, session) === NO_DRAFT) {
      store.dispatch({ type: "message/returned", session, message });
      if (text.length > LONG_TEXT) store.dispatch({ type: "notice/raised", task: "send", code: TOO_LONG, message: "" });
      else reportFailure("send", outcome);
    } else
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
    { text, files, agent, strategy = {} }: DraftedMessage,
    { clearsDraft = false }: { readonly clearsDraft?: boolean } = {},
  ): void => {
    const { reasoning } = store.getSnapshot().settings;
    const from = current() ?? "";
    const turns = context.receiver.session(from).getSnapshot()?.turns ?? [];
    const instructions = findInstructions(store.getSnapshot().instructions.get(from), turns);
    const [commandId, runId] = [context.createId(), context.createId()];
    store.dispatch({ type: "instructions/sent", from, session, text: instructions, runId });
    const message: WaitingMessage = {
      commandId,
      runId,
      text,
      ...(agent === undefined ? {} : { agent }),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(Object.keys(strategy).length === 0 ? {} : { strategy }),
      ...(instructions === "" ? {} : { instructions }),
      files,
      status: "sending",
    };
    store.dispatch({ type: "message/sent", session, message, clearsDraft });
    void deliver(session, message, clearsDraft);
  };

  /** Returns the agent of the next message of a session, as far as it is known. */
  const pickAgent = (session: string | undefined): Pick<DraftedMessage, "agent" | "strategy"> => {
    const state = store.getSnapshot();
    const options = listAgentOptions(state.agents);
    const source = findSource(context, session);
    const chosen = chooseAgent(options, source);
    // Without the list of agents, a session can still continue with the same one.
    const agent = chosen?.agent.name ?? (source.choice === undefined ? source.last : undefined);
    if (agent === undefined) return {};
    return { agent, strategy: chosen === undefined ? {} : findStrategy(chosen, state.settings.strategies) };
  };

  /** Forks the session before the run and sends its message there. Resolves to whether it was sent. */
  const sendVersion = async (turn: TurnView, given?: string): Promise<boolean> => {
    const session = current();
    const { runId } = turn;
    if (session === undefined || runId === undefined) return false;
    const question = readQuestion(turn);
    const chosen = store.getSnapshot().choices.has(session) ? pickAgent(session) : {};
    const created = await attempt(context, "edit", () => context.api.forkBefore(session, runId, context.createId()));
    if (created === undefined) return false;
    store.dispatch({ type: "session/updated", session: created });
    send(created.session_id, { ...question, ...chosen, text: given ?? question.text });
    context.notifyTabs();
    // Do not navigate if the user opened another session meanwhile.
    if (current() === session) context.open(created.session_id);
    return true;
  };

  const current = (): string | undefined => store.getSnapshot().sessions.current;
  const reportFailure = (task: PageTask, outcome: CommandResult): void => {
    if (outcome.kind === "refused" || outcome.kind === "lost")
      store.dispatch({ type: "notice/raised", task, code: outcome.code, message: outcome.message });
  };

  const sessionActions = (): ReturnType<typeof createSessionActions> | undefined => {
    const session = current();
    return session === undefined ? undefined : createSessionActions(context.connectionTo(session));
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
      const files = draft.attachments.flatMap(({ name, blob, mediaType, bytes }) =>
        blob === undefined ? [] : [{ blob_id: blob.blob_id, ...(name === "" ? {} : { name }), mediaType, bytes }],
      );
      if (files.length < draft.attachments.length) return;
      if (draft.text.trim() === "" && files.length === 0) return;
      // The notice about failed uploads no longer applies.
      for (const { id, code } of state.notices) if (code === FAILED_FILE) store.dispatch({ type: "notice/closed", id });
      const target = session ?? context.createId();
      if (session === undefined) store.dispatch({ type: "draft/moved", from: "", to: target });
      send(target, { text: draft.text, files, ...pickAgent(session) }, { clearsDraft: true });
      context.open(target, { isNew: true });
    },
    sendPrompt(text, kind) {
      const session = current() ?? context.createId();
      // The session continues with this agent; the choice for new sessions stays the same.
      const { agents, settings } = store.getSnapshot();
      const chosen = findAgent(listAgentOptions(agents), kind, settings.model);
      const picked =
        chosen === undefined ? {} : { agent: chosen.agent.name, strategy: findStrategy(chosen, settings.strategies) };
      send(session, { text, files: [], ...picked });
      context.open(session, { isNew: true });
    },
    resend(message) {
      const session = current();
      if (session === undefined) return;
      const { error: _error, isLost: _isLost, ...again } = message;
      store.dispatch({ type: "message/sent", session, message: { ...again, status: "sending" }, clearsDraft: false });
      void deliver(session, again);
    },
    takeBack(message) {
      const session = current();
      if (session === undefined) return;
      store.dispatch({ type: "message/returned", session, message });
      // It may have arrived, or may still arrive.
      if (message.isLost === true) void context.connectionTo(session).cancel({ run_id: message.runId });
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
      // A fork needs more permissions than a message.
      if (may(store.getSnapshot().access, "write") && turn.runId !== undefined) void sendVersion(turn);
      else if (session !== undefined) send(session, readQuestion(turn));
    },
    editTurn: (turn, text) => sendVersion(turn, text),
    approve: async (answer) => sessionActions()?.approve(answer) ?? NO_SESSION,
    allowTool: async (name, rule) => sessionActions()?.allowTool(name, rule) ?? NO_SESSION,
    rate: async (feedback) => sessionActions()?.rate(feedback) ?? NO_SESSION,
    changeTodo: async (change) => sessionActions()?.changeTodo(change) ?? NO_SESSION,
    retryStream() {
      const session = current();
      if (session !== undefined) context.connectionTo(session).retry();
    },
  };
}

/** What decides which agent answers the next message of a session. */
function findSource({ store, receiver }: EffectContext, session: string | undefined): AgentSource {
  const { choices, composing, settings } = store.getSnapshot();
  const turns = session === undefined ? [] : (receiver.session(session).getSnapshot()?.turns ?? []);
  const choice = session === undefined ? undefined : choices.get(session);
  return { choice, last: findLatestAgent(findWaiting(composing, session), turns), settings };
}

const UNKNOWN_AGENT = Symbol("unknown agent");

/** Returns the agent that the user chose for new sessions, once the agents are loaded. Undefined: the server's default. */
async function awaitDefaultAgent(store: EffectContext["store"]): Promise<string | typeof UNKNOWN_AGENT | undefined> {
  const { settings, access } = store.getSnapshot();
  // Without a choice, and for users who cannot list the agents, the server decides.
  if ((settings.kind === undefined && settings.model === undefined) || !may(access, "read")) return undefined;
  const find = (): string | undefined =>
    findAgent(listAgentOptions(store.getSnapshot().agents), settings.kind, settings.model)?.agent.name;
  const known = find();
  if (known !== undefined) return known;
  return new Promise((resolve) => {
    const end = (agent: string | typeof UNKNOWN_AGENT): void => {
      stop();
      clearTimeout(timer);
      resolve(agent);
    };
    const stop = store.subscribe(() => {
      const agent = find();
      if (agent !== undefined) end(agent);
    });
    const timer = setTimeout(() => end(UNKNOWN_AGENT), AGENTS_MS);
  });
}

/** Returns the user's message of a run, to send it again. */
function readQuestion(turn: TurnView): DraftedMessage {
  const question = turn.messages.find(({ role }) => role === "user");
  const files = (question?.attachments ?? []).map(({ blob_id, name, media_type: mediaType }) => ({
    blob_id,
    mediaType,
    ...(name === undefined ? {} : { name }),
  }));
  const { agent, strategy = {} } = turn;
  return { text: question?.mainContent ?? "", files, strategy, ...(agent === undefined ? {} : { agent }) };
}

/** What the server needs of a file. */
function pickSent({ blob_id, name }: MessageFile): MessageFile {
  return { blob_id, ...(name === undefined ? {} : { name }) };
}
