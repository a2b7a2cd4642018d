/** Loads where the versions of a conversation differ, and opens another version. */
import type { JsonObject } from "loom-agent/protocol";
import { formatFailure } from "../api/api-error.ts";
import { createQuery } from "../api/query.ts";
import { may } from "../store/access.ts";
import { findVersions, type PositionedVersions } from "../store/find-versions.ts";
import type { EffectContext } from "./effect-context.ts";

/** Latest points at which versions are compared. Those before are shown at the message. */
const MAX_COMPARED = 10;
const MAX_QUESTIONS = 100;

export interface VersionEffects {
  /** Loads the versions of a session, if it is the current one. On failure none are offered. */
  loadVersions(session: string): Promise<void>;
  /** Opens another version of the current conversation, at the run where they differ. */
  openVersion(session: string, turnKey: string): void;
  /**
   * Forks a session at a checkpoint, with other values in its state, and opens the fork, where the run continues. Resolves
   * to the reason if it failed.
   */
  forkAt(session: string, checkpointId: string, state: JsonObject | undefined): Promise<string | undefined>;
}

export function createVersionEffects(context: EffectContext): VersionEffects {
  const { api, store } = context;
  const query = createQuery();
  /** Messages never change. By session and the record before them. */
  const questions = new Map<string, Promise<string>>();
  const readQuestion = (session: string, after: number): Promise<string> => {
    const key = `${after} ${session}`;
    const known = questions.get(key) ?? api.readQuestion(session, after);
    questions.set(key, known);
    known.catch(() => questions.delete(key));
    for (const oldest of questions.keys()) if (questions.size > MAX_QUESTIONS) questions.delete(oldest);
    return known;
  };
  const hasSameQuestion = async (session: string, { after, previous, next }: PositionedVersions): Promise<boolean> => {
    const other = previous ?? next;
    if (other === undefined) return false;
    try {
      const [one, two] = await Promise.all([readQuestion(session, after), readQuestion(other, after)]);
      return one === two;
    } catch {
      return false;
    }
  };
  return {
    async loadVersions(session) {
      const { access, sessions } = store.getSnapshot();
      // Users of a share link have no other versions.
      if (sessions.current !== session || !may(access, "read")) return;
      try {
        const byRun = await query.latest(async () => {
          const { sessions: branches } = await api.listBranches(session);
          const { runs } = branches.length > 1 ? await api.listRuns(session) : { runs: [] };
          const found = [...findVersions(session, branches, runs)];
          const compared = found.map(async ([run, versions], index) => {
            const isCompared = !versions.isInside && index >= found.length - MAX_COMPARED;
            const isSame = isCompared ? await hasSameQuestion(session, versions) : versions.isInside;
            return [run, { ...versions, changed: isSame ? "answer" : "message" }] as const;
          });
          return new Map(await Promise.all(compared));
        });
        if (byRun !== undefined) store.dispatch({ type: "versions/loaded", session, byRun });
      } catch {
        // The conversation itself reports a lost connection or a deleted session.
      }
    },
    openVersion(session, turnKey) {
      const { after } = store.getSnapshot().versions.byRun.get(turnKey) ?? {};
      if (after !== undefined) store.dispatch({ type: "version/opened", session, after });
      context.open(session);
    },
    async forkAt(session, checkpointId, state) {
      try {
        const created = await api.forkAt(session, checkpointId, state, context.createId());
        store.dispatch({ type: "session/updated", session: created });
        context.notifyTabs();
        // Do not navigate if the user opened another session meanwhile.
        if (store.getSnapshot().sessions.current === session) context.open(created.session_id);
        return undefined;
      } catch (error) {
        return formatFailure(error);
      }
    },
  };
}
