// Runs the log contract for the log in memory.
import { describeLog } from "../../test/contracts/log/log.ts";
import { MemoryLog } from "./memory-log.ts";

describeLog("memory", {
  open: async (options) => new MemoryLog(options),
  second: async (log) => log,
});
