/**
 * Error boundary around one part of a message. If the part fails to render, a note and a copy button replace it, and
 * the rest of the conversation stays intact.
 */
import { Component, type ReactNode } from "react";
import type { MessagePart } from "../../client/index.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: { failed: "Can't display this content.", copy: "Copy as JSON" },
  zh: { failed: "无法显示此内容。", copy: "复制为 JSON" },
});

export interface PartBoundaryProps {
  readonly part: MessagePart;
  readonly children: ReactNode;
}

// React supports error boundaries only as classes.
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
