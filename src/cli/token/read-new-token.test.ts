import { expect, it } from "vitest";
import { CliError, parseCommand } from "../command.ts";
import { readNewToken } from "./read-new-token.ts";
import { TOKEN } from "./token-commands.ts";

const NOW = 1_000_000;
const read = (...args: readonly string[]) => readNewToken(parseCommand(TOKEN, ["create", ...args]), NOW);

it("reads the options of a new token", () => {
  expect(read("ci")).toEqual({ name: "ci", limits: {} });
  const lists = ["--scopes", "run, read", "--agents", "react,tot", "--tools", "write_file=deny, *=ask"];
  expect(read("ci", "--owner", "team", "--expires", "12h", ...lists, "--limits", "max-streams=3")).toEqual({
    name: "ci",
    owner: "team",
    scopes: ["run", "read"],
    agents: ["react", "tot"],
    tools: { write_file: "deny", "*": "ask" },
    limits: { maxStreams: 3 },
    expiresAt: NOW + 12 * 3_600_000,
  });
});

it.each<[readonly string[], string]>([
  [[], "`loom token create` needs NAME"],
  [["a", "b"], "unexpected argument `b`"],
  [["a", "--scopes", "read,root"], "unknown scope `root`"],
  [["a", "--scopes", "read,,run"], "`--scopes` must be a comma-separated list"],
  [["a", "--expires", "30"], "`--expires 30` is not a duration"],
  [["a", "--expires", "-1d"], "is not a duration"],
  [["a", "--expires", "99999d"], "at most 100 years"],
  [["a", "--tools", "fetch=maybe"], "`fetch=maybe` is not a rule"],
  [["a", "--tools", "fetch"], "`fetch` is not a rule"],
  [["a", "--tools", "fetch=ask,fetch=deny"], "two rules for `fetch`"],
  [["a", "--limits", "max-runs=0"], "`max-runs=0` is not a number of at least 1"],
  [["a", "--limits", "tokens-per-day=1e6"], "`tokens-per-day=1e6` is not a number"],
  [["a", "--limits", "max-runs"], "`max-runs` is not a number"],
  [["a", "--limits", "max-runs=1,max-runs=2"], "`max-runs` is given twice"],
  [["a", "--limits", "max-run=1"], "unknown limit `max-run`"],
  [["a", "--max-runs", "1"], "unknown option `--max-runs`"],
  [["a", "--agents", ","], "must be a comma-separated list"],
])("rejects %j", (args, message) => {
  expect(() => read(...args)).toThrow(CliError);
  expect(() => read(...args)).toThrow(message);
});
