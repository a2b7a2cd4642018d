/** Messages for commands that failed. */
import type { CommandResult } from "../../client/index.ts";
import { defineWords } from "../ui/words.ts";
import { cutText } from "../../protocol/cut-text.ts";

export const COMMAND_WORDS = defineWords({
  en: {
    lost: "No response from the server. It is safe to try again.",
    alreadyAnswered: "Already answered.",
    unknown: "No longer available.",
    runEnded: "The run has ended.",
    refused: (message: string, code: string) => `Request failed: ${message} (${code})`,
  },
  zh: {
    lost: "服务器未响应，可放心重试。",
    alreadyAnswered: "此请求已有答复。",
    unknown: "此项已不存在。",
    runEnded: "运行已结束。",
    refused: (message: string, code: string) => `请求失败：${message}（${code}）`,
  },
});

const MAX_MESSAGE = 300;

/** Returns undefined if the command succeeded. */
export function describeCommandFailure(
  outcome: CommandResult,
  words: (typeof COMMAND_WORDS)["en"],
): string | undefined {
  if (outcome.kind === "lost") return words.lost;
  if (outcome.kind !== "refused") return undefined;
  switch (outcome.code) {
    case "already_answered":
      return words.alreadyAnswered;
    case "unknown_call":
    case "unknown_todo":
    case "unknown_session":
    case "unknown_run":
      return words.unknown;
    case "run_ended":
      return words.runEnded;
    default:
      return words.refused(cutText(outcome.message, MAX_MESSAGE), outcome.code);
  }
}
