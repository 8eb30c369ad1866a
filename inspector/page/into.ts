// Takes what is typed or chosen into a signal.
import type { Signal } from '@preact/signals';

export const into =
  (signal: Signal<string>) =>
  ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }): void => {
    signal.value = value;
  };
