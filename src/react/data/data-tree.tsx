/** Shows custom data as a JSON tree. */
import type { ReactNode } from "react";
import type { JsonObject } from "../../protocol/index.ts";
import { JsonView } from "../parts/json-view.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({ en: { data: "Data" }, zh: { data: "数据" } });

export function DataTree({ data }: { readonly data: JsonObject }): ReactNode {
  const words = useWords(WORDS);
  return (
    <div className="loom-data-tree">
      <JsonView value={data} label={words.data} />
    </div>
  );
}
