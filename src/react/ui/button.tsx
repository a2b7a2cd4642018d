/** Buttons: with words, or with a drawing alone, whose words are then said and shown on pointing. */
import type { ComponentPropsWithRef, ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

export interface ButtonProps extends Omit<ComponentPropsWithRef<"button">, "type" | "className"> {
  readonly icon?: IconName;
  /** `quiet` unless told otherwise. */
  readonly look?: "primary" | "quiet" | "danger" | undefined;
  readonly isSubmit?: boolean | undefined;
}

export function Button({ icon, look = "quiet", isSubmit = false, children, ...rest }: ButtonProps): ReactNode {
  return (
    <button {...rest} type={isSubmit ? "submit" : "button"} className={`loom-button loom-button-${look}`}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}

export interface IconButtonProps extends Omit<ButtonProps, "children" | "icon"> {
  readonly icon: IconName;
  readonly label: string;
}

export function IconButton({ icon, label, look = "quiet", isSubmit = false, ...rest }: IconButtonProps): ReactNode {
  return (
    <button
      {...rest}
      type={isSubmit ? "submit" : "button"}
      className={`loom-button loom-icon-button loom-button-${look}`}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} />
    </button>
  );
}
