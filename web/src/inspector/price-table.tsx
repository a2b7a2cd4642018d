/** Editable prices of the models of the run. A price is stored when its field loses focus. */
import { type ReactNode, useState } from "react";
import { useWords } from "../../../src/react/page-parts.ts";
import { CALLS_WORDS } from "./calls-words.ts";
import { type ModelPrice, type ModelPrices, readPrice, setPrice } from "./prices.ts";

export interface PriceTableProps {
  /** Models of the run; may contain duplicates. */
  readonly models: readonly string[];
  readonly prices: ModelPrices;
  readonly onPrices: (prices: ModelPrices) => void;
}

const KINDS = [
  ["input", "prompt"],
  ["cached", "cached"],
  ["output", "completion"],
] as const;

export function PriceTable({ models, prices, onPrices }: PriceTableProps): ReactNode {
  const words = useWords(CALLS_WORDS);
  return (
    <>
      <p className="page-inspector-note">{words.pricesNote}</p>
      <table className="page-inspector-table">
        <thead>
          <tr>
            <th scope="col">{words.name}</th>
            <th scope="col">{words.prompt}</th>
            <th scope="col">{words.cached}</th>
            <th scope="col">{words.completion}</th>
          </tr>
        </thead>
        <tbody>
          {[...new Set(models)].map((model) => (
            <tr key={model}>
              <th scope="row">{model}</th>
              {KINDS.map(([kind, name]) => (
                <td key={kind}>
                  <PriceField
                    label={words.priceOf(words[name], model)}
                    price={Object.hasOwn(prices, model) ? prices[model] : undefined}
                    kind={kind}
                    onChange={(value) => onPrices(setPrice(prices, model, kind, value))}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

interface PriceFieldProps {
  readonly label: string;
  readonly price: ModelPrice | undefined;
  readonly kind: keyof ModelPrice;
  readonly onChange: (value: number | undefined) => void;
}

function PriceField({ label, price, kind, onChange }: PriceFieldProps): ReactNode {
  const stored = price?.[kind];
  const [typed, setTyped] = useState<string>();
  const text = typed ?? (stored === undefined ? "" : String(stored));
  const isInvalid = text.trim() !== "" && readPrice(text) === undefined;
  const store = (): void => {
    if (typed === undefined || isInvalid) return;
    setTyped(undefined);
    if (readPrice(typed) !== stored) onChange(readPrice(typed));
  };
  return (
    <input
      className="page-inspector-input page-inspector-price"
      inputMode="decimal"
      aria-label={label}
      aria-invalid={isInvalid}
      placeholder="—"
      value={text}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={store}
      onKeyDown={(event) => {
        if (event.key === "Enter") store();
      }}
    />
  );
}
