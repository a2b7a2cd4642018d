import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { describeHolder, isHolderGone } from "./holder.ts";

const HIGHEST_PID = 2_147_483_646;

/** A holder on this machine with another pid or start time. */
function describeOther({ pid, start }: { pid?: number; start?: string }): string {
  const [machine, ownPid, ownStart] = describeHolder().split("/");
  return [machine, pid ?? ownPid, start ?? ownStart, 1].join("/");
}

describe("a holder", () => {
  test("has a unique, short name", () => {
    const [first, second] = [describeHolder(), describeHolder()];
    expect(first).not.toBe(second);
    expect(first.split("/")).toHaveLength(4);
    expect(first.length).toBeLessThan(200);
  });

  test("of this process is alive", () => {
    expect(isHolderGone(describeHolder())).toBe(false);
  });

  test("with an unused pid is gone", () => {
    expect(isHolderGone(describeOther({ pid: HIGHEST_PID }))).toBe(true);
  });

  test("whose pid belongs to another process is gone", () => {
    if (existsSync("/proc/self/stat")) expect(isHolderGone(describeOther({ start: "1" }))).toBe(true);
  });

  test("with an unknown start time is alive while its pid is in use", () => {
    expect(isHolderGone(describeOther({ start: "" }))).toBe(false);
    expect(isHolderGone(describeOther({ pid: HIGHEST_PID, start: "" }))).toBe(true);
  });

  test("on another machine or with another name format may be alive", () => {
    const names = ["", "another", "a/b", "other-machine/1/1/1", `other-machine/${HIGHEST_PID}/1/1`, "////"];
    for (const name of names) expect(isHolderGone(name)).toBe(false);
    const [machine] = describeHolder().split("/");
    for (const pid of ["", "0", "-1", "1x", "1.5", "1e3", " 1", "NaN"])
      expect(isHolderGone(`${machine}/${pid}/1/1`)).toBe(false);
  });

  test("in another process is gone once that process is killed", async () => {
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
