/** What fails within is said in its place, with a way to go on; the rest of the page stays. React tells it only to a class. */
import { Component, type ReactNode } from "react";
import { Button, useWords } from "loom-agent/react";
import { SHELL_WORDS } from "./shell-words.ts";

export interface PageBoundaryProps {
  readonly children: ReactNode;
  /** Where it can be done without; else the page has to be loaded again. */
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
    return failure === undefined ? this.props.children : <Failure message={failure} onClose={this.props.onClose} />;
  }
}

function Failure({
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
        <Button icon="retry" look="primary" onClick={() => location.reload()}>
          {words.reload}
        </Button>
      </div>
    </section>
  );
}
