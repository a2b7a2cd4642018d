/**
 * Where the commands of one process meet, whichever door they came by: each session's are written down in the order they
 * came, and what the log cannot know was done before is done once. It knows no door and no kind of command.
 */
import type { ControlCommand } from "../../protocol/control/index.ts";
import { BoundedMap, LoomError } from "../../protocol/index.ts";

/** Answers that are remembered, and commands under way. The second is refused past it, as `backlog_full`. */
export const MAX_REMEMBERED = 1000;

interface Remembered<T> {
  /** What was asked, to tell another command of the same id. */
  readonly text: string;
  readonly answer: Promise<T>;
}

export class CommandDesk<T> {
  /** The last in line of each session that has a line. */
  readonly #lines = new Map<string, Promise<void>>();
  readonly #underWay = new Map<string, Remembered<T>>();
  /** The answer given longest ago is forgotten first. */
  readonly #answered = new BoundedMap<Remembered<T>>(MAX_REMEMBERED);

  /** Runs `work` when all that came before it for this session is through. Nobody may wait in there for a run. */
  inTurn<R>(session: string, work: () => Promise<R>): Promise<R> {
    const done = (this.#lines.get(session) ?? Promise.resolve()).then(work);
    const line = done.then(
      () => undefined,
      () => undefined,
    );
    this.#lines.set(session, line);
    void line.then(() => {
      if (this.#lines.get(session) === line) this.#lines.delete(session);
    });
    return done;
  }

  /** The answer to this very command, if it was given or is being found; else that of `work`, unless it rejects. */
  async once(command: ControlCommand, work: () => Promise<T>): Promise<T> {
    const key = JSON.stringify([command.session, command.id]);
    const text = JSON.stringify(command);
    const known = this.#underWay.get(key) ?? this.#answered.get(key);
    if (known !== undefined) {
      if (known.text === text) return known.answer;
      throw new LoomError("command_conflict", `command "${command.id}" was given before, and was another`);
    }
    if (this.#underWay.size >= MAX_REMEMBERED)
      throw new LoomError("backlog_full", `${this.#underWay.size} commands are being carried out already`);
    const answer = work();
    this.#underWay.set(key, { text, answer });
    try {
      await answer;
      this.#answered.set(key, { text, answer });
    } finally {
      this.#underWay.delete(key);
    }
    return answer;
  }
}
