import { Duplex } from "node:stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { TurnWriter } from "./turn-writer.ts";

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

const endTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("writes everything in order, in one call a turn, however it is flushed in between", async () => {
  const step = fc.constantFrom("write", "flush", "turn");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const { socket, calls } = createSocket();
      const writer = new TurnWriter(socket);
      const expected: string[] = [];
      let [turn, count] = ["", 0];
      const end = (): void => {
        if (turn !== "") expected.push(turn);
        turn = "";
      };
      for (const what of [...steps, "turn"]) {
        if (what === "write") {
          turn += `${count};`;
          writer.write(Buffer.from(`${count++};`));
          expect(writer.size).toBe(Buffer.byteLength(turn));
        } else {
          if (what === "flush") writer.flush();
          else await endTurn();
          end();
          expect(calls).toEqual(expected);
          expect(writer.size).toBe(0);
        }
      }
    }),
  );
});

it("drops what it holds when nothing may be written any more", async () => {
  const { socket, calls } = createSocket();
  const gate = { OPEN: 1, readyState: 1 };
  const writer = new TurnWriter(socket, gate);
  writer.write(Buffer.from("in time"));
  await endTurn();
  writer.write(Buffer.from("late"));
  gate.readyState = 2;
  await endTurn();
  expect(calls).toEqual(["in time"]);
  expect(writer.size).toBe(0);
});
