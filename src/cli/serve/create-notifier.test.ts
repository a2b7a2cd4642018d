import { expect, it, vi } from "vitest";
import type { LoggerLike } from "../../observe/index.ts";
import type { Notice } from "../../server/index.ts";
import { createNotifier } from "./create-notifier.ts";

it.each<[Notice, string]>([
  [
    { what: "origin_refused", name: "https://app.example.com", option: "origins", allow: "https://app.example.com" },
    "refused: asked by a page of https://app.example.com; " +
      "if that is right, set LOOM_ORIGINS=https://old.example.com,https://app.example.com",
  ],
  [
    { what: "host_refused", name: "loom.lan:10338", option: "hosts", allow: "loom.lan:10338" },
    "refused: asked by the name loom.lan:10338; if that is right, set LOOM_HOSTS=loom.lan:10338",
  ],
  [{ what: "origin_refused", name: "null", option: "origins" }, 'refused: asked by a page of "null"'],
  [{ what: "host_refused", name: "a\nb", option: "hosts" }, String.raw`refused: asked by the name "a\nb"`],
])("says what to set: %o", (notice, message) => {
  const warn = vi.fn();
  const logger = { warn } as unknown as LoggerLike;
  createNotifier(logger, { origins: ["https://old.example.com"], hosts: [] })(notice);
  expect(warn).toHaveBeenCalledExactlyOnceWith({}, message);
});
