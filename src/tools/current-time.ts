/** The current time as a tool: models do not know it. The clock is given, so that a run can be repeated. */
import { LoomError } from "../protocol/index.ts";
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import { toolResult } from "./tool-result.ts";
import type { Tool } from "./tool.ts";

export interface CurrentTimeOptions {
  /** Milliseconds since 1970; `Date.now` when absent. */
  readonly now?: () => number;
  /** Where no time zone is asked for; that of the machine when absent. */
  readonly timeZone?: string;
}

/** Throws `tool_invalid` where the usual time zone does not exist. */
export function createCurrentTimeTool({ now = Date.now, timeZone: usual }: CurrentTimeOptions = {}): Tool {
  if (readTime(0, usual) === undefined)
    throw new LoomError("tool_invalid", `there is no time zone ${JSON.stringify(usual)}`);
  return defineTool({
    name: "current_time",
    description: "The current date and time, in any time zone. Use it whenever an answer depends on now or today.",
    input: describeInput<{ time_zone?: string }>({
      type: "object",
      properties: {
        time_zone: {
          type: "string",
          maxLength: 100,
          description: "IANA name, such as Asia/Shanghai, Europe/Berlin or UTC; the user's own when absent",
        },
      },
    }),
    idempotent: true,
    execute: ({ time_zone }) => {
      const time = readTime(now(), time_zone ?? usual);
      if (time === undefined)
        return toolResult({
          text: `There is no time zone ${JSON.stringify(time_zone)}. Use an IANA name, such as Asia/Shanghai or UTC.`,
          isError: true,
        });
      const { iso, weekday, timeZone } = time;
      const text = `${weekday}, ${iso.slice(0, 10)}, ${iso.slice(11, 19)} in ${timeZone} (${iso})`;
      return toolResult({ text, output: { iso, weekday, time_zone: timeZone, unix_ms: time.at } });
    },
  });
}

interface Time {
  readonly at: number;
  /** With the offset of the time zone. */
  readonly iso: string;
  readonly weekday: string;
  readonly timeZone: string;
}

/** Undefined when the time zone does not exist. */
function readTime(at: number, timeZone: string | undefined): Time | undefined {
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
  // `GMT+08:00`; `GMT` alone, or with zeros, where there is no offset.
  const given = timeZoneName.slice(3);
  const offset = given === "" || given === "+00:00" ? "Z" : given;
  const iso = `${year.padStart(4, "0")}-${month}-${day}T${hour}:${minute}:${second}${offset}`;
  return { at, iso, weekday, timeZone: format.resolvedOptions().timeZone };
}
