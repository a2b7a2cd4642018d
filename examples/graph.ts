// A graph with a loop: a draft is reviewed and rewritten until it is short enough. The steps are stored in a file.
//
//   npx node examples/graph.ts [FILE]
import { openSession, openSqliteLog } from "loom-agent";
import { append, defineGraph, END, replace, runGraph } from "loom-agent/graph";

const graph = defineGraph({
  name: "shorten",
  channels: { draft: replace("Loom carries the run of an agent to everyone who watches it"), notes: append<string>() },
  nodes: {
    review: ({ draft }) => ({ notes: [`${draft.split(" ").length} words`] }),
    rewrite: async ({ draft }, node) => {
      const shorter = draft.split(" ").slice(0, -3).join(" ");
      await node.span.write(`${shorter}\n`);
      return { draft: shorter };
    },
  },
  edges: { review: ({ draft }) => (draft.split(" ").length > 6 ? "rewrite" : END), rewrite: "review" },
  start: "review",
});

const [file = "graph.db"] = process.argv.slice(2);
const log = await openSqliteLog(file);
const session = await openSession(log, "shorten");
const run = await session.startRun();
const { draft, notes } = await runGraph(graph, { run });
await run.finish({ reply: draft });
await session.close();
await log.close();

console.log(notes.join(", "));
console.log(draft);
