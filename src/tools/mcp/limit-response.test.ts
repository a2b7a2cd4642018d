import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limitResponses } from "./limit-response.ts";

const LIMIT = 20;

function cut(text: string, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  const bytes = new TextEncoder().encode(text);
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

async function read(type: string, chunks: readonly Uint8Array[]): Promise<string> {
  const left = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = left.shift();
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
  const give = async (): Promise<Response> => new Response(body, { headers: { "content-type": type } });
  return (await limitResponses(LIMIT, () => undefined, give)("http://a/")).text();
}

describe("limitResponses", () => {
  it("does not limit a stream of short events", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("\n", "\r", "\r\n"),
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 }),
        async (end, sizes) => {
          const events = Array.from({ length: 20 }, () => `data: abc${end}${end}`).join("");
          expect(await read("text/event-stream", cut(events, sizes))).toBe(events);
        },
      ),
    );
  });

  it("stops a long event and a long response", async () => {
    const long = `data: ${"x".repeat(40)}\n\n`;
    await expect(read("text/event-stream; charset=utf-8", cut(long, [7]))).rejects.toMatchObject({
      code: "mcp_failed",
    });
    const lines = "data: x\n".repeat(5);
    await expect(read("text/event-stream", cut(lines, [3]))).rejects.toMatchObject({ code: "mcp_failed" });
    await expect(read("application/json", cut("x\n\n".repeat(10), [5]))).rejects.toMatchObject({ code: "mcp_failed" });
    expect(await read("application/json", cut("x".repeat(LIMIT), [6]))).toHaveLength(LIMIT);
  });
});
