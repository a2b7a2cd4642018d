/** Imports a folder and prints a line for each file. The test kills it midway or runs two at once. */
import { openKnowledgeBase } from "../../src/context/index.ts";

const [file = "", folder = ""] = process.argv.slice(2);
await using base = await openKnowledgeBase(file, { busyTimeoutMs: 30_000 });
await base.add(folder, { onProgress: (done) => process.stdout.write(`${done}\n`) });
