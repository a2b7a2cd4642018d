/** Checks the store: whether it can be used, the space on its disk, and the clock of a database. */
import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { openPostgres } from "../../postgres/postgres-database.ts";
import type { PostgresOptions } from "../../postgres/postgres-options.ts";
import { isLoomError } from "../../protocol/index.ts";
import { adviseOnStore } from "../explain-error.ts";
import { fileExists, hideCredentials, isDatabase, rejectMemory } from "../find-store.ts";
import { plural } from "../fit-text.ts";
import { readStatus } from "../store/show-status.ts";
import { compareClocks, type DoctorFinding, report } from "./doctor-finding.ts";

const LOW_BYTES = 1024 ** 3;

export async function checkStore(store: string, options: PostgresOptions): Promise<readonly DoctorFinding[]> {
  rejectMemory(store);
  if (!isDatabase(store)) return [await checkFile(resolve(store))];
  const found = await checkContents(store, options, hideCredentials(store));
  return found.status === "failed" ? [found] : [found, await checkDatabaseClock(store, options)];
}

async function checkFile(file: string): Promise<DoctorFinding> {
  const isThere = fileExists(file);
  const folder = findFolder(file);
  try {
    accessSync(isThere ? file : folder, constants.W_OK);
  } catch {
    const advice = `give this user write permission for ${isThere ? file : folder}, or choose another store with LOOM_STORE`;
    return report("store", "failed", `${file} cannot be written`, advice);
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = `${((bavail * bsize) / 1024 ** 3).toFixed(1)} GiB free`;
  const found: DoctorFinding = isThere
    ? await checkContents(file, {}, file)
    : report("store", "ok", `${file} does not exist yet; the first run creates it`);
  const message = `${found.message}; ${free}`;
  if (found.status !== "ok" || bavail * bsize >= LOW_BYTES) return { ...found, message };
  return report("store", "warning", message, "free some space: runs fail when the disk is full");
}

/** The next folder upward that exists. */
function findFolder(file: string): string {
  const folder = dirname(file);
  return existsSync(folder) || folder === dirname(folder) ? folder : findFolder(folder);
}

async function checkContents(store: string, options: PostgresOptions, shown: string): Promise<DoctorFinding> {
  const { status, problem } = await readStatus(store, options);
  if (problem !== undefined) {
    const advice = adviseOnStore(problem, isDatabase(store));
    return report("store", "failed", `${shown}: ${problem.message}`, advice);
  }
  const { sessions = 0, liveRuns = 0 } = status?.counts ?? {};
  return report("store", "ok", `${shown}: ${plural(sessions, "session")}, ${plural(liveRuns, "live run")}`);
}

async function checkDatabaseClock(store: string, options: PostgresOptions): Promise<DoctorFinding> {
  const db = await openPostgres(store, options);
  try {
    const before = Date.now();
    const [row] = await db.read<{ now: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now",
    );
    return compareClocks("the database", row?.now ?? Number.NaN, before, Date.now());
  } catch (error) {
    if (!isLoomError(error)) throw error;
    return report("clock", "warning", `not compared with the database: ${error.message}`);
  } finally {
    await db.close();
  }
}
