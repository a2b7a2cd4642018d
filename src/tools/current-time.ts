/** The `current_time` tool. The clock is an option, so that runs can be reproduced. */
import { LoomError } from "../protocol/index.ts";
import { FUNCTION_OPTION, type OptionTable, readOptions, TEXT_OPTION, withDefault } from "../protocol/read-options.ts";
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import { nameSubject } from "./summarize-tool.ts";
import { toolResult } from "./tool-result.ts";
import type { Tool } from "./tool.ts";

/** Options of `createCurrentTimeTool`. */
export interface CurrentTimeOptions {
  /** Clock, in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
  /** IANA time zone used if a call names none. Default: the time zone of the machine. */
  readonly timeZone?: string;
}

const TIME_OPTIONS = {
  now: withDefault<() => number>(FUNCTION_OPTION, () => Date.now()),
  timeZone: TEXT_OPTION,
} as const satisfies OptionTable<CurrentTimeOptions>;

/**
 * Creates the `current_time` tool, which returns the date and time in any time zone.
 *
 * Throws `tool_invalid` if `timeZone` does not exist, and `invalid_arguments` for a wrong option.
 */
export function createCurrentTimeTool(options: CurrentTimeOptions = {}): Tool {
  const { now, timeZone: usual } = readOptions(TIME_OPTIONS, options);
  if (usual !== undefined && readTime(0, usual) === undefined)
    throw new LoomError(
      "tool_invalid",
      `Unknown time zone ${JSON.stringify(usual)}; use an IANA name, such as Asia/Shanghai or UTC`,
    );
  return defineTool({
    name: "current_time",
    title: { en: "Get the current time", zh: "获取当前时间" },
    summarize: ({ time_zone }) => nameSubject({ en: "Get the current time", zh: "获取当前时间" }, time_zone),
    description:
      "Returns the current date and time, in any time zone. Use it whenever an answer depends on the current date or time.",
    input: describeInput<{ time_zone?: string }>({
      type: "object",
      properties: {
        time_zone: {
          type: "string",
          maxLength: 100,
          description: "IANA name, such as Asia/Shanghai, Europe/Berlin or UTC. Default: the user's time zone",
        },
      },
    }),
    idempotent: true,
    execute: ({ time_zone }) => {
      const time = readTime(now(), time_zone ?? usual);
      if (time === undefined)
        return toolResult({
          text: `Unknown time zone ${JSON.stringify(time_zone)}. Use an IANA name, such as Asia/Shanghai or UTC.`,
          isError: true,
        });
      const { iso, weekday, timeZone } = time;
      const text = `${weekday}, ${iso.slice(0, 10)}, ${iso.slice(11, 19)} in ${timeZone} (${iso})`;
      const shown = `${iso.slice(0, 10)} ${iso.slice(11, 16)} (${timeZone})`;
      return toolResult({
        text,
        output: { iso, weekday, time_zone: timeZone, unix_ms: time.at },
        summary: nameSubject({ en: "Got the current time", zh: "已获取当前时间" }, shown),
      });
    },
  });
}

interface ZonedTime {
  readonly at: number;
  /** With the offset of the time zone. */
  readonly iso: string;
  readonly weekday: string;
  readonly timeZone: string;
}

/** Returns undefined if the time zone does not exist. */
function readTime(at: number, timeZone: string | undefined): ZonedTime | undefined {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-GB", {
      ...(timeZone === undefined ? {} : { timeZone }),
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      weekday: "long",
      hourCycle: "h23",
      timeZoneName: "longOffset",
    });
  } catch {
    return undefined;
  }
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const { year = "", month, day, hour, minute, second, weekday = "", timeZoneName = "" } = parts;
  // The name is `GMT+08:00`; for UTC it is `GMT` or `GMT+00:00`.
  const given = timeZoneName.slice(3);
  const offset = given === "" || given === "+00:00" ? "Z" : given;
  const iso = `${year.padStart(4, "0")}-${month}-${day}T${hour}:${minute}:${second}${offset}`;
  return { at, iso, weekday, timeZone: format.resolvedOptions().timeZone };
}
