/** Editor for the arguments of a tool call: one field per argument, or all arguments as JSON. */
import { type ReactNode, useId } from "react";
import type { JsonObject } from "../../protocol/index.ts";
import { Button } from "../ui/button.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import {
  type ApprovalDraft,
  changeField,
  type DraftField,
  type DraftParseResult,
  type FieldError,
  switchMode,
} from "./approval-draft.ts";
import { revealHidden } from "./reveal-hidden.ts";
import { cutText } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    raw: "Arguments (JSON)",
    asForm: "Edit as form",
    asRaw: "Edit as JSON",
    number: "Enter a number.",
    json: "Invalid JSON. Put text in double quotes.",
    unsendable: "Can't be sent: a number is too large or the nesting is too deep.",
    invalidAt: (line: number, column: number) => `Line ${line}, column ${column}: invalid JSON.`,
    unfinished: "Incomplete JSON: a bracket or quote is missing.",
    notObject: "Must be an object: { … }",
    empty: "Enter arguments, or {} for none.",
  },
  zh: {
    raw: "参数（JSON）",
    asForm: "以表单编辑",
    asRaw: "以 JSON 编辑",
    number: "请输入数字。",
    json: "JSON 无效，文本须加双引号。",
    unsendable: "无法发送：数字过大或嵌套过深。",
    invalidAt: (line: number, column: number) => `第 ${line} 行第 ${column} 列：JSON 无效。`,
    unfinished: "JSON 不完整：缺少括号或引号。",
    notObject: "必须是对象：{ … }",
    empty: "请输入参数，无参数时输入 {}。",
  },
});

const MAX_NAME = 200;
/** Maximum rows of a text field that grows with its content. */
const MAX_ROWS = 10;

export interface ApprovalFieldsProps {
  readonly draft: ApprovalDraft;
  readonly reading: DraftParseResult;
  readonly requested: JsonObject;
  readonly isDisabled: boolean;
  readonly onChange: (draft: ApprovalDraft) => void;
  /** Further buttons. */
  readonly children?: ReactNode;
}

export function ApprovalFields(props: ApprovalFieldsProps): ReactNode {
  const { draft, reading, requested, isDisabled, onChange, children } = props;
  const words = useWords(WORDS);
  const other = switchMode(draft, requested);
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
            error={reading.kind === "invalid-fields" ? reading.errors.get(field.name) : undefined}
            isDisabled={isDisabled}
            onChange={(text) => onChange(changeField(draft, field.name, text))}
          />
        ))
      )}
      <div className="loom-approval-buttons">
        <Button
          disabled={isDisabled || other === undefined || (isRaw && other.mode === "raw")}
          onClick={() => {
            if (other !== undefined) onChange(other);
          }}
        >
          {isRaw ? words.asForm : words.asRaw}
        </Button>
        {children}
      </div>
    </div>
  );
}

interface FormFieldProps {
  readonly field: DraftField;
  readonly error: FieldError | undefined;
  readonly isDisabled: boolean;
  readonly onChange: (text: string) => void;
}

function FormField({ field: { name, kind, text }, error, isDisabled, onChange }: FormFieldProps): ReactNode {
  const words = useWords(WORDS);
  const errorId = useId();
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
    "aria-invalid": error !== undefined,
    "aria-describedby": error === undefined ? undefined : errorId,
  };
  return (
    <div className="loom-field">
      <label htmlFor={id}>{showName(name)}</label>
      {kind === "number" ? (
        // Not `type="number"`: scrolling would change a value that is about to be approved.
        <input {...common} inputMode="decimal" onChange={(event) => onChange(event.target.value)} />
      ) : (
        <textarea
          {...common}
          rows={countRows(text)}
          data-code={kind === "json"}
          dir={kind === "json" ? "ltr" : "auto"}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {error === undefined ? null : (
        <p id={errorId} className="loom-field-fault">
          {words[error]}
        </p>
      )}
    </div>
  );
}

interface RawFieldProps {
  readonly text: string;
  readonly reading: DraftParseResult;
  readonly isDisabled: boolean;
  readonly onChange: (draft: ApprovalDraft) => void;
}

function RawField({ text, reading, isDisabled, onChange }: RawFieldProps): ReactNode {
  const words = useWords(WORDS);
  const id = useId();
  const errorId = useId();
  const error = reading.kind === "invalid-text" ? reading.error : undefined;
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
        aria-invalid={error !== undefined}
        aria-describedby={error === undefined ? undefined : errorId}
        onChange={(event) => onChange({ mode: "raw", text: event.target.value })}
      />
      {error === undefined ? null : (
        <p id={errorId} className="loom-field-fault">
          {error.kind === "invalid"
            ? words.invalidAt(error.line, error.column)
            : error.kind === "not-object"
              ? words.notObject
              : words[error.kind]}
        </p>
      )}
    </div>
  );
}

function showName(name: string): string {
  return revealHidden(cutText(name, MAX_NAME));
}

/** Counts lines, with an estimate for lines that wrap. */
function countRows(text: string): number {
  let rows = 1;
  for (let at = text.indexOf("\n"); at !== -1 && rows < MAX_ROWS; at = text.indexOf("\n", at + 1)) rows++;
  return Math.min(MAX_ROWS, Math.max(rows, Math.ceil(text.length / 60)));
}
