// A test fixture for run dispatchers: stores that several simulated processes share, dispatchers with a scripted model,
// and processes that can be killed, after which their log rejects every call.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { createTools } from "../agents/counted-tools.ts";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { type Log, MemoryLog, openSqliteLog, type RunInfo } from "../../src/log/index.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { LoomError } from "../../src/protocol/index.ts";
import type { ControlCommand } from "../../src/protocol/control/index.ts";
import type { CommandHost } from "../../src/server/commands/command-host.ts";
import { type CommandResponse, executeCommand } from "../../src/server/commands/execute-command.ts";
import { createRunDispatcher, type RunDispatcherOptions } from "../../src/server/runs/create-run-dispatcher.ts";
import type { RunDispatcher } from "../../src/server/runs/run-dispatcher.ts";

export const STORES = ["memory", "sqlite"] as const;

/** Opens the shared store for one process. `clock` returns how far the clock of the process is ahead. */
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
  const folder = mkdtempSync(join(tmpdir(), "loom-dispatcher-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return async (clock = () => 0) => {
    const log = await openSqliteLog(join(folder, "store.db"), { now: () => Date.now() + clock() });
    onTestFinished(() => log.close());
    return log;
  };
}

export interface TestProcess {
  readonly log: Log;
  readonly dispatcher: RunDispatcher;
  readonly model: ScriptedModel;
  readonly ran: readonly unknown[];
  say(session: string, message: string, more?: { readonly [field: string]: unknown }): Promise<CommandResponse>;
  ask(command: ControlCommand): Promise<CommandResponse>;
  /** Simulates a killed process. */
  kill(): void;
}

export interface TestProcessOptions extends Partial<Omit<RunDispatcherOptions, "log" | "agents">> {
  readonly play?: (request: ScriptedRequest) => ScriptedTurn | Promise<ScriptedTurn>;
  readonly agent?: AgentOptions;
  readonly beginMs?: number;
}

export function startProcess(given: Log, options: TestProcessOptions = {}): TestProcess {
  const { play = () => ({ text: "Yes." }), agent: agentOptions = {}, beginMs = 2000, ...dispatcherOptions } = options;
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
  const dispatcher = createRunDispatcher({
    log,
    agents: {
      helper: agent({ model, tools, ...agentOptions }),
      other: agent({ model: new ScriptedModel(() => ({ text: "I am the other." })) }),
    },
    lingerMs: 10,
    ...dispatcherOptions,
  });
  onTestFinished(() => dispatcher.close({ graceMs: 0 }));
  const host: CommandHost = { log, dispatch: dispatcher.dispatch, resolveAgent: dispatcher.resolveAgent, beginMs };
  let count = 0;
  const execute = (command: ControlCommand): Promise<CommandResponse> => executeCommand(host, command);
  return {
    log,
    dispatcher,
    model,
    ran,
    ask: execute,
    say: (session, message, more = {}) => execute({ type: "run", id: `c${++count}`, session, message, ...more }),
    kill: () => {
      isDead = true;
    },
  };
}

export function runIdOf(response: CommandResponse): string {
  if (response.type !== "ack") throw new Error(`refused: ${response.code} ${response.message}`);
  return response.result?.["run_id"] as string;
}

/** Resolves to the run when it has ended. */
export function untilEnded(log: Log, session: string, runId: string): Promise<RunInfo> {
  return vi.waitFor(
    async () => {
      const run = await log.getRun(session, runId);
      if (run === undefined || run.status === "live") throw new Error(`run ${runId} is ${run?.status ?? "missing"}`);
      return run;
    },
    { timeout: 5000, interval: 5 },
  );
}

export function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  return vi.waitFor(
    async () => {
      if (!(await isTrue())) throw new Error("condition not met yet");
    },
    { timeout: 5000, interval: 5 },
  );
}
