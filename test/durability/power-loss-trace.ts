/**
 * Reads the file operations of a store from an strace log, and simulates the disk after a power loss: everything that
 * was synced, and any part of the rest, in whole sectors.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

export type Step =
  | { readonly do: "write"; readonly file: string; readonly offset: number; readonly data: Buffer }
  | { readonly do: "truncate"; readonly file: string; readonly length: number }
  | { readonly do: "sync"; readonly file: string }
  | { readonly do: "link" | "rename"; readonly file: string; readonly to: string }
  | { readonly do: "unlink"; readonly file: string }
  | { readonly do: "print"; readonly text: string };

/** System calls to trace: all that change a file. */
export const STRACE = [
  "strace",
  "-f",
  "-y",
  "-xx",
  "-s",
  "20000000",
  "-e",
  "trace=pwrite64,write,ftruncate,fsync,fdatasync,link,linkat,rename,renameat,renameat2,unlink,unlinkat",
];

const SECTOR = 512;

/** Parses a trace. Includes only files whose name starts with that of the store, and writes to standard output. */
export function readTrace(text: string, store: string): Step[] {
  const steps: Step[] = [];
  /** Calls that were interrupted by another thread in the trace. */
  const begun = new Map<string, string>();
  for (const line of text.split("\n")) {
    const found = /^(\d+) +(.*)$/.exec(line);
    if (found === null) continue;
    const [, thread = "", rest = ""] = found;
    if (rest.endsWith("<unfinished ...>")) {
      begun.set(thread, rest.slice(0, -"<unfinished ...>".length));
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const call = resumed === null ? rest : (begun.get(thread) ?? "") + (resumed[1] ?? "");
    const step = readCall(call, store);
    if (step !== undefined) steps.push(step);
  }
  return steps;
}

function readCall(call: string, store: string): Step | undefined {
  // A resumed call has a space before its closing bracket.
  const [, name = "", args = "", result = ""] = /^(\w+)\((.*?) *\) += (-?\d+)/.exec(call) ?? [];
  if (Number(result) < 0) return undefined;
  const file = /^\d+<([^>]*)>/.exec(args)?.[1];
  const path = file === undefined ? undefined : unescape(file);
  const mine = path !== undefined && basename(path).startsWith(basename(store)) ? basename(path) : undefined;
  switch (name) {
    case "write":
      return args.startsWith("1<")
        ? { do: "print", text: readBytes(args).toString("utf8").slice(0, Number(result)) }
        : undefined;
    case "pwrite64": {
      if (mine === undefined || mine.endsWith("-shm")) return undefined;
      const offset = Number(/, (\d+)$/.exec(args)?.[1]);
      return { do: "write", file: mine, offset, data: readBytes(args).subarray(0, Number(result)) };
    }
    case "ftruncate":
      if (mine === undefined || mine.endsWith("-shm")) return undefined;
      return { do: "truncate", file: mine, length: Number(/, (\d+)$/.exec(args)?.[1]) };
    case "fsync":
    case "fdatasync":
      return mine === undefined ? undefined : { do: "sync", file: mine };
    default: {
      const names = [...args.matchAll(/"([^"]*)"/g)].map(([, quoted = ""]) => basename(unescape(quoted)));
      const [from = "", to = ""] = names;
      if (!from.startsWith(basename(store)) || from.endsWith("-shm")) return undefined;
      if (name.startsWith("unlink")) return { do: "unlink", file: from };
      return { do: name.startsWith("link") ? "link" : "rename", file: from, to };
    }
  }
}

function unescape(text: string): string {
  return text.replaceAll(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function readBytes(args: string): Buffer {
  const quoted = /"([^"]*)"/.exec(args)?.[1] ?? "";
  return Buffer.from(quoted.replaceAll("\\x", ""), "hex");
}

interface File {
  data: Buffer;
  length: number;
}

/**
 * Writes the files as a disk may have them when the power fails after `end` steps. File names are taken as they were;
 * only contents may be lost.
 */
export function simulatePowerLoss(steps: readonly Step[], end: number, random: () => number, folder: string): void {
  const files = new Map<string, File>();
  const synced = new Map<string, number>();
  for (const [index, step] of steps.slice(0, end).entries()) if (step.do === "sync") synced.set(step.file, index);
  // The share of unsynced writes that reach the disk.
  const luck = random();
  for (const [index, step] of steps.slice(0, end).entries()) {
    if (step.do === "print" || step.do === "sync") continue;
    const isSafe = index < (synced.get(step.file) ?? -1);
    const file = files.get(step.file) ?? { data: Buffer.alloc(0), length: 0 };
    if (step.do === "write") {
      files.set(step.file, file);
      for (let at = 0; at < step.data.length; at += SECTOR - ((step.offset + at) % SECTOR)) {
        const piece = step.data.subarray(at, at + SECTOR - ((step.offset + at) % SECTOR));
        if (isSafe || random() < luck) put(file, step.offset + at, piece);
      }
    } else if (step.do === "truncate") {
      if (isSafe || random() < luck) put(file, step.length, Buffer.alloc(0), true);
    } else if (step.do === "unlink") {
      files.delete(step.file);
    } else {
      files.set(step.to, file);
      if (step.do === "rename") files.delete(step.file);
    }
  }
  mkdirSync(folder, { recursive: true });
  for (const [name, { data, length }] of files) writeFileSync(join(folder, name), data.subarray(0, length));
}

function put(file: File, offset: number, piece: Buffer, cut = false): void {
  const end = offset + piece.length;
  if (end > file.data.length) {
    const larger = Buffer.alloc(Math.max(end, file.data.length * 2));
    file.data.copy(larger);
    file.data = larger;
  }
  if (cut) file.data.fill(0, offset);
  piece.copy(file.data, offset);
  file.length = cut ? offset : Math.max(file.length, end);
}
