/** Dialog that exports a whole session. */
import { type ReactNode, useState } from "react";
import { Button, Dialog, type IconName, useWords } from "../../../src/react/page-parts.ts";
import { describeFailure } from "../api/api-error.ts";
import { usePage } from "../shell/page-context.tsx";
import type { ExportForm } from "./describe-conversation.ts";
import { EXPORT_WORDS } from "./export-words.ts";

const FORMS: readonly (readonly [form: ExportForm, icon: IconName])[] = [
  ["markdown", "download"],
  ["html", "download"],
  ["copy", "copy"],
  ["print", "file"],
];

export interface ExportDialogProps {
  readonly session: string;
  readonly onClose: () => void;
}

export function ExportDialog({ session, onClose }: ExportDialogProps): ReactNode {
  const words = useWords(EXPORT_WORDS);
  const page = usePage();
  const [busy, setBusy] = useState<ExportForm>();
  const [failure, setFailure] = useState<string>();
  const run = async (form: ExportForm): Promise<void> => {
    setBusy(form);
    setFailure(undefined);
    try {
      await page.exportSession(form, { session });
      onClose();
    } catch (error) {
      setFailure(describeFailure(error).message);
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <Dialog title={words.title} onClose={onClose}>
      <div className="page-share">
        <p className="page-soft">{words.about}</p>
        <div className="page-export-forms">
          {FORMS.map(([form, icon]) => (
            <Button key={form} icon={icon} disabled={busy !== undefined} onClick={() => void run(form)}>
              {words[form]}
            </Button>
          ))}
        </div>
        <p className="page-sign-in-error" role="alert">
          {failure === undefined ? "" : words.failed(failure)}
        </p>
      </div>
    </Dialog>
  );
}
