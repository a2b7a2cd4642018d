/** Tells whoever runs a server of pages and names that it turned away, with the setting to add where they are welcome. */
import type { LoggerLike } from "../../observe/index.ts";
import type { Notice, Notify } from "../../server/index.ts";
import type { Settings } from "./settings.ts";

export function createNotifier(logger: LoggerLike, settings: Pick<Settings, "origins" | "hosts">): Notify {
  return (notice) => {
    logger.warn({}, describeNotice(notice, settings[notice.option]));
  };
}

/** The setting is whole: it can be copied as it is. */
function describeNotice({ what, name, option, allow }: Notice, allowed: readonly string[]): string {
  const who = what === "host_refused" ? "asked by the name" : "asked by a page of";
  const refused = `refused: ${who} ${allow ?? JSON.stringify(name)}`;
  if (allow === undefined) return refused;
  return `${refused}; if that is right, set LOOM_${option.toUpperCase()}=${[...allowed, allow].join(",")}`;
}
