/** Error boundary: shows a failure in place of its children. The rest of the page keeps working. */
import { Component, type ReactNode } from "react";
import { Button, useWords } from "../../../src/react/page-parts.ts";
import { SHELL_WORDS } from "./shell-words.ts";

export interface PageBoundaryProps {
  readonly children: ReactNode;
  /** Closes the failed part; undefined if it cannot be closed. */
  readonly onClose?: () => void;
}

interface BoundaryState {
  readonly failure: string | undefined;
}

export class PageBoundary extends Component<PageBoundaryProps, BoundaryState> {
  override state: BoundaryState = { failure: undefined };

  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { failure: error instanceof Error ? error.message : String(error) };
  }

  override render(): ReactNode {
    const { failure } = this.state;
    return failure === undefined ? (
      this.props.children
    ) : (
      <FailureMessage message={failure} onClose={this.props.onClose} />
    );
  }
}

function FailureMessage({
  message,
  onClose,
}: {
  readonly message: string;
  readonly onClose: (() => void) | undefined;
}): ReactNode {
  const words = useWords(SHELL_WORDS);
  return (
    <section className="page-failure" role="alert">
      <h2>{words.failedTitle}</h2>
      <p>{words.failed}</p>
      <code>{message}</code>
      <div className="page-dialog-buttons">
        {onClose === undefined ? null : <Button onClick={onClose}>{words.dismiss}</Button>}
        <Button icon="retry" variant="primary" onClick={() => location.reload()}>
          {words.reload}
        </Button>
      </div>
    </section>
  );
}
