// Random conversations that follow the rules of providers: turns with or without answers, parallel tool calls, results
// of any length, Chinese text, and a current turn at any stage of its work.
import fc from "fast-check";
import type { AssistantPart, ModelMessage, ToolResultPart } from "../../src/models/model.ts";

export interface RandomConversation {
  readonly messages: readonly ModelMessage[];
  readonly question: string;
  /** Index of the question, not counting the system message. */
  readonly present: number;
}

const words = fc.constantFrom(
  "loom",
  "thread ",
  "the warp and the weft ",
  "会议记录 ",
  "请记住这个数字 ",
  "42 ",
  '{"a":1} ',
  "\n",
);
const text = fc
  .tuple(words, fc.integer({ min: 1, max: 60 }), fc.nat(1_000_000))
  .map(([word, times, mark]) => `${mark} ${word.repeat(times)}`);
const result = fc
  .tuple(words, fc.oneof({ weight: 6, arbitrary: fc.nat(60) }, { weight: 1, arbitrary: fc.nat(3000) }))
  .map(([word, times]) => word.repeat(times) || "(no output)");

const round = fc.record({
  text: fc.option(text, { nil: undefined }),
  results: fc.array(fc.record({ value: result, isError: fc.boolean() }), { minLength: 1, maxLength: 3 }),
});
const turn = fc.record({
  asked: text,
  rounds: fc.array(round, { maxLength: 4 }),
  answer: fc.option(text, { nil: undefined }),
});

export const conversations: fc.Arbitrary<RandomConversation> = fc
  .record({
    system: fc.option(text, { nil: undefined }),
    turns: fc.array(turn, { maxLength: 12 }),
    question: text,
    rounds: fc.array(round, { maxLength: 8 }),
    note: fc.boolean(),
  })
  .map(({ system, turns, question, rounds, note }) => {
    let calls = 0;
    const writeRound = ({
      text: said,
      results,
    }: {
      text?: string | undefined;
      results: { value: string; isError: boolean }[];
    }) => {
      const content: AssistantPart[] = said === undefined ? [] : [{ type: "text", text: said }];
      const given: ToolResultPart[] = [];
      for (const { value, isError } of results) {
        const toolCallId = `call_${++calls}`;
        content.push({ type: "tool-call", toolCallId, toolName: "search", input: { query: value.slice(0, 20) } });
        given.push({
          type: "tool-result",
          toolCallId,
          toolName: "search",
          output: { type: isError ? "error-text" : "text", value },
        });
      }
      return [
        { role: "assistant", content },
        { role: "tool", content: given },
      ] as const;
    };
    const past = turns.flatMap(({ asked, rounds: worked, answer }): ModelMessage[] => [
      say(asked),
      ...worked.flatMap(writeRound),
      ...(answer === undefined ? [] : [{ role: "assistant", content: [{ type: "text", text: answer }] } as const]),
    ]);
    const work = rounds.flatMap(writeRound);
    const messages: ModelMessage[] = [
      ...(system === undefined ? [] : [{ role: "system", content: system } as const]),
      ...past,
      say(question),
      ...work,
      ...(note && work.length > 0 ? [say("Answer now.")] : []),
    ];
    return { messages, question, present: past.length };
  });

export function say(asked: string): ModelMessage {
  return { role: "user", content: [{ type: "text", text: asked }] };
}

export function reply(answer: string): ModelMessage {
  return { role: "assistant", content: [{ type: "text", text: answer }] };
}

export function callAndResult(toolCallId: string, value: string): readonly ModelMessage[] {
  return [
    { role: "assistant", content: [{ type: "tool-call", toolCallId, toolName: "read", input: {} }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId, toolName: "read", output: { type: "text", value } }] },
  ];
}
