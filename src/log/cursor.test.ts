import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  assertCursorOf,
  assertCursorVersion,
  assertSameFrames,
  createCursorFormat,
  ENCODER_VERSION,
  ENCODER_VERSIONS,
  formatCursor,
  MAX_CURSOR_LENGTH,
  parseCursor,
} from "./cursor.ts";

const INCARNATION = "6b1f9f0e-6d5c-4c0e-9a53-1f0c3c0f9a11";
const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const frame = fc.option(fc.nat({ max: Number.MAX_SAFE_INTEGER }), { nil: undefined });

const format = createCursorFormat(INCARNATION, ENCODER_VERSION);

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    const { code, message } = error as { readonly code: string; readonly message: string };
    return `${code}: ${message}`;
  }
  return "none";
}

describe("a cursor", () => {
  test("round-trips, and fits into a URL and an SSE ID", () => {
    fc.assert(
      fc.property(fc.string(), id, frame, (incarnation, eventId, index) => {
        const text = createCursorFormat(incarnation, ENCODER_VERSION)(eventId, index);
        expect(parseCursor(text)).toMatchObject({ version: ENCODER_VERSION, eventId, frame: index });
        expect(() => assertCursorOf("s", incarnation, parseCursor(text))).not.toThrow();
        expect(encodeURIComponent(text)).toBe(text);
        expect(text.length).toBeLessThanOrEqual(MAX_CURSOR_LENGTH);
      }),
    );
  });

  test("is unique per position", () => {
    fc.assert(
      fc.property(fc.tuple(id, frame), fc.tuple(id, frame), (a, b) => {
        const same = a[0] === b[0] && a[1] === b[1];
        expect(format(...a) === format(...b)).toBe(same);
      }),
    );
  });

  const good = format(12, 3);
  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a number", 12],
    ["an object", { eventId: 12 }],
    ["nothing", ""],
    ["a bare number", "12"],
    ["a negative record", good.replace(".12.", ".-12.")],
    ["a negative frame", good.replace(/3$/, "-3")],
    ["a fractional record", good.replace(".12.", ".12.5.")],
    ["an exponent", good.replace(".12.", ".1e2.")],
    ["a record beyond 2^53-1", good.replace(".12.", ".9007199254740992.")],
    ["a frame beyond 2^53-1", good.replace(/3$/, "9007199254740992")],
    ["leading zeros", good.replace(".12.", ".012.")],
    ["frame 0 of record 0", format(0, 0)],
    ["a short tag", `${ENCODER_VERSION}.abc.12`],
    ["no record", good.replace(/\.12\.3$/, "")],
    ["a space", `${good} `],
    ["a line break", `${good}\n`],
    ["digits of another script", good.replace("12", "١٢")],
    ["a long string", `${good}${"0".repeat(MAX_CURSOR_LENGTH)}`],
  ])("is invalid: %s", (_what, text) => {
    expect(() => parseCursor(text)).toThrow(expect.objectContaining({ name: "LoomError", code: "cursor_invalid" }));
  });

  test("is rejected unread if it is too long", () => {
    expect(refusal(() => parseCursor(good.padEnd(1_000_000, "0")))).toMatch(/^cursor_invalid: .*at most 64 characters/);
  });

  test("throws only cursor errors, for any input", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\d.\w-]{0,80}$/), fc.anything()), (text) => {
        try {
          parseCursor(text);
        } catch (error) {
          expect(["cursor_invalid", "cursor_stale"]).toContain((error as { code?: string }).code);
        }
      }),
    );
  });

  test("with the form of a later version is stale", () => {
    expect(refusal(() => parseCursor(`${ENCODER_VERSION + 1}.other-form`))).toMatch(/^cursor_stale: .*version/);
    expect(refusal(() => parseCursor(`${ENCODER_VERSION}.other-form`))).toMatch(/^cursor_invalid/);
  });

  const [older, newer] = [ENCODER_VERSION - 1, ENCODER_VERSION + 1];
  test.each<[version: number, frame: number | undefined, own: number, isIndependent: boolean, isAccepted: boolean]>([
    [ENCODER_VERSION, 3, ENCODER_VERSION, false, true],
    [ENCODER_VERSION, undefined, ENCODER_VERSION, false, true],
    [older, undefined, ENCODER_VERSION, false, false],
    [older, undefined, ENCODER_VERSION, true, true],
    [older, 3, ENCODER_VERSION, true, false],
    [newer, undefined, ENCODER_VERSION, false, false],
    [newer, undefined, ENCODER_VERSION, true, true],
    [newer, 3, ENCODER_VERSION, true, false],
    // The frames of this dialect have changed: its old cursors are not accepted as positions of no stream.
    [ENCODER_VERSION, undefined, newer, false, false],
    // They have not changed since an older version: a cursor that belongs to no stream is accepted.
    [ENCODER_VERSION, undefined, older, false, true],
    [ENCODER_VERSION, 3, older, false, false],
  ])(
    "of version %j at frame %j, in a dialect of version %j (independent: %j): %j",
    (version, at, own, independent, ok) => {
      const cursor = parseCursor(createCursorFormat(INCARNATION, version)(12, at));
      const check = () => assertCursorVersion(cursor, { dialect: "engine", encoderVersion: own }, independent);
      expect(refusal(check)).toMatch(ok ? /^none$/ : /^cursor_stale: .*from its start/);
    },
  );

  test("of another version cannot be followed by counted frames", () => {
    const check = (version: number) => () =>
      assertSameFrames(parseCursor(createCursorFormat(INCARNATION, version)(12)), { dialect: "loom" });
    expect(refusal(check(ENCODER_VERSION))).toBe("none");
    expect(refusal(check(newer))).toMatch(/^cursor_stale/);
    // A cursor of no stream, and a dialect whose frames have not changed since an older version.
    const cursor = parseCursor(formatCursor(INCARNATION, 12));
    expect(refusal(() => assertSameFrames(cursor, { dialect: "loom", encoderVersion: older }))).toBe("none");
  });

  test("that was given out with version 6 is valid in every dialect whose frames have not changed", () => {
    for (const version of Object.values(ENCODER_VERSIONS)) expect(version).toBeLessThanOrEqual(ENCODER_VERSION);
    const changed = Object.entries(ENCODER_VERSIONS).filter(([, version]) => version !== 6);
    expect(changed.map(([dialect]) => dialect)).toEqual([
      "loom",
      "export",
      "engine",
      "lumine",
      "ai-sdk",
      "ag-ui",
      "openai-responses",
      "openai-chat",
    ]);
    expect(formatCursor(INCARNATION, 12)).toBe(format(12));
  });

  test("of a deleted session with the same ID is stale", () => {
    expect(refusal(() => assertCursorOf("s", "another", parseCursor(good)))).toMatch(
      /^cursor_stale: .*deleted session/,
    );
  });
});
