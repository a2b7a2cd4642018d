/** Describes the files of a message: names, sizes, and the beginning of text files. */
import { isTextType } from "../describe-file.ts";
import type { ModelMessage } from "../model.ts";
import type { OfflineLanguage } from "./offline-task.ts";
import { shorten } from "../../protocol/cut-text.ts";

export interface SeenFile {
  readonly name: string | undefined;
  readonly mediaType: string;
  readonly bytes: number;
  /** The beginning of a text file; undefined for other files. */
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

/** Version 4 of the specification wraps the bytes in an object. */
function findBytes(data: unknown): Uint8Array {
  const inner = data instanceof Uint8Array ? data : (data as { readonly data?: unknown } | undefined)?.data;
  return inner instanceof Uint8Array ? inner : new Uint8Array();
}

function quote(data: Uint8Array): string {
  const text = new TextDecoder()
    .decode(data.subarray(0, 4 * MAX_QUOTED))
    .trim()
    .replaceAll(/\s+/g, " ");
  return shorten(text, MAX_QUOTED);
}

/** Describes the files for the user. */
export function describeFiles(files: readonly SeenFile[], language: OfflineLanguage): readonly string[] {
  return files.map(({ name, mediaType, bytes, beginning }) => {
    const size = bytes.toLocaleString("en-US");
    if (language === "zh") {
      const called = name === undefined ? "一个文件" : `文件“${name}”`;
      const seen = `我收到了${called}（${mediaType}，${size} 字节）`;
      if (beginning === undefined) return `${seen}，但无法读取这种格式。`;
      return beginning === "" ? `${seen}，文件为空。` : `${seen}，开头是：“${beginning}”`;
    }
    const called = name === undefined ? "a file" : `the file “${name}”`;
    const seen = `I received ${called} (${mediaType}, ${size} bytes)`;
    if (beginning === undefined) return `${seen}, but I cannot read this format.`;
    return beginning === "" ? `${seen}; it is empty.` : `${seen}. It begins: “${beginning}”`;
  });
}
