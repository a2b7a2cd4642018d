/**
 * Holds one part of a message: where it cannot be shown, that is said in its place, with what it is to be copied. A sender
 * can be odd in ways nobody thought of, and one part must not take the conversation with it.
 */
import { Component, type ReactNode } from "react";
import type { MessagePart } from "../../client/index.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: { failed: "This part cannot be shown.", copy: "Copy as JSON" },
  zh: { failed: "此内容无法显示。", copy: "复制为 JSON" },
});

export interface PartBoundaryProps {
  readonly part: MessagePart;
  readonly children: ReactNode;
}

// React tells of a failure in what is below only to a class.
export class PartBoundary extends Component<PartBoundaryProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <FailedPart part={this.props.part} /> : this.props.children;
  }
}

export function FailedPart({ part }: { readonly part: MessagePart }): ReactNode {
  const words = useWords(WORDS);
  return (
    <p className="loom-card loom-part-failed" role="group" aria-label={words.failed}>
      <Icon name="alert" />
      <span>{words.failed}</span>
      <CopyButton getText={() => JSON.stringify(part, undefined, 2)} label={words.copy} />
    </p>
  );
}
