/** Buttons with a text label, or with an icon whose label is the tooltip and accessible name. */
import type { ComponentPropsWithRef, ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

export interface ButtonProps extends Omit<ComponentPropsWithRef<"button">, "type" | "className"> {
  readonly icon?: IconName;
  /** Default: `quiet`. */
  readonly variant?: "primary" | "quiet" | "danger" | undefined;
  /** Submits the surrounding form. Default: false. */
  readonly isSubmit?: boolean | undefined;
}

/**
 * A button with a text label and an optional icon.
 *
 * ```tsx
 * <Button icon="send" variant="primary" onClick={send}>
 *   Send
 * </Button>
 * ```
 */
export function Button({ icon, variant = "quiet", isSubmit = false, children, ...rest }: ButtonProps): ReactNode {
  return (
    <button {...rest} type={isSubmit ? "submit" : "button"} className={`loom-button loom-button-${variant}`}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}

export interface IconButtonProps extends Omit<ButtonProps, "children" | "icon"> {
  readonly icon: IconName;
  /** Accessible name and tooltip. */
  readonly label: string;
}

/** A button with only an icon. */
export function IconButton({ icon, label, variant = "quiet", isSubmit = false, ...rest }: IconButtonProps): ReactNode {
  return (
    <button
      {...rest}
      type={isSubmit ? "submit" : "button"}
      className={`loom-button loom-icon-button loom-button-${variant}`}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} />
    </button>
  );
}
