/**
 * Orders tasks. Independent tasks run in parallel; a task waits for those that change the same file or whose results it
 * uses.
 */
import type { OfflineTask } from "./offline-task.ts";
import type { CompletedCall } from "./read-prompt.ts";

export interface TaskStep {
  readonly task: OfflineTask;
  /** Undefined until the tool was called. */
  readonly done: CompletedCall | undefined;
}

/**
 * Assigns completed calls to tasks. Calls are in the order they were made, so the plan is replayed: by tool and order,
 * not by arguments, which the user may have edited.
 */
export function matchSteps(
  tasks: readonly OfflineTask[],
  done: readonly CompletedCall[],
  offered: { has(tool: string): boolean },
): readonly TaskStep[] {
  const steps: { readonly task: OfflineTask; done: CompletedCall | undefined }[] = [];
  for (const task of tasks) steps.push({ task, done: undefined });
  const called = new Set(done.map(({ tool }) => tool));
  // A tool that was called was available then, even if it is not offered now.
  const tools = { has: (tool: string): boolean => offered.has(tool) || called.has(tool) };
  let asked: OfflineTask[] = [];
  for (const one of done) {
    const isIt = (task: OfflineTask): boolean => task.tool === one.tool;
    if (!asked.some(isIt)) asked = listReady(steps, tools);
    const place = asked.findIndex(isIt);
    if (place < 0) continue;
    const [task] = asked.splice(place, 1);
    const step = steps.find((other) => other.task === task);
    if (step !== undefined) step.done = one;
  }
  return steps;
}

/** Lists the tasks to run now, with these tools. */
export function listReady(steps: readonly TaskStep[], tools: { has(tool: string): boolean }): OfflineTask[] {
  const ready: OfflineTask[] = [];
  const before: OfflineTask[] = [];
  for (const { task, done } of steps) {
    // Tasks wait for an approval and are skipped after a refusal.
    if (isBlockedByConsent(steps, task)) continue;
    if (done !== undefined || task.refusal !== undefined || !tools.has(task.tool)) continue;
    const sources = task.needsResults === true ? findSources(steps, task) : [];
    // A missing or failed source never arrives.
    if (task.needsResults === true && (sources.length === 0 || sources.some((step) => step.done?.isError))) continue;
    if (hasUnusableSources(steps, task)) continue;
    const mustWait = before.some((other) => conflict(other, task)) || sources.some((step) => step.done === undefined);
    before.push(task);
    if (!mustWait) ready.push(task);
  }
  return ready;
}

/** Whether all results the task uses are there but unusable. */
export function hasUnusableSources(steps: readonly TaskStep[], task: OfflineTask): boolean {
  if (task.needsResults !== true || task.accepts === undefined) return false;
  const sources = findSources(steps, task);
  return sources.every(({ done }) => done?.isError === false) && !task.accepts(listResults(steps, task));
}

/** Whether an approval before this task is pending or was refused. */
export function isBlockedByConsent(steps: readonly TaskStep[], task: OfflineTask): boolean {
  const place = steps.findIndex((step) => step.task === task);
  return steps
    .slice(0, place)
    .some((step) => step.task.isConsent === true && (step.done === undefined || step.done.isError));
}

/** Lists the results a task uses. */
export function listResults(steps: readonly TaskStep[], task: OfflineTask): readonly string[] {
  if (task.needsResults !== true) return [];
  return findSources(steps, task).flatMap(({ task: { extractResult }, done }) =>
    done === undefined ? [] : [extractResult === undefined ? done.result : extractResult(done.result)],
  );
}

/** Finds the tasks whose results a task uses: those its own words name, or all before it, or all after it. */
function findSources(steps: readonly TaskStep[], task: OfflineTask): readonly TaskStep[] {
  if (task.sourceText !== undefined) return steps.filter((step) => step.task.owner === task.at);
  const given = steps.filter(
    ({ task: other }) =>
      other.needsResults !== true && other.fileAccess?.isChange !== true && other.owner === undefined,
  );
  const before = given.filter((step) => step.task.at < task.at);
  return before.length > 0 ? before : given.filter((step) => !conflict(step.task, task));
}

/** Whether the order of the two tasks matters. */
function conflict({ fileAccess: one }: OfflineTask, { fileAccess: other }: OfflineTask): boolean {
  if (one === undefined || other === undefined || !(one.isChange || other.isChange)) return false;
  return one.path === undefined || other.path === undefined || samePath(one.path, other.path);
}

/** Ignores case, as some file systems do. A folder conflicts with the files in it. */
function samePath(one: string, other: string): boolean {
  const [a = "", b = ""] = [one, other].map((path) =>
    `${path.replaceAll("\\", "/").replace(/^(?:\.\/)+/, "")}/`.toLowerCase(),
  );
  return a.startsWith(b) || b.startsWith(a);
}
