// A chat server with Express.
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import express, { type Response as ExpressResponse } from "express";
import { readChat, readRun, sendMessage, stopRun } from "./chat.ts";

const app = express();

app.get("/", (_request, response) => response.sendFile(join(import.meta.dirname, "page.html")));
app.get("/chats/:id", async (request, response) => {
  response.json(await readChat(request.params.id));
});
app.post("/chats/:id", express.json(), async (request, response) => {
  const { message } = request.body as { readonly message: string };
  await send(await sendMessage(request.params.id, message), response);
});
app.get("/chats/:id/stream", async (request, response) => {
  const { run } = request.query as { readonly run?: string };
  await send(await readRun(request.params.id, run, request.get("last-event-id")), response);
});
app.post("/chats/:id/stop", async (request, response) => {
  await stopRun(request.params.id);
  response.sendStatus(204);
});

/** Sends a web `Response` with Express. */
async function send({ status, headers, body }: Response, response: ExpressResponse): Promise<void> {
  response.status(status).setHeaders(headers).flushHeaders();
  if (body === null) response.end();
  // A client that leaves is not an error.
  else await pipeline(body, response).catch(() => undefined);
}

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
