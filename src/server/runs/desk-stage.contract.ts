// A stage for desks: stores that several "processes" share, desks on them with a model that plays by what it is asked,
// and a process that can be killed: its log takes nothing any more, and gives nothing back.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { createTools } from "../../../test/agents/counted-tools.ts";
import { agent, type AgentOptions } from "../../agents/index.ts";
import { type Log, MemoryLog, openSqliteLog, type RunInfo } from "../../log/index.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../models/scripted-model.ts";
import { ScriptedModel } from "../../models/testing.ts";
import { LoomError } from "../../protocol/index.ts";
import type { ControlCommand } from "../../protocol/control/index.ts";
import { type Answer, carryOut } from "../commands/carry-out.ts";
import { createRunDesk, type RunDeskOptions } from "./create-run-desk.ts";
import type { RunDesk } from "./run-desk.ts";

export const STORES = ["memory", "sqlite"] as const;

/** Opens the same store as often as there are processes; `clock` is how far each is ahead. */
export type OpenLog = (clock?: () => number) => Promise<Log>;

export function createStore(kind: (typeof STORES)[number]): OpenLog {
  if (kind === "memory") {
    let ahead = (): number => 0;
    const log = new MemoryLog({ now: () => Date.now() + ahead() });
    return async (clock) => {
      if (clock !== undefined) ahead = clock;
      return log;
    };
  }
  const folder = mkdtempSync(join(tmpdir(), "loom-desk-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return async (clock = () => 0) => {
    const log = await openSqliteLog(join(folder, "store.db"), { now: () => Date.now() + clock() });
    onTestFinished(() => log.close());
    return log;
  };
}

export interface Process {
  readonly log: Log;
  readonly desk: RunDesk;
  readonly model: ScriptedModel;
  readonly ran: readonly unknown[];
  say(session: string, message: string, more?: { readonly [field: string]: unknown }): Promise<Answer>;
  ask(command: ControlCommand): Promise<Answer>;
  /** As if it was killed. */
  kill(): void;
}

export interface ProcessOptions extends Partial<Omit<RunDeskOptions, "log" | "agents">> {
  readonly play?: (request: ScriptedRequest) => ScriptedTurn | Promise<ScriptedTurn>;
  readonly agent?: Partial<AgentOptions>;
  readonly beginMs?: number;
}

export function startProcess(given: Log, options: ProcessOptions = {}): Process {
  const { play = () => ({ text: "Yes." }), agent: agentOptions = {}, beginMs = 2000, ...deskOptions } = options;
  let isDead = false;
  const log = new Proxy(given, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: readonly unknown[]): unknown => {
        const isPlain = name === "watch" || name === "peek";
        if (isDead && !isPlain) return Promise.reject(new LoomError("store_failed", "the process is dead"));
        return (value as (...args: readonly unknown[]) => unknown).apply(target, [...args]);
      };
    },
  });
  const model = new ScriptedModel((request) => play(request));
  const { tools, ran } = createTools();
  const desk = createRunDesk({
    log,
    agents: {
      helper: agent({ model, tools, ...agentOptions }),
      other: agent({ model: new ScriptedModel(() => ({ text: "I am the other." })) }),
    },
    lingerMs: 10,
    ...deskOptions,
  });
  onTestFinished(() => desk.close({ graceMs: 0 }));
  const host = { log, attend: desk.attend, resolveAgent: desk.resolveAgent, beginMs };
  let count = 0;
  const ask = (command: ControlCommand): Promise<Answer> => carryOut(host, command);
  return {
    log,
    desk,
    model,
    ran,
    ask,
    say: (session, message, more = {}) => ask({ type: "run", id: `c${++count}`, session, message, ...more }),
    kill: () => {
      isDead = true;
    },
  };
}

export function runIdOf(answer: Answer): string {
  if (answer.type !== "ack") throw new Error(`refused: ${answer.code} ${answer.message}`);
  return answer.result?.["run_id"] as string;
}

/** The run, as soon as it is over. */
export function untilEnded(log: Log, session: string, runId: string): Promise<RunInfo> {
  return vi.waitFor(
    async () => {
      const run = await log.getRun(session, runId);
      if (run === undefined || run.status === "live") throw new Error(`run ${runId} is ${run?.status ?? "not there"}`);
      return run;
    },
    { timeout: 5000, interval: 5 },
  );
}

export function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  return vi.waitFor(
    async () => {
      if (!(await isTrue())) throw new Error("not yet");
    },
    { timeout: 5000, interval: 5 },
  );
}
