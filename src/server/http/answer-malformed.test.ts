import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { answerMalformed } from "./answer-malformed.ts";

/** Returns everything received until the server closes the connection. */
async function send(pieces: readonly string[]): Promise<string> {
  const server = createServer({ headersTimeout: 300, connectionsCheckingInterval: 50, maxHeaderSize: 2048 });
  answerMalformed(server);
  server.on("request", (_, outgoing) => void outgoing.write("data: 1\n\n"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  let received = "";
  socket.on("data", (piece) => (received += String(piece)));
  socket.on("error", () => undefined);
  const closed = once(socket, "close");
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await closed;
  return received;
}

it.each<[fault: string, text: string, status: number, code: string]>([
  ["is unreadable", "\u0016\u0003\u0001\u0002\r\n\r\n", 400, "invalid_request"],
  [
    "has two content lengths",
    "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    400,
    "invalid_request",
  ],
  ["has oversized headers", `GET / HTTP/1.1\r\nhost: h\r\nx: ${"y".repeat(9000)}\r\n\r\n`, 431, "invalid_request"],
  ["takes too long", "GET / HTTP/1.1\r\nhost:", 408, "request_timeout"],
  ["has an unsupported Expect header", "GET / HTTP/1.1\r\nhost: h\r\nexpect: more\r\n\r\n", 417, "unsupported"],
])("answers a request that %s with a problem document", async (_fault, text, status, code) => {
  const answer = await send([text]);
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(head.toLowerCase()).toContain("content-type: application/problem+json");
  expect(JSON.parse(body)).toMatchObject({ status, code, type: `urn:loom:problem:${code}` });
});

it("writes nothing into a response in progress", async () => {
  const answer = await send(["GET / HTTP/1.1\r\nhost: h\r\n\r\n", "\u0016nonsense\r\n\r\n"]);
  expect(answer).toContain("data: 1");
  expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  expect(answer).not.toContain("problem");
});
