/** Answers of an AG-UI client to a run that waits: approvals, and results of calls that the client carried out. */
import type { Log } from "../../../log/index.ts";
import type { ControlCommand } from "../../../protocol/control/index.ts";
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { AgUiInput } from "../../api/shapes.generated.ts";
import type { Caller } from "../../auth/authorize.ts";
import { actionOf } from "../../commands/action-of.ts";
import { executeOrThrow } from "../command-endpoint.ts";
import { type AgUiRun, findAgUiRun, findPause, listWaits, MAX_ANSWERS, nameAnswer } from "./find-run.ts";
import { readApproval, readResult, readResults } from "./read-input.ts";

type CommandOf<T extends ControlCommand["type"]> = Omit<
  Extract<ControlCommand, { readonly type: T }>,
  "id" | "session"
>;
type AnswerCommand = CommandOf<"approve"> | CommandOf<"tool_result">;

/** Returns the answers in a request, as commands. An answer to an unknown interrupt is an approval. */
export async function listAnswers(log: Log, session: string, input: AgUiInput): Promise<readonly AnswerCommand[]> {
  const { resume = [] } = input;
  const results = readResults(input);
  if (resume.length === 0 && results.size === 0) return [];
  const [latest] = await log.listRuns(session, { limit: 1 });
  const waits = latest === undefined ? [] : await listWaits(log, session, latest.runId);
  // A call can wait for approval first, and for its result later.
  const kinds = new Map(waits.map(({ call, kind }) => [call, kind]));
  const given = resume.map((answer): AnswerCommand =>
    kinds.get(answer.interruptId) === "result"
      ? { type: "tool_result", call_id: answer.interruptId, ...readResult(answer) }
      : { type: "approve", ...readApproval(answer) },
  );
  const answered = new Set(given.map(({ call_id }) => call_id));
  for (const [call_id, result] of results)
    if (kinds.get(call_id) === "result" && !answered.has(call_id))
      given.push({ type: "tool_result", call_id, ...result });
  if (given.length <= MAX_ANSWERS) return given;
  throw new LoomError("invalid_request", `A request can have at most ${MAX_ANSWERS} answers, not ${given.length}`, {
    path: "resume",
    in: "body",
  });
}

interface AgUiAnswer {
  readonly session: string;
  readonly runId: string;
  readonly answers: readonly AnswerCommand[];
}

/** Sends the answers, and returns the run that they continue. */
export async function sendAnswers(
  core: ServerCore,
  caller: Caller,
  { session, runId, answers }: AgUiAnswer,
): Promise<AgUiRun> {
  for (const type of new Set(answers.map((answer) => answer.type)))
    await core.authorize({ caller, action: actionOf(type), session });
  let isTaken = false;
  let lateness: LoomError | undefined;
  for (const [index, answer] of answers.entries()) {
    try {
      await executeOrThrow(core, caller, { ...answer, id: nameAnswer(runId, index), session });
      isTaken = true;
    } catch (error) {
      // An earlier request or another client was faster, or the time is over. The other answers count.
      if (!isLoomError(error, "already_answered", "unknown_call")) throw error;
      lateness ??= error;
    }
  }
  if (!isTaken && lateness !== undefined) {
    // The rest of the run shows what was decided.
    const late = await findLate();
    if (late === undefined) throw lateness;
    return late;
  }
  const found = await findAgUiRun(core.log, session, runId);
  if (found === undefined) throw new LoomError("unknown_run", `Session "${session}" has no run "${runId}"`);
  return found;

  async function findLate(): Promise<AgUiRun | undefined> {
    const [latest] = await core.log.listRuns(session, { limit: 1 });
    if (latest === undefined) return undefined;
    const answered = answers.map(
      ({ type, call_id: call }) => ({ kind: type === "approve" ? "approval" : "result", call }) as const,
    );
    const run = { session, run: latest.runId, key: runId, answered };
    return (await findPause(core.log, run)) === undefined ? undefined : run;
  }
}
