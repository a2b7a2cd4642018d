/** The thread that computes digests of files, one after another. The sender keeps the file open until the answer. */
import { createHash } from "node:crypto";
import { readSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import type { DigestAnswer } from "./file-digests.ts";

/** Bytes read at once. */
const PIECE_BYTES = 1024 * 1024;
const piece = Buffer.allocUnsafe(PIECE_BYTES);

parentPort?.on("message", (fd: number) => {
  parentPort?.postMessage(digestOf(fd));
});

function digestOf(fd: number): DigestAnswer {
  try {
    const hash = createHash("sha256");
    for (let at = 0; ;) {
      const length = readSync(fd, piece, 0, PIECE_BYTES, at);
      if (length === 0) return { digest: hash.digest("hex") };
      hash.update(piece.subarray(0, length));
      at += length;
    }
  } catch (error) {
    const { message, code = "EIO" } = error as NodeJS.ErrnoException;
    return { error: { message, code } };
  }
}
