import { EventEmitter } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import type { PostgresDatabase } from "../../postgres/postgres-database.ts";
import { Feed } from "../feed.ts";
import { LOG_LIMITS } from "../log-limits.ts";
import { ChangeWatcher } from "./change-watcher.ts";

afterEach(() => vi.useRealTimers());

test("connects once per interval while each connection is lost as soon as it listens", async () => {
  vi.useFakeTimers();
  let connections = 0;
  const connectListener = async () => {
    connections++;
    const query = async () => {
      setTimeout(() => client.emit("end"), 1);
      return { rows: [] };
    };
    const client: EventEmitter = Object.assign(new EventEmitter(), { query });
    return Object.assign(client, { unref: () => undefined, end: async () => undefined });
  };
  const same = (text: string): string => text;
  const none = async (): Promise<readonly object[]> => [];
  const settings = { schema: "loom" };
  const onChange = () => () => undefined;
  const db = { connectListener, escape: same, format: same, read: none, write: none, settings, onChange };
  const watcher = new ChangeWatcher({
    db: db as unknown as PostgresDatabase,
    feed: new Feed({ ...LOG_LIMITS, maxFeedBytes: 1000 }),
    writer: "w",
    pollMs: 1000,
  });
  watcher.start();
  await vi.advanceTimersByTimeAsync(5500);
  watcher.stop();
  expect(connections).toBe(6);
});
