// A chat server with Hono.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { readChat, readRun, sendMessage, stopRun } from "./chat.ts";

const page = readFileSync(join(import.meta.dirname, "page.html"), "utf8");
const app = new Hono();

app.get("/", (context) => context.html(page));
app.get("/chats/:id", async (context) => context.json(await readChat(context.req.param("id"))));
app.post("/chats/:id", async (context) => {
  const { message } = await context.req.json<{ readonly message: string }>();
  return sendMessage(context.req.param("id"), message);
});
app.get("/chats/:id/stream", (context) =>
  readRun(context.req.param("id"), context.req.query("run"), context.req.header("last-event-id")),
);
app.post("/chats/:id/stop", async (context) => {
  await stopRun(context.req.param("id"));
  return context.body(null, 204);
});

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}`),
);
