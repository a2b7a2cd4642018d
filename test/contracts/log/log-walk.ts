/**
 * Random walks: sequences of operations on a few sessions, by several writers and through two handles. Every answer and
 * the visible state after it are compared with the model.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isLoomError } from "../../../src/protocol/index.ts";
import type { Append, Lease, Log, SessionInfo } from "../../../src/log/log.ts";
import { LOG_LIMITS, type LogLimits } from "../../../src/log/log-limits.ts";
import {
  bytesOf,
  type Expected,
  foldStartOf,
  heldOf,
  landmarksOf,
  lastIdOf,
  LogModel,
  type ModelSession,
  pendingOf,
  runsOf,
  updatedAtOf,
} from "./log-model.ts";
import { type LogStore, NOON, readAll } from "./log-fixture.ts";
import { type BatchFault, buildBatch, HOLDERS, operations, OWNERS, SESSIONS, type WalkStep } from "./log-steps.ts";

/** Small enough to be reached. */
const LIMITS: Partial<LogLimits> = {
  maxEventBytes: 1000,
  maxBatchRecords: 8,
  maxBatchBytes: 1200,
  maxPageRecords: 7,
  maxPageBytes: 900,
  maxPendingCommands: 4,
  maxFeedBytes: 500,
};

/** Outcomes that a thousand walks must have seen. */
const REQUIRED_OUTCOMES: { readonly [what: string]: readonly string[] } = {
  create: ["ok", "session_exists"],
  append: ["ok", "fenced", "conflict", "command_settled", "event_too_large", "batch_too_large"],
  retry: ["ok", "fenced", "conflict", "unknown_session"],
  acquire: ["ok", "lease_held"],
  renew: ["ok", "fenced", "unknown_session"],
  read: ["ok", "evicted", "cursor_ahead", "cursor_invalid", "unknown_session"],
  submit: ["ok", "command_conflict", "inbox_full", "queue_full", "run_live", "unknown_session"],
  prune: ["some", "none"],
  peek: ["some"],
};

export function describeWalk(store: LogStore, numRuns: number): void {
  describe("random walks", () => {
    const clock = { now: NOON };
    let handles: [Log, Log];
    const seen = new Map<string, number>();

    beforeAll(async () => {
      const log = await store.open({ limits: LIMITS, now: () => clock.now });
      handles = [log, await store.second(log)];
    });

    afterAll(async () => {
      await handles[1].close();
      await handles[0].close();
    });

    test(`${numRuns} walks agree with the model`, { timeout: 600_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(operations, { minLength: 1, maxLength: 40, size: "max" }), async (steps) => {
          clock.now = NOON;
          for (const name of SESSIONS) await handles[0].deleteSession(name);
          const walk = new Walk(handles, clock, store, seen);
          const unwatch = SESSIONS.map((name) => handles[0].watch(name, () => undefined));
          try {
            for (const step of steps) await walk.take(step);
            await walk.compareAll();
          } finally {
            for (const stop of unwatch) stop();
            handles = walk.handles;
          }
        }),
        { numRuns },
      );
      if (numRuns < 1000) return;
      const sights = Object.entries(REQUIRED_OUTCOMES).flatMap(([what, outcomes]) =>
        outcomes.map((outcome) => `${what} ${outcome}`),
      );
      expect(sights.filter((sight) => !seen.has(sight))).toEqual([]);
    });
  });
}

class Walk {
  handles: [Log, Log];
  readonly #clock: { now: number };
  readonly #store: LogStore;
  readonly #seen: Map<string, number>;
  readonly #model: LogModel;
  /** All leases and batches so far, for late operations. */
  readonly #leases: Lease[] = [];
  readonly #batches: Append[] = [];
  readonly #incarnations = new Set<string>();
  readonly #epochs = new Map<string, number>();
  /** Increases with every record, so that no two runs end at the same time. */
  #ts = 2 * NOON;

  constructor(handles: [Log, Log], clock: { now: number }, store: LogStore, seen: Map<string, number>) {
    this.handles = handles;
    this.#clock = clock;
    this.#store = store;
    this.#seen = seen;
    this.#model = new LogModel({ ...LOG_LIMITS, ...LIMITS }, clock);
  }

