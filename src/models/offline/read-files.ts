/** What the offline model sees of the files that come with a message: their names and sizes, and how texts begin. */
import { isTextType } from "../describe-file.ts";
import type { ModelMessage } from "../model.ts";
import type { Language } from "./errand.ts";

export interface SeenFile {
  readonly name: string | undefined;
  readonly mediaType: string;
  readonly bytes: number;
  /** How it begins, where it is a text. */
  readonly beginning: string | undefined;
}

const MAX_QUOTED = 200;

export function readFiles(message: ModelMessage | undefined): readonly SeenFile[] {
  if (message?.role !== "user") return [];
  return message.content.flatMap((part): readonly SeenFile[] => {
    if (part.type !== "file") return [];
    const { mediaType, filename: name } = part;
    const data = findBytes(part.data);
    const beginning = isTextType(mediaType) ? quote(data) : undefined;
    return [{ name, mediaType, bytes: data.length, beginning }];
  });
}

/** As the fourth version of the contract wraps them. */
function findBytes(data: unknown): Uint8Array {
  const inner = data instanceof Uint8Array ? data : (data as { readonly data?: unknown } | undefined)?.data;
  return inner instanceof Uint8Array ? inner : new Uint8Array();
}

function quote(data: Uint8Array): string {
  const text = new TextDecoder()
    .decode(data.subarray(0, 4 * MAX_QUOTED))
    .trim()
    .replaceAll(/\s+/g, " ");
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED).toWellFormed()}…`;
}

/** Honest about what it is: it reads no pictures. */
export function sayFiles(files: readonly SeenFile[], language: Language): readonly string[] {
  return files.map(({ name, mediaType, bytes, beginning }) => {
    const size = bytes.toLocaleString("en-US");
    if (language === "zh") {
      const called = name === undefined ? "一个文件" : `文件“${name}”`;
      const seen = `我收到了${called}（${mediaType}，${size} 字节）`;
      if (beginning === undefined) return `${seen}，但离线模型看不到其中的内容。`;
      return beginning === "" ? `${seen}，它是空的。` : `${seen}，它的开头是：“${beginning}”`;
    }
    const called = name === undefined ? "a file" : `the file “${name}”`;
    const seen = `I see ${called} (${mediaType}, ${size} bytes)`;
    if (beginning === undefined) return `${seen}, but an offline model cannot look into it.`;
    return beginning === "" ? `${seen}; it is empty.` : `${seen}. It begins: “${beginning}”`;
  });
}
