// Links between screens. Their addresses are fragments, so that each can be copied and opened in another tab.
import type { ComponentChildren, JSX } from 'preact';
import type { CallAddress } from '../protocol.ts';
import { type Route, fragmentOf } from './route.ts';

export interface LinkProps {
  readonly to: Route;
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

export const To = ({ to, current = false, children }: LinkProps): JSX.Element => (
  <a href={fragmentOf(to)} aria-current={current ? 'page' : undefined}>
    {children}
  </a>
);

export interface CallLinkProps {
  readonly of: string;
  readonly address: CallAddress | null;
  readonly children: ComponentChildren;
}

export function CallLink({ of, address, children }: CallLinkProps): JSX.Element {
  if (address === null) return <span>{children}</span>;
  const { batch_id: batch, call_id: call, observed, index } = address;
  return <To to={{ screen: 'call', of, batch, call, observed, index }}>{children}</To>;
}