  async take(step: WalkStep): Promise<void> {
    const model = this.#model;
    const log = this.handles[step.via];
    const name = SESSIONS[step.session]!;
    switch (step.do) {
      case "create": {
        const { title, firstId, owner, rootId } = step;
        const options = {
          ...(title === undefined ? {} : { title }),
          ...(owner === undefined ? {} : { owner }),
          ...(rootId === undefined ? {} : { rootId }),
          firstId,
        };
        const info = await this.#expectOutcome("create", model.create(name, options), log.createSession(name, options));
        if (info !== undefined) this.#compareInfo(model.find(name)!, info);
        break;
      }
      case "rename": {
        const session = model.find(name);
        if (session !== undefined) session.title = step.title;
        const expected = session === undefined ? { refusals: ["unknown_session" as const] } : { value: session };
        const info = await this.#expectOutcome("rename", expected, log.updateSession(name, { title: step.title }));
        if (info !== undefined) this.#compareInfo(session!, info);
        break;
      }
      case "delete":
        // Through the first handle, because another may keep records of the old session in memory for a moment.
        expect(await this.handles[0].deleteSession(name)).toBe(model.delete(name));
        break;
      case "acquire":
        await this.#acquire(log, name, HOLDERS[step.holder]!, step.ttlMs, step.takeover);
        break;
      case "renew": {
        const lease = pick(this.#leases, step.pick);
        if (lease === undefined) return;
        const renewed = await this.#expectOutcome(
          "renew",
          model.renew(lease.sessionId, lease.epoch, step.ttlMs),
          log.renew(lease, step.ttlMs),
        );
        if (renewed !== undefined)
          expect(renewed).toMatchObject({ epoch: lease.epoch, expiresAt: this.#clock.now + step.ttlMs });
        return this.#compare(lease.sessionId);
      }
      case "release": {
        const lease = pick(this.#leases, step.pick);
        if (lease === undefined) return;
        model.release(lease.sessionId, lease.epoch);
        await log.release(lease);
        return this.#compare(lease.sessionId);
      }
      case "write":
        await this.#ensureLease(log, name);
        await this.#append(log, this.#build(name, step), step.fault);
        break;
      case "burst": {
        // Not awaited one by one: they are stored in call order.
        const pending: Promise<void>[] = [];
        for (const write of step.writes) {
          const sessionId = SESSIONS[write.session]!;
          if (model.find(sessionId)?.lease === undefined) continue;
          pending.push(this.#append(log, this.#build(sessionId, write), write.fault));
        }
        await Promise.all(pending);
        for (const sessionId of SESSIONS) await this.#compare(sessionId);
        return;
      }
      case "retry": {
        const batch = pick(this.#batches, step.pick);
        if (batch === undefined) return;
        const changed = step.change === undefined ? batch : step.change(batch);
        await this.#expectOutcome("retry", model.append(changed), log.append(changed));
        return this.#compare(batch.sessionId);
      }
      case "submit": {
        const command = { commandId: step.id, sessionId: name, kind: step.kind, body: { n: step.body } };
        const { maxQueued, onlyIfIdle } = step;
        const cancel = { commandId: `i${step.id}`, sessionId: name, kind: "cancel" as const, body: {} };
        const options = { maxQueued, onlyIfIdle, interrupt: step.interrupts ? cancel : undefined };
        const state = await this.#expectOutcome("submit", model.submit(command, options), log.submit(command, options));
        if (state !== undefined) expect(state).toEqual(model.find(name)!.commands.find((c) => c.commandId === step.id));
        break;
      }
      case "prune": {
        const policy = step.age === undefined ? step.policy : { ...step.policy, maxAgeMs: step.age, now: this.#ts };
        const report = model.prune(policy);
        expect(await log.prune(policy)).toEqual(report);
        this.#countOutcome(`prune ${report.runs > 0 ? "some" : "none"}`);
        await this.#dropExpiredOutcomes(log, policy);
        return this.compareAll();
      }
      case "read": {
        const session = model.find(name);
        const after =
          step.odd ?? (session === undefined ? 0 : session.begin - 2 + (step.at % (session.history.length + 4)));
        const options = { after, limit: step.limit, maxBytes: step.maxBytes };
        const page = await this.#expectOutcome("read", model.read(name, options), log.read(name, options));
        if (page === undefined) return;
        const expected = model.read(name, options) as { value: readonly string[] };
        expect(page.texts).toEqual(expected.value);
        expect([page.sessionId, page.after, page.lastId]).toEqual([name, after, after + expected.value.length]);
        return;
      }
      case "advance":
        this.#clock.now += step.ms;
        break;
      case "reopen":
        if (this.#store.reopen !== undefined) this.handles[0] = await this.#store.reopen(this.handles[0]);
        return this.compareAll();
    }
    await this.#compare(name);
  }

  async #acquire(log: Log, name: string, holder: string, ttlMs: number, takeover: boolean): Promise<void> {
    const options = { holder, ttlMs, takeover };
    const expected = this.#model.acquire(name, options);
    const lease = await this.#expectOutcome("acquire", expected, log.acquire(name, options));
    if (lease === undefined) return;
    const session = this.#model.find(name)!;
    // An epoch is never reused for a session ID, also after a deletion.
    expect(lease.epoch).toBeGreaterThan(this.#epochs.get(name) ?? Number.NEGATIVE_INFINITY);
    this.#epochs.set(name, lease.epoch);
    session.lease!.epoch = lease.epoch;
    this.#checkIncarnation(session, lease.incarnation);
    expect(lease).toMatchObject({ sessionId: name, lastId: lastIdOf(session), expiresAt: this.#clock.now + ttlMs });
    const runs = await log.listRuns(name, { limit: 1000 });
    expect(lease.liveRuns).toEqual(runs.filter(({ status }) => status === "live").toReversed());
    expect(lease.todoLists).toEqual(await log.listLandmarks(name, "todo_list"));
    expect(lease.toolPermissions).toEqual(await log.listLandmarks(name, "tool_permission"));
    this.#leases.push(lease);
  }

  /** Most writes have a valid lease. */
  async #ensureLease(log: Log, name: string): Promise<void> {
    if (this.#model.find(name)?.lease === undefined) await this.#acquire(log, name, HOLDERS[0]!, 1000, true);
  }

  #build(name: string, step: Parameters<typeof buildBatch>[1]): Append {
    const batch = buildBatch(this.#model.find(name)!, step, this.#ts, this.#leases);
    this.#ts += 10 * batch.entries.length;
    return batch;
  }

  async #append(log: Log, batch: Append, fault: BatchFault | undefined): Promise<void> {
    const expected = this.#model.append(batch);
    if (fault === undefined || "value" in expected) this.#batches.push(batch);
    await this.#expectOutcome("append", expected, log.append(batch));
  }

  /** The log may drop old outcomes in a prune; pending commands and recent outcomes must stay. */
  async #dropExpiredOutcomes(
    log: Log,
    { maxAgeMs, now = this.#clock.now }: { maxAgeMs?: number; now?: number },
  ): Promise<void> {
    for (const { sessionId, commands } of this.#model.sessions) {
      for (const command of Array.from(commands)) {
        const isOld = command.createdAt < now - (maxAgeMs ?? Number.POSITIVE_INFINITY);
        if (command.outcome === undefined || !isOld) continue;
        if ((await log.getCommand(sessionId, command.commandId)) === undefined)
          commands.splice(commands.indexOf(command), 1);
      }
    }
  }

  /** Returns the value, which must be expected; undefined if the operation failed with an expected error. */
  async #expectOutcome<T>(what: string, expected: Expected<unknown>, answer: Promise<T>): Promise<T | undefined> {
    const met = await answer.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    if ("error" in met) {
      if (!isLoomError(met.error)) throw met.error;
      this.#countOutcome(`${what} ${met.error.code}`);
      expect("refusals" in expected ? expected.refusals : [`${what} succeeds`]).toContain(met.error.code);
      return undefined;
    }
    this.#countOutcome(`${what} ok`);
    if ("refusals" in expected) throw new Error(`${what} should fail: ${expected.refusals.join(", ")}`);
    if (what === "append" || what === "retry") expect(met.value).toEqual(expected.value);
    return met.value;
  }

  #countOutcome(sight: string): void {
    this.#seen.set(sight, (this.#seen.get(sight) ?? 0) + 1);
  }

  #checkIncarnation(session: ModelSession, incarnation: string): void {
    if (session.incarnation === undefined) {
      expect(this.#incarnations).not.toContain(incarnation);
      this.#incarnations.add(incarnation);
      session.incarnation = incarnation;
    }
    expect(incarnation).toBe(session.incarnation);
  }

  #compareInfo(session: ModelSession, { epoch, incarnation, ...info }: SessionInfo): void {
    this.#checkIncarnation(session, incarnation);
    if (session.lease !== undefined) expect(epoch).toBe(session.lease.epoch);
    expect(info).toEqual({
      sessionId: session.sessionId,
      title: session.title,
      isPinned: false,
      isArchived: false,
      createdAt: session.createdAt,
      updatedAt: updatedAtOf(session),
      firstId: session.firstId,
      lastId: lastIdOf(session),
      bytes: bytesOf(session),
      holder: this.#model.holderOf(session),
      owner: session.owner,
      forkedFrom: undefined,
      rootId: session.rootId,
    });
  }

  /** Compares everything visible of one session, through either handle. */
  async #compare(name: string): Promise<void> {
    const session = this.#model.find(name);
    const log = this.handles[(session?.history.length ?? 0) % 2]!;
    const info = await log.getSession(name);
    if (session === undefined) return expect(info).toBeUndefined();
    this.#compareInfo(session, info!);
    expect(await readAll(log, name, session.firstId - 1)).toEqual(heldOf(session).map(({ text }) => text));
    const runs = runsOf(session);
    expect(await log.listRuns(name)).toEqual(runs.toReversed());
    for (const kind of ["checkpoint", "todo_list"] as const)
      expect(await log.listLandmarks(name, kind)).toEqual(landmarksOf(session, kind));
    expect(await log.listPending(name)).toEqual(pendingOf(session));
    const ids = [session.firstId - 1, lastIdOf(session), Math.floor((session.firstId + lastIdOf(session)) / 2)];
    for (const id of ids) expect(await log.findFoldStart(name, id)).toBe(foldStartOf(session, id));
    this.#comparePeek(session);
  }

  #comparePeek({ sessionId, begin, history }: ModelSession): void {
    for (let after = Math.max(begin - 1, begin + history.length - 9); after <= begin + history.length; after++) {
      const page = this.handles[0].peek(sessionId, after);
      if (page === undefined) continue;
      this.#countOutcome("peek some");
      const from = after + 1 - begin;
      const texts = history.slice(from, from + page.length).map(({ text }) => text);
      expect(page.length).toBeGreaterThan(0);
      expect([page.after, page.texts]).toEqual([after, texts]);
    }
  }

  async compareAll(): Promise<void> {
    for (const name of SESSIONS) await this.#compare(name);
    for (const log of this.handles) {
      const listed = (await log.listSessions()).map(({ sessionId }) => sessionId);
      expect(listed).toEqual(this.#model.sessions.map(({ sessionId }) => sessionId).toReversed());
      for (const owner of OWNERS) {
        const own = this.#model.sessions.filter((session) => session.owner === owner);
        const found = (await log.listSessions({ owner })).map(({ sessionId }) => sessionId);
        expect(found).toEqual(own.map(({ sessionId }) => sessionId).toReversed());
      }
      expect([...(await log.listOrphans())].sort()).toEqual([...this.#model.orphans()].sort());
    }
    for (const { sessionId, commands, ...session } of this.#model.sessions) {
      const [log] = this.handles;
      const { owner, rootId } = session;
      const branches = this.#model.sessions.filter((other) => other.owner === owner && other.rootId === rootId);
      expect((await log.listBranches(sessionId)).map((branch) => branch.sessionId)).toEqual(
        branches.map((branch) => branch.sessionId),
      );
      for (const command of commands) expect(await log.getCommand(sessionId, command.commandId)).toEqual(command);
      for (const run of runsOf({ sessionId, commands, ...session }))
        expect(await log.getRun(sessionId, run.runId)).toEqual(run);
    }
  }
}

function pick<T>(items: readonly T[], index: number): T | undefined {
  // Prefer recent items.
  return items.at(-1 - (index % Math.max(1, items.length)));
}
