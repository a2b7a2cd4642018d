import { expect, it } from "vitest";
import { deriveSessionId } from "./derive-session-id.ts";

it("derives an id from the key and from every owner except the local one", () => {
  expect(deriveSessionId("k", "local")).toBe("sess_glTDKakoUPbVOd03b0gW7i");
  const ids = [
    deriveSessionId("k", "local"),
    deriveSessionId("k", "ann"),
    deriveSessionId("k", "ben"),
    deriveSessionId('","k', "ann"),
    deriveSessionId('["ann","k"]', "ben"),
    deriveSessionId('["ann","k"]', "local"),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  expect(deriveSessionId("k", "ann")).toBe(ids[1]);
});
