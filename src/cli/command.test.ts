import { describe, expect, test } from "vitest";
import { type CliCommand, usageOf } from "./command.ts";
import { CHECK, CONVERT, DEMO, RUN, SCHEMA } from "./commands.ts";
import { measureColumns } from "./fit-text.ts";
import { KB, KB_ADD, KB_LIST, KB_REMOVE, KB_SEARCH } from "./kb/kb-commands.ts";

const COMMANDS: readonly CliCommand[] = [RUN, CONVERT, CHECK, SCHEMA, DEMO, KB, KB_ADD, KB_LIST, KB_SEARCH, KB_REMOVE];

describe("usageOf", () => {
  test.each(COMMANDS.flatMap((command) => [40, 60, 80].map((width) => [command.name, width, command] as const)))(
    "fits %i columns for %s",
    (_, width, command) => {
      // Examples are not wrapped, so that they can be copied.
      const [text = ""] = usageOf(command, width).split("Examples:\n");
      // A word wider than the window cannot be wrapped.
      const long = text.split("\n").filter((line) => measureColumns(line) > width && line.trim().includes(" "));
      expect(
        long.filter((line) =>
          line
            .trim()
            .split(" ")
            .every((word) => word.length < width - 6),
        ),
      ).toEqual([]);
    },
  );
});
