/** Logs requests rejected because of their Host or Origin header, with the setting that would allow them. */
import type { LoggerLike } from "../../observe/logs/create-log-observer.ts";
import type { Notice, Notify } from "../../server/guard/notice.ts";
import type { Settings } from "./settings.ts";

export function createNotifier(logger: LoggerLike, settings: Pick<Settings, "origins" | "hosts">): Notify {
  return (notice) => {
    // The command allows requests without authentication by its own checks.
    if (notice.option !== "auth") logger.warn({}, describeNotice(notice, settings[notice.option]));
  };
}

/** The suggested setting includes the current values, so it can be copied as is. */
function describeNotice({ kind, name, option, allow }: Notice, allowed: readonly string[]): string {
  const header = kind === "host_refused" ? "host" : "origin";
  const refused = `rejected a request: ${header} ${allow ?? JSON.stringify(name)} is not allowed`;
  if (allow === undefined) return refused;
  return `${refused}; to allow it, set LOOM_${option.toUpperCase()}=${[...allowed, allow].join(",")}`;
}
