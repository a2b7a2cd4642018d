/** What became of something a reader asked for, where it was not done: in words, for whoever asked. */
import type { CommandOutcome } from "../../client/index.ts";
import { defineWords } from "../ui/words.ts";
import { cutHead } from "./cut-text.ts";

export const COMMAND_WORDS = defineWords({
  en: {
    lost: "It is not known whether this arrived. Try again: twice counts once.",
    alreadyAnswered: "This was answered before.",
    unknown: "The server knows nothing of this any more.",
    runEnded: "The run is over.",
    refused: (message: string, code: string) => `Refused: ${message} (${code})`,
  },
  zh: {
    lost: "不确定服务器是否已收到。可以重试，重复提交只算一次。",
    alreadyAnswered: "此请求已有人答复。",
    unknown: "服务器上已没有这一项。",
    runEnded: "运行已结束。",
    refused: (message: string, code: string) => `被拒绝：${message}（${code}）`,
  },
});

const MAX_MESSAGE = 300;

/** Undefined where all is well. */
export function tellTrouble(outcome: CommandOutcome, words: (typeof COMMAND_WORDS)["en"]): string | undefined {
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
      return words.refused(cutHead(outcome.message, MAX_MESSAGE), outcome.code);
  }
}
