/** All live and queued runs of the user: approvals to answer first, then runs to watch or stop. */
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { ToolCall } from "loom-agent/client";
import {
  ApprovalCard,
  Button,
  defineWords,
  Dialog,
  formatDuration,
  Spinner,
  type UiActions,
  UiProvider,
  useUi,
  useWords,
} from "../../../src/react/page-parts.ts";
import { AGENT_WORDS, describeKind } from "../composer/agent-words.ts";
import { isOfflineModel } from "../composer/pickers.tsx";
import { useMay, usePage, usePageState } from "../shell/page-context.tsx";
import type { ActiveRun } from "../store/activity.ts";

type OpenApproval = ActiveRun["approvals"][number];

const TICK_MS = 1000;
/** Larger differences come from clocks that disagree. */
const MAX_MS = 30 * 86_400_000;

export function ActivityDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const words = useWords(ACTIVITY_WORDS);
  const page = usePage();
  const { status, runs, hasMore } = usePageState(({ activity }) => activity);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => page.refreshActivity(), [page]);
  useEffect(() => {
    // The focused control belonged to a run that has left the list.
    if (document.activeElement === document.body) list.current?.focus();
  }, [runs]);
  const now = useTicks();
  const open = (run: ActiveRun): void => {
    onClose();
    page.openRun(run);
  };
  const show = (run: ActiveRun): ReactNode => (
    <RunEntry key={`${run.session_id} ${run.run_id}`} run={run} now={now} onOpen={() => open(run)} />
  );
  const of = (state: ActiveRun["state"]): readonly ActiveRun[] => runs.filter((run) => run.state === state);
  const [waiting, running, queued] = [of("waiting"), of("running"), of("queued")];
  const approvals = waiting.reduce((sum, run) => sum + run.approvals.length, 0);
  return (
    <Dialog title={words.title} onClose={onClose}>
      <div className="page-activity" ref={list} tabIndex={-1}>
        <p className="loom-said" role="status">
          {status !== "ready" ? "" : runs.length === 0 ? words.none : words.said(approvals, running.length)}
        </p>
        {status === "idle" ? <Spinner /> : null}
        {status === "failed" ? (
          <div className="page-activity-note">
            <p>{words.failed}</p>
            <Button icon="retry" onClick={() => page.refreshActivity()}>
              {words.again}
            </Button>
          </div>
        ) : null}
        {status === "ready" && runs.length === 0 ? <p className="page-activity-note">{words.none}</p> : null}
        <Group title={words.waiting}>{waiting.map(show)}</Group>
        <Group title={words.running}>{running.map(show)}</Group>
        <Group title={words.queued}>{queued.map(show)}</Group>
        {hasMore ? <Button onClick={() => page.moreActivity()}>{words.more}</Button> : null}
      </div>
    </Dialog>
  );
}

function Group({ title, children }: { readonly title: string; readonly children: readonly ReactNode[] }): ReactNode {
  if (children.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul>{children}</ul>
    </section>
  );
}

interface RunEntryProps {
  readonly run: ActiveRun;
  readonly now: number;
  readonly onOpen: () => void;
}

function RunEntry({ run, now, onOpen }: RunEntryProps): ReactNode {
  const words = useWords(ACTIVITY_WORDS);
  const page = usePage();
  const mayRun = useMay("run");
  const [isStopping, setStopping] = useState(false);
  const format = useElapsed();
  const { title = words.untitled, agent, model, owner, waiting_since, since, approvals } = run;
  const stop = (): void => {
    setStopping(true);
    // A run that was accepted to stop leaves the list with the next load.
    void page.stopRun(run).then((isStopped) => setStopping(isStopped));
  };
  const names = useWords(AGENT_WORDS);
  const known = usePageState(({ models }) => models);
  const shownModel = model !== undefined && isOfflineModel(model, known) ? names.offline : model;
  // The agent of an additional model is named `react:openai/gpt-5`.
  const kind = agent?.split(":", 1)[0] ?? "";
  const shownAgent = agent === undefined ? undefined : describeKind(names, { name: kind, kind, description: "" }).label;
  const about = [shownAgent, shownModel, owner === undefined ? undefined : words.ofOwner(owner)].filter(
    (text) => text !== undefined,
  );
  return (
    <li className="page-run">
      <div className="page-run-head">
        <span className="page-run-name">
          <button type="button" className="page-run-title" dir="auto" onClick={onOpen}>
            {title}
          </button>
          <span className="page-soft">{about.join(" · ")}</span>
        </span>
        <time className="page-run-time">{format(now - (waiting_since ?? since))}</time>
        {mayRun ? (
          <Button icon="stop" disabled={isStopping} aria-label={words.stopRun(title)} onClick={stop}>
            {isStopping ? words.stopping : words.stop}
          </Button>
        ) : null}
      </div>
      {approvals.map((approval) => (
        <RunApproval key={`${approval.call_id} ${approval.event_id}`} run={run} approval={approval} onOpen={onOpen} />
      ))}
    </li>
  );
}

