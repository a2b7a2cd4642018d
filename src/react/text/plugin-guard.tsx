/** Error and loading boundary around a plugin. Shows the plain content while the plugin loads or if it fails. */
import { Component, type ReactNode, Suspense } from "react";

export interface PluginGuardProps {
  readonly plain: ReactNode;
  readonly children: ReactNode;
  /** Called if the plugin fails. Browsers do not retry a failed module until the page is reloaded. */
  readonly onFail?: (() => void) | undefined;
}

export function PluginGuard({ plain, children, onFail }: PluginGuardProps): ReactNode {
  return (
    <Boundary plain={plain} onFail={onFail}>
      <Suspense fallback={plain}>{children}</Suspense>
    </Boundary>
  );
}

// React supports error boundaries only as classes.
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
