import type { Log } from "../../src/log/index.ts";

/** Reads all records of a session as they are stored. */
export async function readTexts(log: Log, session: string): Promise<readonly string[]> {
  const texts: string[] = [];
  for (;;) {
    const page = await log.read(session, { after: texts.length });
    if (page.isEmpty) return texts;
    texts.push(...page.texts);
  }
}
