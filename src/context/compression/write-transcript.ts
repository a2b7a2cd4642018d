/**
 * Writes a conversation as lines of JSON for the model that summarizes it, in parts that fit into its context window.
 */
import { createLoopYield } from "../../log/follow-records.ts";
import { describeFile } from "../../models/describe-file.ts";
import type { ModelMessage } from "../../models/model.ts";
import { readOutput } from "./prompt-tokens.ts";

export interface TranscriptOptions {
  /** Maximum tokens of one part. */
  readonly maxTokens: number;
  readonly maxParts: number;
  readonly countText: (text: string) => number;
}

/** Characters kept of one text, half from its start and half from its end. */
const MAX_TEXT = 8000;

export interface Transcript {
  readonly parts: readonly string[];
  /** Number of oldest messages left out because there would be too many parts. */
  readonly unread: number;
}

export async function writeTranscript(
  messages: readonly ModelMessage[],
  { maxTokens, maxParts, countText }: TranscriptOptions,
): Promise<Transcript> {
  const pause = createLoopYield();
  /** `before`: number of messages before the first one that is complete in this part. */
  const parts: { readonly text: string; readonly before: number }[] = [];
  let lines: string[] = [];
  let size = 0;
  let before = 0;
  for (const [index, message] of messages.entries()) {
    for (const line of describeMessage(message)) {
      await pause();
      for (const [at, { piece, tokens }] of splitLine(line, maxTokens, countText).entries()) {
        if (lines.length > 0 && size + tokens > maxTokens) {
          parts.push({ text: lines.join("\n"), before });
          lines = [];
          size = 0;
          before = at === 0 ? index : index + 1;
        }
        lines.push(piece);
        size += tokens;
      }
    }
  }
  if (lines.length > 0) parts.push({ text: lines.join("\n"), before });
  const kept = parts.slice(-maxParts);
  return { parts: kept.map(({ text }) => text), unread: kept[0]?.before ?? 0 };
}

function* describeMessage(message: ModelMessage): Generator<object, void, undefined> {
  if (message.role === "system") return;
  for (const part of message.content) {
    if (part.type === "text") yield { role: message.role, text: cutMiddle(part.text) };
    else if (part.type === "attachment") yield { role: message.role, file: describeFile(part) };
    else if (part.type === "tool-call") yield { call: part.toolName, arguments: cutMiddle(JSON.stringify(part.input)) };
    else if (part.type === "tool-result")
      yield {
        [part.output.type === "error-text" ? "error" : "result"]: cutMiddle(readOutput(part)),
        of: part.toolName,
      };
  }
}

function cutMiddle(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  const half = MAX_TEXT / 2;
  const left = text.length - MAX_TEXT;
  return `${text.slice(0, half).toWellFormed()} [${left} characters left out] ${text.slice(-half).toWellFormed()}`;
}

interface TranscriptPiece {
  readonly piece: string;
  readonly tokens: number;
}

/** Splits a line that is too long for one part into several. */
function splitLine(line: object, maxTokens: number, countText: (text: string) => number): readonly TranscriptPiece[] {
  const text = JSON.stringify(line);
  const size = countText(text) + 1;
  if (size <= maxTokens) return [{ piece: text, tokens: size }];
  const step = Math.max(1, Math.floor((text.length * maxTokens * 0.8) / size));
  const pieces: TranscriptPiece[] = [];
  for (let from = 0; from < text.length; from += step) {
    const piece = JSON.stringify({ continued: text.slice(from, from + step).toWellFormed() });
    pieces.push({ piece, tokens: countText(piece) + 1 });
  }
  return pieces;
}
