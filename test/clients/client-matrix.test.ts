// Real clients of AG-UI, TanStack AI and the OpenAI APIs, unmodified, each with the same cases. The AI SDK has them in
// test/ai-sdk/versions.test.ts, assistant-ui in assistant-ui.test.ts there, and serve-kill.test.ts kills the server of all.
import { afterAll, beforeAll, describe, it } from "vitest";
import { MemoryLog } from "../../src/log/index.ts";
import { AG_UI_CLIENTS, TANSTACK_CLIENTS } from "./ag-ui-clients.ts";
import { OPENAI_CLIENTS } from "./openai-clients.ts";
import { type CaseServer, listCases } from "./client-cases.ts";
import { startScriptedServer } from "./scripted-server.ts";
import { sampleTests } from "../sample-tests.ts";

describe.concurrent.each([...AG_UI_CLIENTS, ...TANSTACK_CLIENTS, ...OPENAI_CLIENTS])("$name", (client) => {
  sampleTests();
  let server: CaseServer & Awaited<ReturnType<typeof startScriptedServer>>;

  beforeAll(async () => {
    const log = new MemoryLog();
    server = { ...(await startScriptedServer(log)), log };
  });
  afterAll(() => server.close({ graceMs: 0 }));

  it.each(listCases(client))("%s", { concurrent: false }, (_name, run) => run(client, server));
});
