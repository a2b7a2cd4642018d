// Error texts are part of what users see: a change of the code must not make one less specific. Bad inputs of all kinds are
// sent to the library, to the server and to the command line. What comes back (code or status, text and details) is
// compared with golden files. `npx vitest run test/bad-inputs -u` renews them: read the difference as a user would.
import { describe, expect, it } from "vitest";
import { COMMAND_INPUTS } from "./command-inputs.ts";
import { describeRefusals } from "./describe-refusal.ts";
import { createHttpInputs } from "./http-inputs.ts";
import { LIBRARY_INPUTS } from "./library-inputs.ts";
import { RUN_FAILURES } from "./run-failures.ts";

describe("a bad input is refused with the same code, text and details as before", () => {
  it("in the library", async () => {
    await expect(await describeRefusals(LIBRARY_INPUTS)).toMatchFileSnapshot("library.golden.txt");
  });

  it("in a run and on a control connection", async () => {
    await expect(await describeRefusals(RUN_FAILURES)).toMatchFileSnapshot("runs.golden.txt");
  });

  it("by the server", async () => {
    await expect(await describeRefusals(createHttpInputs())).toMatchFileSnapshot("http.golden.txt");
  });

  it("by the command line", async () => {
    await expect(await describeRefusals(COMMAND_INPUTS)).toMatchFileSnapshot("commands.golden.txt");
  });
});
