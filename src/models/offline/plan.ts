/**
 * In which order errands are run. What can go at the same time does; what another one changes or is made of waits for
 * it. It runs nothing.
 */
import type { Errand } from "./errand.ts";
import type { Done } from "./read-prompt.ts";

export interface Step {
  readonly errand: Errand;
  /** Undefined while nothing was done about it. */
  readonly done: Done | undefined;
}

/**
 * What became of each errand. The calls come back in the order they were made, so the plan is gone through again: by
 * tool and order, not by arguments, which whoever approved a call may have edited.
 */
export function matchSteps(
  errands: readonly Errand[],
  done: readonly Done[],
  offered: { has(tool: string): boolean },
): readonly Step[] {
  const steps: { readonly errand: Errand; done: Done | undefined }[] = [];
  for (const errand of errands) steps.push({ errand, done: undefined });
  const called = new Set(done.map(({ tool }) => tool));
  // As it was then: what waited for a tool that has not been called yet, waited.
  const tools = { has: (tool: string): boolean => offered.has(tool) || called.has(tool) };
  let asked: Errand[] = [];
  for (const one of done) {
    const isIt = (errand: Errand): boolean => errand.tool === one.tool;
    if (!asked.some(isIt)) asked = listReady(steps, tools);
    const place = asked.findIndex(isIt);
    if (place < 0) continue;
    const [errand] = asked.splice(place, 1);
    const step = steps.find((other) => other.errand === errand);
    if (step !== undefined) step.done = one;
  }
  return steps;
}

/** Those to run now, with these tools. */
export function listReady(steps: readonly Step[], tools: { has(tool: string): boolean }): Errand[] {
  const ready: Errand[] = [];
  const before: Errand[] = [];
  for (const { errand, done } of steps) {
    // Nothing goes past a question without its answer, nor past a no.
    if (isForbidden(steps, errand)) continue;
    if (done !== undefined || errand.cannot !== undefined || !tools.has(errand.tool)) continue;
    const sources = errand.needsResults === true ? findSources(steps, errand) : [];
    // It will never be: nobody waits for it.
    if (errand.needsResults === true && (sources.length === 0 || sources.some((step) => step.done?.isError))) continue;
    if (isUnfit(steps, errand)) continue;
    const mustWait = before.some((other) => collide(other, errand)) || sources.some((step) => step.done === undefined);
    before.push(errand);
    if (!mustWait) ready.push(errand);
  }
  return ready;
}

/** What it was to be made of is there, and does not fit. */
export function isUnfit(steps: readonly Step[], errand: Errand): boolean {
  if (errand.needsResults !== true || errand.accepts === undefined) return false;
  const sources = findSources(steps, errand);
  return sources.every(({ done }) => done?.isError === false) && !errand.accepts(listResults(steps, errand));
}

/** A question before it has no answer yet, or got a no. */
export function isForbidden(steps: readonly Step[], errand: Errand): boolean {
  const place = steps.findIndex((step) => step.errand === errand);
  return steps
    .slice(0, place)
    .some((step) => step.errand.isConsent === true && (step.done === undefined || step.done.isError));
}

/** What an errand is made of; nothing where one of them failed, because half a result is not written anywhere. */
export function listResults(steps: readonly Step[], errand: Errand): readonly string[] {
  if (errand.needsResults !== true) return [];
  return findSources(steps, errand).flatMap(({ errand: { pass }, done }) =>
    done === undefined ? [] : [pass === undefined ? done.result : pass(done.result)],
  );
}

/** Its own words say it; or it is all that was found out before; or, where that is nothing, all that is after. */
function findSources(steps: readonly Step[], errand: Errand): readonly Step[] {
  if (errand.madeOf !== undefined) return steps.filter((step) => step.errand.owner === errand.at);
  const given = steps.filter(
    ({ errand: other }) => other.needsResults !== true && other.touches?.isChange !== true && other.owner === undefined,
  );
  const before = given.filter((step) => step.errand.at < errand.at);
  return before.length > 0 ? before : given.filter((step) => !collide(step.errand, errand));
}

/** Whether it matters which of them comes first. */
function collide({ touches: one }: Errand, { touches: other }: Errand): boolean {
  if (one === undefined || other === undefined || !(one.isChange || other.isChange)) return false;
  return one.path === undefined || other.path === undefined || samePath(one.path, other.path);
}

/** Some systems take no notice of case, nor do we; a folder and what is in it belong together. */
function samePath(one: string, other: string): boolean {
  const [a = "", b = ""] = [one, other].map((path) =>
    `${path.replaceAll("\\", "/").replace(/^(?:\.\/)+/, "")}/`.toLowerCase(),
  );
  return a.startsWith(b) || b.startsWith(a);
}
