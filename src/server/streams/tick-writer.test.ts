import { Duplex } from "node:stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { TickWriter } from "./tick-writer.ts";

function createSocket() {
  const calls: string[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write(bytes: Buffer, _, done) {
      calls.push(bytes.toString());
      done();
    },
    writev(pieces, done) {
      calls.push(pieces.map(({ chunk }) => String(chunk)).join(""));
      done();
    },
  });
  return { socket, calls };
}

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("writes everything in order, with one write per tick or flush", async () => {
  const step = fc.constantFrom("write", "flush", "tick");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const { socket, calls } = createSocket();
      const writer = new TickWriter(socket);
      const expected: string[] = [];
      let [pending, count] = ["", 0];
      const end = (): void => {
        if (pending !== "") expected.push(pending);
        pending = "";
      };
      for (const what of [...steps, "tick"]) {
        if (what === "write") {
          pending += `${count};`;
          writer.write(Buffer.from(`${count++};`));
          expect(writer.pendingBytes).toBe(Buffer.byteLength(pending));
        } else {
          if (what === "flush") writer.flush();
          else await nextTick();
          end();
          expect(calls).toEqual(expected);
          expect(writer.pendingBytes).toBe(0);
        }
      }
    }),
  );
});

it("drops held bytes when the gate has closed", async () => {
  const { socket, calls } = createSocket();
  const gate = { OPEN: 1, readyState: 1 };
  const writer = new TickWriter(socket, gate);
  writer.write(Buffer.from("in time"));
  await nextTick();
  writer.write(Buffer.from("late"));
  gate.readyState = 2;
  await nextTick();
  expect(calls).toEqual(["in time"]);
  expect(writer.pendingBytes).toBe(0);
});
