/** Imports a folder, and says when a file is in the base; to be killed in the middle, or run beside another. */
import { openKnowledgeBase } from "../../src/context/index.ts";

const [file = "", folder = ""] = process.argv.slice(2);
await using base = await openKnowledgeBase(file, { busyTimeoutMs: 30_000 });
await base.add(folder, { onProgress: (done) => process.stdout.write(`${done}\n`) });
