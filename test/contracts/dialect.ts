/** The contract of a dialect. Each dialect calls it from its tests. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EVENT_TYPES, type JsonObject, type StampedRecord } from "../../src/protocol/index.ts";
import { parseObject } from "../../src/protocol/json.ts";
import { HOSTILE_SAMPLES, SAMPLES } from "../sampling.ts";
import type { MessageChunkEvent } from "../../src/protocol/events.generated.ts";
import type { Dialect, EncoderOptions, MissingText } from "../../src/dialects/dialect.ts";
import { isAnswerChannel } from "../../src/protocol/record.ts";

const DEEP = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;

/** Texts that no decoder may throw on. */
const HOSTILE: readonly string[] = [
  "",
  " ",
  "null",
  "true",
  "42",
  '"text"',
  "[]",
  "{}",
  "{",
  "[DONE]",
  '{"type":null}',
  '{"type":7}',
  '{"type":{}}',
  '{"type":"__proto__"}',
  '{"type":"constructor"}',
  '{"type":"toString","data":{}}',
  '{"__proto__":{"type":"chunk"}}',
  '{"type":"custom","value":{"__proto__":{"x":1}}}',
  '{"type":"data","data":null,"metadata":null}',
  '{"type":"content","data":[],"metadata":[]}',
  '{"reply":null}',
  '{"reply":{}}',
  '{"TaskStart":null}',
  '{"Messages":{"chunk":7}}',
  '{"Values":null,"Custom":null}',
  `{"type":"values","state":${DEEP}}`,
  `{"type":"tool_use","args":${`{"a":`.repeat(50_000)}1${"}".repeat(50_000)}}`,
  '{"type":"text_delta","ts":1e999,"source":"stream","content":"x"}',
  `{"type":"message_chunk","content":"${"x".repeat(100_000)}","id":"think","event_id":-1}`,
  '{"type":"message_chunk","content":"\\ud800","id":"think"}',
];

export interface DialectSamples {
  /** Frames of a complete run. */
  readonly run: readonly string[];
  /** Complete streams of the dialect. */
  readonly streams: readonly (readonly string[])[];
  /** Records of a complete session. */
  readonly records: readonly StampedRecord[];
}

export function describeDialect(dialect: Dialect, { run, streams, records }: DialectSamples): void {
  const encodeAll = (list: readonly StampedRecord[]) => {
    const encoder = dialect.createEncoder();
    return list.map((record) => encoder.encode(record));
  };

  describe(`${dialect.name}: dialect contract`, () => {
    test("decodes its own run without issues", () => {
      const decoder = dialect.createDecoder();
      for (const text of run) expect(decoder.decode(text).issues).toEqual([]);
    });

    test("decodes a parsed frame like its text", () => {
      expect(streams.length).toBeGreaterThan(0);
      // The longest texts are nested too deeply to compare.
      for (const stream of [...streams, HOSTILE.filter((text) => text.length < 1000)]) {
        const [fromText, fromParsed] = [dialect.createDecoder(), dialect.createDecoder()];
        for (const text of stream) expect(fromParsed.decode(text, parseObject(text))).toEqual(fromText.decode(text));
      }
    });

    test("neither parses a parsed frame again nor changes it", () => {
      const decoder = dialect.createDecoder();
      const calm = dialect.createDecoder();
      for (const text of run) {
        const parsed = parseObject(text);
        expect(decoder.decode("not JSON", parsed)).toEqual(calm.decode(text));
        expect(JSON.stringify(parsed)).toBe(JSON.stringify(JSON.parse(text)));
      }
    });

    test("rejects hostile texts with a rule and decodes the frames after them", () => {
      const calm = dialect.createDecoder();
      const expected = run.map((text) => calm.decode(text).records);
      const decoder = dialect.createDecoder();
      const harmful = HOSTILE.filter((candidate) => !starts(dialect, candidate));
      // Each text comes before several frames; in the long run, before each.
      const { stride } = HOSTILE_SAMPLES;
      const got = run.map((text, at) => {
        for (const hostile of harmful.filter((_, index) => index % stride === at % stride)) {
          for (const issue of decoder.decode(hostile).issues) expect(issue.message).not.toBe("");
        }
        return decoder.decode(text).records;
      });
      expect(got.map((group) => group.map((record) => record.event))).toEqual(
        expected.map((group) => group.map((record) => record.event)),
      );
      expect(({} as { type?: unknown }).type).toBeUndefined();
    });

    test("never throws on text", () => {
      const decoder = dialect.createDecoder();
      fc.assert(
        fc.property(fc.oneof(fc.string(), fc.json(), fc.constantFrom(...HOSTILE)), (text) => {
          const { records, issues } = decoder.decode(text);
          expect(records.length + issues.length).toBeGreaterThanOrEqual(0);
        }),
        { numRuns: SAMPLES.sessions * 3 },
      );
    });

    test("never throws on mutated frames", () => {
      fc.assert(
        fc.property(
          fc.constantFrom(...run),
          fc.nat(),
          fc.constantFrom("null", "7", '""', "[]", "{}", "true", '"x"'),
          (text, pick, value) => {
            const frame = JSON.parse(text) as { [name: string]: unknown };
            const names = Object.keys(frame);
            const name = names[pick % names.length] ?? "type";
            dialect.createDecoder().decode(JSON.stringify({ ...frame, [name]: JSON.parse(value) as unknown }));
          },
        ),
        { numRuns: SAMPLES.sessions * 3 },
      );
    });

    test("writes one JSON text or its end text per frame, without line breaks", () => {
      for (const frames of encodeAll(records)) {
        for (const frame of frames) {
          expect(frame).not.toMatch(/[\r\n]/);
          if (frame !== dialect.traits.endText) expect(JSON.parse(frame)).toBeTypeOf("object");
        }
      }
    });

    test("gives the same bytes for the same records", () => {
      expect(encodeAll(records)).toEqual(encodeAll(records));
    });

    const forms = [{}, ...dialect.options.map((name): EncoderOptions => ({ [name]: name !== "envelope" }))];
    test.each(forms)("%o: an encoder that continues a saved one gives the same bytes, from every record", (options) => {
      const uncut = dialect.createEncoder(options);
      let continued = dialect.createEncoder(options);
      for (const record of records) {
        if (continued.save !== undefined) continued = dialect.createEncoder(options, structuredClone(continued.save()));
        continued.findMissingText?.(record)?.add(findText(records, continued.findMissingText(record)));
        expect(continued.encode(record)).toEqual(uncut.encode(record));
        expect([continued.held, continued.dropped]).toEqual([uncut.held, uncut.dropped]);
      }
    });

    test("does not change its input", () => {
      const before = JSON.stringify(records);
      encodeAll(records);
      expect(JSON.stringify(records)).toBe(before);
    });

    test("has a ledger row for every event type, with a reason for each omission", () => {
      expect(Object.keys(dialect.ledger).sort()).toEqual([...EVENT_TYPES].sort());
      for (const row of Object.values(dialect.ledger)) {
        if (row.support === "omitted") expect(row.reason.length).toBeGreaterThan(10);
        else expect(row.frame).not.toBe("");
      }
    });

    test("reads session, stream and number of any frame without throwing", () => {
      const { traits } = dialect;
      for (const frame of parseObjects([...HOSTILE, ...run])) {
        expect(traits.readSession(frame, true)).not.toBe("");
        expect(traits.streams?.readKey(frame) ?? "").toBeTypeOf("string");
        expect(traits.numbering?.readNumber(frame)?.number ?? 0).toBeGreaterThanOrEqual(0);
      }
      if (traits.unnamed === "stream") expect(traits.streams).toBeDefined();
    });

    test("numbers the frames of a run in order, and marks start and end of its stream", () => {
      const { numbering, streams } = dialect.traits;
      const frames = parseObjects(run);
      if (streams !== undefined) {
        expect(frames.filter((frame) => streams.isStart(frame))).toEqual(frames.slice(0, 1));
        expect(frames.filter((frame) => streams.isEnd(frame))).toEqual(frames.slice(-1));
        expect(new Set(frames.map((frame) => streams.readKey(frame))).size).toBe(1);
      }
      if (numbering === undefined) return;
      const numbers = frames.map((frame) => numbering.readNumber(frame)?.number);
      const { first = numbers[0] ?? 0 } = numbering;
      expect(numbers).toEqual(frames.map((_, index) => first + index));
    });

    test("recognizes its own frames", () => {
      const frames = run.map((text) => JSON.parse(text) as { readonly [key: string]: unknown });
      for (const frame of frames) expect(dialect.confidence(frame)).toBeGreaterThan(0);
    });
  });
}

function parseObjects(texts: readonly string[]): JsonObject[] {
  return texts.map(parseObject).filter((frame) => frame !== undefined);
}

/** A hostile text that is a valid frame of the dialect does not count. */
function starts(dialect: Dialect, text: string): boolean {
  const { records, issues } = dialect.createDecoder().decode(text);
  return records.length > 0 || (issues.length > 0 && text === dialect.traits.endText);
}

/** Reads a text that a saved state left out. */
function findText(records: readonly StampedRecord[], missing: MissingText | undefined): string {
  const { fromId = 0, runId, nodeId, length = 0 } = missing ?? {};
  const pieces = records
    .filter(
      ({ envelope: { event_id, run_id, node_id } }) => event_id >= fromId && run_id === runId && node_id === nodeId,
    )
    .map(({ event }) => event as MessageChunkEvent)
    .filter(({ type, channel }) => type === "message_chunk" && isAnswerChannel(channel));
  return pieces
    .map(({ content }) => content)
    .join("")
    .slice(0, length);
}
