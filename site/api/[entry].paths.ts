// The pages of the API reference: one per entry point.
import { readApiPages } from "../api-reference.ts";

export default {
  watch: ["../../src/**/*.ts", "../../docs/guides/*.md"],
  async paths() {
    const { pages } = await readApiPages();
    return [...pages].map(([entry, content]) => ({ params: { entry }, content }));
  },
};
