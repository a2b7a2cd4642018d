import { expect, it, vi } from "vitest";
import type { LoggerLike } from "../../observe/logs/create-log-observer.ts";
import type { Notice } from "../../server/guard/notice.ts";
import { createNotifier } from "./create-notifier.ts";

it.each<[Notice, string]>([
  [
    { kind: "origin_refused", name: "https://app.example.com", option: "origins", allow: "https://app.example.com" },
    "rejected a request: origin https://app.example.com is not allowed; " +
      "to allow it, set LOOM_ORIGINS=https://old.example.com,https://app.example.com",
  ],
  [
    { kind: "host_refused", name: "loom.lan:10338", option: "hosts", allow: "loom.lan:10338" },
    "rejected a request: host loom.lan:10338 is not allowed; to allow it, set LOOM_HOSTS=loom.lan:10338",
  ],
  [{ kind: "origin_refused", name: "null", option: "origins" }, 'rejected a request: origin "null" is not allowed'],
  [{ kind: "host_refused", name: "a\nb", option: "hosts" }, String.raw`rejected a request: host "a\nb" is not allowed`],
])("suggests the setting that allows the request: %o", (notice, message) => {
  const warn = vi.fn();
  const logger = { warn } as unknown as LoggerLike;
  createNotifier(logger, { origins: ["https://old.example.com"], hosts: [] })(notice);
  expect(warn).toHaveBeenCalledExactlyOnceWith({}, message);
});
