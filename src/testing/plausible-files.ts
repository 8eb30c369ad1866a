// The attachments of the facts of a random stream.
import type { Attachments } from '../../schemas/content.ts';
import type { Loose } from './facts.ts';

/** One or two attachments for one draw in four. The fold reads no blob, so there need not be one. */
export function filesOf(draw: number): { readonly attachments?: Loose<Attachments> } {
  if (draw % 4 > 0) return {};
  const file = { bytes: draw, media_type: 'image/png' as const, ref: `sha256:${String(draw % 10).repeat(64)}` };
  return { attachments: draw % 8 === 0 ? [file] : [file, { ...file, name: 'b.png' }] };
}
