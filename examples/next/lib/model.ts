// The model of the example: one of the AI Gateway if there is a key, else one that answers offline.
import { type LanguageModel, simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

/** Milliseconds between two words of the offline model. */
const WORD_MS = Number(process.env["WORD_MS"] ?? 150);

export const model: LanguageModel =
  process.env["AI_GATEWAY_API_KEY"] === undefined ? createOfflineModel() : "openai/gpt-5";

function createOfflineModel(): LanguageModel {
  const tokens = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 };
  return new MockLanguageModelV4({
    doStream: ({ prompt }) => {
      const turn = prompt.filter(({ role }) => role === "user").length;
      const answer =
        `This is answer ${turn} of this chat. It comes slowly, one word at a time, from a model that works offline. ` +
        "Reload the page while it runs, close it, or open it twice: the run goes on, and no word is lost.";
      return Promise.resolve({
        stream: simulateReadableStream({
          initialDelayInMs: WORD_MS,
          chunkDelayInMs: WORD_MS,
          chunks: [
            { type: "stream-start", warnings: [] },
            { type: "text-start", id: "1" },
            ...answer.split(/(?<= )/).map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
            { type: "text-end", id: "1" },
            {
              type: "finish",
              finishReason: { unified: "stop", raw: "stop" },
              usage: { inputTokens: tokens, outputTokens: tokens },
            },
          ],
        }),
      });
    },
  });
}
