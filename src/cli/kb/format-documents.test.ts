import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DocumentInfo, SearchHit } from "../../context/index.ts";
import { parseCommand, usageOf } from "../command.ts";
import { measureColumns } from "../fit-text.ts";
import { formatDocument, formatHit } from "./format-documents.ts";
import { KB } from "./kb-commands.ts";

const style = (_style: unknown, text: string): string => text;
const hit: SearchHit = {
  title: "潮汐",
  content: "",
  collection: "sea",
  uri: "/home/me/documents/潮汐.md",
  score: 0.5,
  snippet: "月亮吸引海水，每天两次。 The moon pulls the sea.",
  firstLine: 3,
  lastLine: 4,
  headings: [],
};
const document = { collection: "sea", title: "潮汐", uri: hit.uri } as DocumentInfo;

describe("formatting documents", () => {
  it("uses columns and keeps the end of a path", () => {
    expect(formatDocument(document, { columns: 40, style })).toBe("sea       潮汐            …ments/潮汐.md");
    expect(formatDocument(document, { columns: undefined, style })).toBe(`sea\t潮汐\t${hit.uri}`);
  });

  it("wraps where the script allows it, and starts no line with closing punctuation", () => {
    expect(formatHit(hit, 1, { columns: 16, style }).split("\n")).toEqual([
      "[1] 潮汐  sea, 0.50",
      "    …潮汐.md:3-4",
      "    月亮吸引海",
      "    水，每天两",
      "    次。 The",
      "    moon pulls",
      "    the sea.",
    ]);
  });

  it("fits every width", () => {
    const text = fc.string({ unit: "binary", maxLength: 80 });
    fc.assert(
      fc.property(text, text, text, fc.integer({ min: 30, max: 120 }), (title, uri, snippet, columns) => {
        const lines = [
          formatDocument({ ...document, title, uri }, { columns, style }),
          ...formatHit({ ...hit, title, uri, snippet }, 1, { columns, style }).split("\n"),
        ];
        for (const line of lines) {
          expect(measureColumns(line)).toBeLessThanOrEqual(columns);
          expect(line).not.toMatch(/\p{Cc}/u);
        }
      }),
      { numRuns: 50, seed: 7 },
    );
  });
});

describe("the commands of loom kb", () => {
  it("parses commands and arguments", () => {
    const parsed = parseCommand(KB, ["search", "--limit", "3", "how", "to", "sail"]);
    expect([parsed.command.name, parsed.arguments, parsed.options["limit"]]).toEqual([
      "kb search",
      ["how", "to", "sail"],
      "3",
    ]);
    expect(parseCommand(KB, ["--help"]).command).toBe(KB);
    expect(parseCommand(KB, ["add", "--help"]).options["help"]).toBe(true);
  });

  it.each<[readonly string[], RegExp]>([
    [[], /needs a command/],
    [["ad"], /unknown command `loom kb ad`/],
    [["add"], /needs PATH/],
    [["search"], /needs QUERY/],
    [["list", "x"], /unexpected argument/],
    [["list", "--limit", "3"], /unknown option `--limit`/],
    [["--json", "list"], /unknown command `loom kb --json`/],
  ])("rejects %o", (argv, message) => {
    expect(() => parseCommand(KB, argv)).toThrow(message);
  });

  it("fits the help to the window", () => {
    for (const command of [KB, ...(KB.subcommands ?? [])])
      for (const line of usageOf(command, 60)
        .split("\n")
        .filter((one) => !one.startsWith("  loom")))
        expect(measureColumns(line)).toBeLessThanOrEqual(60);
  });
});
