/**
 * Holds a part that is loaded when needed: while it is coming, and where it fails, the plain content stands in its place.
 * One formula that cannot be drawn must not take the page with it.
 */
import { Component, type ReactNode, Suspense } from "react";

export interface PluginGuardProps {
  readonly plain: ReactNode;
  readonly children: ReactNode;
  /** It could not be loaded. A browser does not load it again while the page is there. */
  readonly onFail?: (() => void) | undefined;
}

export function PluginGuard({ plain, children, onFail }: PluginGuardProps): ReactNode {
  return (
    <Boundary plain={plain} onFail={onFail}>
      <Suspense fallback={plain}>{children}</Suspense>
    </Boundary>
  );
}

// React tells of a failure in what is below only to a class.
class Boundary extends Component<PluginGuardProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true };
  }

  override componentDidCatch(): void {
    this.props.onFail?.();
  }

  override render(): ReactNode {
    return this.state.hasFailed ? this.props.plain : this.props.children;
  }
}
