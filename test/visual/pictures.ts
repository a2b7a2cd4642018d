/** The pictures that are stored and compared. Few and small: they are part of the repository. */
import { join } from "node:path";
import { packageRoot } from "../source-files.ts";
import type { PictureOptions } from "./catalogue-fixture.ts";

export const PICTURE_FOLDER = join(packageRoot, "test", "visual", "pictures");

const DARK = { theme: "dark" } as const;
const CHINESE = { language: "zh" } as const;
const PHONE = { width: 390 } as const;

export const PICTURES: readonly PictureOptions[] = [
  { component: "conversation", state: "pending" },
  { component: "run", state: "finished" },
  { component: "run", state: "streaming", ...DARK },
  { component: "run", state: "failed", ...CHINESE },
  { component: "run", state: "cancelled", ...PHONE },
  { component: "run", state: "versions", ...DARK, ...CHINESE },
  { component: "run", state: "long" },
  { component: "restarted run", state: "finished" },
  { component: "citation", state: "finished" },
  { component: "highlighted text", state: "finished", ...DARK, ...CHINESE },
  { component: "thinking", state: "streaming" },
  { component: "thinking", state: "open", ...DARK, ...CHINESE },
  { component: "thinking", state: "long" },
  { component: "tool", state: "running" },
  { component: "tool", state: "finished", ...DARK },
  { component: "tool", state: "failed", ...CHINESE },
  { component: "approval", state: "waiting" },
  { component: "approval", state: "waiting for another tool", ...DARK, ...PHONE },
  { component: "approval", state: "rejected", ...CHINESE },
  { component: "to-do list", state: "started", ...CHINESE },
  { component: "error", state: "failed", ...DARK },
  { component: "error", state: "recoverable" },
  { component: "sources", state: "open" },
  { component: "image", state: "blocked" },
  { component: "table", state: "finished" },
  { component: "table", state: "long", ...DARK, ...PHONE },
  { component: "chart", state: "bar" },
  { component: "data", state: "finished", ...DARK },
  { component: "text", state: "finished" },
  { component: "text", state: "finished", ...DARK, ...CHINESE },
  { component: "code", state: "finished" },
  { component: "formula", state: "finished", ...DARK },
  { component: "text table", state: "finished", ...PHONE },
  { component: "tree of thoughts", state: "open" },
  { component: "graph of thoughts", state: "failed", ...DARK },
  { component: "button", state: "all" },
  { component: "indicators", state: "all", ...DARK },
  { component: "page start", state: "finished" },
  { component: "page composer", state: "attachments", ...PHONE, ...DARK },
  { component: "page sessions", state: "drawer", ...PHONE, ...CHINESE },
  { component: "page dialogs", state: "settings", ...DARK },
  { component: "page dialogs", state: "knowledge", ...CHINESE },
  { component: "page inspector", state: "finished" },
];

/** Name of the file, without its ending. */
export function namePicture({ component, state, theme, language, width }: PictureOptions): string {
  const parts = [component, state, theme, language, width === undefined ? undefined : String(width)];
  return parts
    .filter((part) => part !== undefined)
    .join("-")
    .replaceAll(" ", "-");
}