interface RunApprovalProps {
  readonly run: ActiveRun;
  readonly approval: OpenApproval;
  readonly onOpen: () => void;
}

/** The card of the conversation, with answers for the session of this run. */
function RunApproval({ run, approval, onOpen }: RunApprovalProps): ReactNode {
  const words = useWords(ACTIVITY_WORDS);
  const page = usePage();
  const ui = useUi();
  const mayApprove = useMay("approve");
  const { call_id, name, arguments: given, expires_at, digest, server } = approval;
  const actions = useMemo(
    (): UiActions =>
      mayApprove
        ? {
            approve: (answer) => page.answerRun(run, answer),
            allowTool: (tool, rule) => page.allowToolOfRun(run, tool, rule),
          }
        : {},
    [page, run, mayApprove],
  );
  // Users can allow only what they see.
  if (given === undefined)
    return (
      <div className="page-activity-large">
        <span>{words.large(name)}</span>
        <Button onClick={onOpen}>{words.open}</Button>
      </div>
    );
  const call: ToolCall = {
    toolId: call_id,
    toolName: name,
    ...(server === undefined ? {} : { server }),
    arguments: given,
    argumentsText: "",
    argumentsInvalid: false,
    status: "awaiting_approval",
    output: "",
  };
  return (
    <UiProvider {...ui} actions={actions}>
      <ApprovalCard
        call={call}
        approval={{
          decision: "pending",
          arguments: given,
          ...(expires_at === undefined ? {} : { expiresAt: expires_at }),
          ...(digest === undefined ? {} : { digest }),
        }}
        stateKey={`activity/${call_id}`}
        runId={run.run_id}
        isLive
      />
    </UiProvider>
  );
}

/** The current time, once a second. */
function useTicks(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function useElapsed(): (ms: number) => string {
  const words = useWords(ACTIVITY_WORDS);
  const { language } = useUi();
  return (ms) => {
    if (ms > MAX_MS) return "";
    const seconds = Math.max(0, Math.floor(ms / TICK_MS));
    return seconds < 10 ? words.seconds(seconds) : formatDuration(seconds * TICK_MS, language);
  };
}

/** UI strings of the list of runs. */
const ACTIVITY_WORDS = defineWords({
  en: {
    title: "Activity",
    waiting: "Waiting for approval",
    running: "Running",
    queued: "Queued",
    none: "Nothing is running",
    failed: "Couldn't load the runs.",
    again: "Try again",
    more: "Show more",
    untitled: "Untitled",
    stop: "Stop",
    stopRun: (title: string) => `Stop ${title}`,
    stopping: "Stopping…",
    open: "Open session",
    large: (tool: string) => `Allow ${tool}? Its arguments are too large to show here.`,
    ofOwner: (owner: string) => `Owner: ${owner}`,
    seconds: (count: number) => `${count} s`,
    said: (waiting: number, running: number) => `${waiting} waiting for approval, ${running} running`,
  },
  zh: {
    title: "运行与审批",
    waiting: "等待审批",
    running: "运行中",
    queued: "排队中",
    none: "当前没有运行",
    failed: "运行列表加载失败。",
    again: "重试",
    more: "显示更多",
    untitled: "未命名",
    stop: "停止",
    stopRun: (title: string) => `停止“${title}”`,
    stopping: "正在停止…",
    open: "打开会话",
    large: (tool: string) => `允许执行 ${tool}？参数过大，无法在此显示。`,
    ofOwner: (owner: string) => `所有者：${owner}`,
    seconds: (count: number) => `${count} 秒`,
    said: (waiting: number, running: number) => `${waiting} 项等待审批，${running} 项运行中`,
  },
});
