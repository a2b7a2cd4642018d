/** The arguments of a call as fields to edit: one for each by its type, or all of them as JSON. */
import { type ReactNode, useId } from "react";
import type { JsonObject } from "../../protocol/index.ts";
import { Button } from "../ui/button.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import {
  type ApprovalDraft,
  changeField,
  type DraftField,
  type DraftReading,
  type FieldFault,
  switchMode,
} from "./approval-draft.ts";
import { cutHead } from "./cut-text.ts";
import { revealHidden } from "./reveal-hidden.ts";

const WORDS = defineWords({
  en: {
    raw: "All as JSON",
    asForm: "Edit field by field",
    asRaw: "Edit as JSON",
    number: "This must be a number.",
    json: "This is no JSON. Texts stand in double quotes.",
    unsendable: "This cannot be sent: a number is too large, or it is nested too deeply.",
    faultAt: (line: number, column: number) => `Line ${line}, column ${column}: JSON cannot have this here.`,
    unfinished: "The JSON ends too early: a bracket or a quote is missing.",
    noObject: "This must be an object: { … }",
    empty: "There is nothing here. Without arguments it is {}",
  },
  zh: {
    raw: "全部参数（JSON）",
    asForm: "逐项编辑",
    asRaw: "以 JSON 编辑",
    number: "此处须为数字。",
    json: "这不是 JSON。文本须放在双引号中。",
    unsendable: "无法发送：数字过大，或嵌套过深。",
    faultAt: (line: number, column: number) => `第 ${line} 行第 ${column} 列：此处不符合 JSON 格式。`,
    unfinished: "JSON 不完整：缺少括号或引号。",
    noObject: "此处须为一个对象：{ … }",
    empty: "内容为空。没有参数时请写 {}",
  },
});

const MAX_NAME = 200;
/** Of a field that grows with its text. */
const MAX_ROWS = 10;

export interface ApprovalFieldsProps {
  readonly draft: ApprovalDraft;
  readonly reading: DraftReading;
  readonly asked: JsonObject;
  readonly isDisabled: boolean;
  readonly onChange: (draft: ApprovalDraft) => void;
}

export function ApprovalFields({ draft, reading, asked, isDisabled, onChange }: ApprovalFieldsProps): ReactNode {
  const words = useWords(WORDS);
  const other = switchMode(draft, asked);
  const isRaw = draft.mode === "raw";
  return (
    <div className="loom-approval-fields">
      {isRaw ? (
        <RawField text={draft.text} reading={reading} isDisabled={isDisabled} onChange={onChange} />
      ) : (
        draft.fields.map((field) => (
          <FormField
            key={field.name}
            field={field}
            fault={reading.kind === "faulty-fields" ? reading.faults.get(field.name) : undefined}
            isDisabled={isDisabled}
            onChange={(text) => onChange(changeField(draft, field.name, text))}
          />
        ))
      )}
      <div>
        <Button
          disabled={isDisabled || other === undefined || (isRaw && other.mode === "raw")}
          onClick={() => {
            if (other !== undefined) onChange(other);
          }}
        >
          {isRaw ? words.asForm : words.asRaw}
        </Button>
      </div>
    </div>
  );
}

interface FormFieldProps {
  readonly field: DraftField;
  readonly fault: FieldFault | undefined;
  readonly isDisabled: boolean;
  readonly onChange: (text: string) => void;
}

function FormField({ field: { name, kind, text }, fault, isDisabled, onChange }: FormFieldProps): ReactNode {
  const words = useWords(WORDS);
  const faultId = useId();
  const id = useId();
  if (kind === "boolean") {
    return (
      <label className="loom-field loom-field-check">
        <input
          type="checkbox"
          checked={text === "true"}
          disabled={isDisabled}
          onChange={(event) => onChange(String(event.target.checked))}
        />
        <span>{showName(name)}</span>
      </label>
    );
  }
  const common = {
    id,
    value: text,
    disabled: isDisabled,
    spellCheck: kind === "text",
    "aria-invalid": fault !== undefined,
    "aria-describedby": fault === undefined ? undefined : faultId,
  };
  return (
    <div className="loom-field">
      <label htmlFor={id}>{showName(name)}</label>
      {kind === "number" ? (
        // Not type="number": the wheel would change what is about to be approved.
        <input {...common} inputMode="decimal" onChange={(event) => onChange(event.target.value)} />
      ) : (
        <textarea
          {...common}
          rows={countRows(text)}
          data-code={kind === "json"}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {fault === undefined ? null : (
        <p id={faultId} className="loom-field-fault">
          {words[fault]}
        </p>
      )}
    </div>
  );
}

interface RawFieldProps {
  readonly text: string;
  readonly reading: DraftReading;
  readonly isDisabled: boolean;
  readonly onChange: (draft: ApprovalDraft) => void;
}

function RawField({ text, reading, isDisabled, onChange }: RawFieldProps): ReactNode {
  const words = useWords(WORDS);
  const id = useId();
  const faultId = useId();
  const fault = reading.kind === "faulty-text" ? reading.fault : undefined;
  return (
    <div className="loom-field">
      <label htmlFor={id}>{words.raw}</label>
      <textarea
        id={id}
        value={text}
        rows={Math.max(4, countRows(text))}
        disabled={isDisabled}
        spellCheck={false}
        data-code
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? undefined : faultId}
        onChange={(event) => onChange({ mode: "raw", text: event.target.value })}
      />
      {fault === undefined ? null : (
        <p id={faultId} className="loom-field-fault">
          {fault.kind === "invalid"
            ? words.faultAt(fault.line, fault.column)
            : fault.kind === "no-object"
              ? words.noObject
              : words[fault.kind]}
        </p>
      )}
    </div>
  );
}

function showName(name: string): string {
  return revealHidden(cutHead(name, MAX_NAME));
}

/** Lines there are, and a guess at those a long one is broken into. */
function countRows(text: string): number {
  let rows = 1;
  for (let at = text.indexOf("\n"); at !== -1 && rows < MAX_ROWS; at = text.indexOf("\n", at + 1)) rows++;
  return Math.min(MAX_ROWS, Math.max(rows, Math.ceil(text.length / 60)));
}
