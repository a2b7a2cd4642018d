import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { describeHolder, isHolderGone } from "./holder.ts";

const HIGHEST_PID = 2_147_483_646;

/** A writer of this machine with another process number, or another start. */
function describeOther({ pid, start }: { pid?: number; start?: string }): string {
  const [machine, ownPid, ownStart] = describeHolder().split("/");
  return [machine, pid ?? ownPid, start ?? ownStart, 1].join("/");
}

describe("a holder", () => {
  test("is named once, and holds no more than a name may", () => {
    const [first, second] = [describeHolder(), describeHolder()];
    expect(first).not.toBe(second);
    expect(first.split("/")).toHaveLength(4);
    expect(first.length).toBeLessThan(200);
  });

  test("of this process is there", () => {
    expect(isHolderGone(describeHolder())).toBe(false);
  });

  test("whose process number nobody has is gone", () => {
    expect(isHolderGone(describeOther({ pid: HIGHEST_PID }))).toBe(true);
  });

  test("whose process number somebody else has by now is gone", () => {
    if (existsSync("/proc/self/stat")) expect(isHolderGone(describeOther({ start: "1" }))).toBe(true);
  });

  test("of which nobody said when it began is taken to be there while its number is in use", () => {
    expect(isHolderGone(describeOther({ start: "" }))).toBe(false);
    expect(isHolderGone(describeOther({ pid: HIGHEST_PID, start: "" }))).toBe(true);
  });

  test("may be there where it cannot be told: another machine, or a name of another make", () => {
    const names = ["", "somebody", "a/b", "other-machine/1/1/1", `other-machine/${HIGHEST_PID}/1/1`, "////"];
    for (const name of names) expect(isHolderGone(name)).toBe(false);
    const [machine] = describeHolder().split("/");
    for (const pid of ["", "0", "-1", "1x", "1.5", "1e3", " 1", "NaN"])
      expect(isHolderGone(`${machine}/${pid}/1/1`)).toBe(false);
  });

  test("of another process is there while that lives, and gone once it was killed", async () => {
    const module = new URL("./holder.ts", import.meta.url).href;
    const program = `import { describeHolder } from ${JSON.stringify(module)};
      process.stdout.write(describeHolder());
      setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    const [name] = (await once(child.stdout, "data")) as [Buffer];
    expect(isHolderGone(name.toString())).toBe(false);
    child.kill("SIGKILL");
    await exited;
    expect(isHolderGone(name.toString())).toBe(true);
  });
});
