import { describe, expect, test } from "vitest";
import { type Command, usageOf } from "./command.ts";
import { CHECK, CONVERT, DEMO, RUN, SCHEMA } from "./commands.ts";
import { measureColumns } from "./fit-text.ts";
import { KB, KB_ADD, KB_LIST, KB_REMOVE, KB_SEARCH } from "./kb/kb-commands.ts";

const COMMANDS: readonly Command[] = [RUN, CONVERT, CHECK, SCHEMA, DEMO, KB, KB_ADD, KB_LIST, KB_SEARCH, KB_REMOVE];

describe("the usage of a command", () => {
  test.each(COMMANDS.flatMap((command) => [40, 60, 80].map((width) => [command.name, width, command] as const)))(
    "%s fits %i columns",
    (_, width, command) => {
      // Examples are to be typed as they are.
      const [text = ""] = usageOf(command, width).split("Examples:\n");
      // A word that is wider than the window cannot be helped.
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
