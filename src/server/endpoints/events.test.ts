import { describe, expect, it } from "vitest";
import { makeRun, writeRecords } from "../../../test/log-sessions.ts";
import { readFrames } from "../../../test/server/read-frames.ts";
import { createServerFixture } from "../../../test/server/server-fixture.ts";
import { openSession } from "../../engine/index.ts";
import { createCursorFormat, ENCODER_VERSIONS } from "../../log/cursor.ts";

const createTwoRuns = async () => {
  const fixture = await createServerFixture();
  const info = await writeRecords(fixture.log, [...makeRun("r1"), ...makeRun("r2", { after: 4 })]);
  return {
    ...fixture,
    cursorOf: createCursorFormat(info.incarnation, ENCODER_VERSIONS.loom),
    exportCursorOf: createCursorFormat(info.incarnation, ENCODER_VERSIONS.export),
  };
};

describe("the events of a session", () => {
  it("are selected by position, limit, run and modes", async () => {
    const { fetch, cursorOf } = await createTwoRuns();
    const read = async (query: string, headers = {}) =>
      (await readFrames(await fetch(`/v1/sessions/s/events${query}`, { headers }))).map(({ text }) => text);
    const all = await read("");
    expect(all).toHaveLength(8);
    expect(await read("?after=3")).toEqual(all.slice(3));
    expect(await read(`?after=${cursorOf(3)}`)).toEqual(all.slice(3));
    expect(await read(`?after=2&skip=2&of=${cursorOf(1)}`)).toEqual(all.slice(4));
    expect(await read("?limit=2&after=1")).toEqual(all.slice(1, 3));
    expect(await read("?run=r2")).toEqual(all.slice(4));
    expect(await read("?run=r1")).toEqual(all.slice(0, 4));
    expect(await read("?modes=tools,custom&run=r1")).toHaveLength(3);
    // The header takes precedence over the query, because a browser reconnects with the same URL.
    expect(await read("?after=1&skip=1", { "last-event-id": cursorOf(6) })).toEqual(all.slice(6));
    expect(await read("?after=3", { "last-event-id": "" })).toEqual(all.slice(3));
  });

  it("of an unknown run are awaited only with `follow`", async () => {
    const { ask, fetch } = await createTwoRuns();
    expect(await ask("GET", "/v1/sessions/s/events?run=r3", undefined, { status: 404 })).toMatchObject({
      code: "unknown_run",
    });
    const waiting = await fetch("/v1/sessions/s/events?run=r3&follow=true");
    expect(waiting.status).toBe(200);
    await waiting.body?.cancel();
  });

  it("have a start cursor and are not cacheable", async () => {
    const { fetch, exportCursorOf } = await createTwoRuns();
    const { headers } = await fetch("/v1/sessions/s/events?after=3&dialect=export");
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "text/event-stream",
      "loom-cursor": exportCursorOf(3),
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
  });

  it.each([
    ["", "text/event-stream"],
    ["*/*", "text/event-stream"],
    ["text/html, application/x-ndjson;q=0.2", "application/x-ndjson"],
    ["text/event-stream;q=0.1, application/x-ndjson;q=0.2", "application/x-ndjson"],
    ["application/jsonl", "application/x-ndjson"],
  ])("are framed for `Accept: %s` as %s", async (accept, mediaType) => {
    const { fetch } = await createTwoRuns();
    const response = await fetch("/v1/sessions/s/events", { headers: accept === "" ? {} : { accept } });
    expect(response.headers.get("content-type")).toBe(mediaType);
    expect(await readFrames(response)).toHaveLength(8);
  });

  it("continue with `follow`, and end with the selected run", async () => {
    const { fetch, log } = await createServerFixture();
    const session = await openSession(log, "s");
    const run = await session.startRun({ runId: "r1" });
    const followed = readFrames(await fetch("/v1/sessions/s/events?run=r1&follow=1"));
    const stop = new AbortController();
    const tail = await fetch("/v1/sessions/s/events?follow", { signal: stop.signal });
    const reader = tail.body?.getReader();
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
    await run.finish({ reply: "done" });
    const next = await session.startRun({ runId: "r2" });
    expect((await followed).map(({ id }) => id)).toHaveLength(3);
    await reader?.cancel();
    await next.finish();
    await session.close();
  });

  it("end with 204 for an EventSource that has received the whole run", async () => {
    const { fetch, cursorOf } = await createTwoRuns();
    const ask = (id: string) => fetch("/v1/sessions/s/events?run=r1&follow=1", { headers: { "last-event-id": id } });
    expect((await ask(cursorOf(4))).status).toBe(204);
    expect((await ask(cursorOf(7))).status).toBe(204);
    expect(await readFrames(await ask(cursorOf(3)))).toHaveLength(1);
  });

  it("are rejected for an invalid position, dialect or mode", async () => {
    const { ask } = await createTwoRuns();
    const refuse = (query: string, status: number, headers = {}) =>
      ask("GET", `/v1/sessions/s/events?${query}`, undefined, { status, headers });
    expect(await refuse("dialect=klingon", 400)).toMatchObject({ code: "invalid_name" });
    expect(await refuse("modes=everything", 400)).toHaveProperty("code");
    expect(await refuse("after=nowhere", 400)).toMatchObject({ code: "cursor_invalid" });
    expect(await refuse("after=99", 416)).toMatchObject({ code: "cursor_ahead" });
    expect(await refuse("after=1.AAAAAAAA.1", 410)).toMatchObject({ code: "cursor_stale" });
    expect(await refuse(`of=${ENCODER_VERSIONS.loom}.AAAAAAAA.1`, 410)).toMatchObject({ code: "cursor_stale" });
    expect(await refuse("skip=-1", 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse("follow=perhaps", 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse("run=r1", 400, { "last-event-id": "?" })).toMatchObject({ code: "cursor_invalid" });
  });
});
