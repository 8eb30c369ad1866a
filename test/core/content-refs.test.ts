// Which blobs an event refers to: exactly those of its contents and attachments, and none that a model or a tool wrote.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import { MEDIA_TYPES, type Attachment, type Content } from '../../schemas/content.ts';
import { decode } from '../../schemas/codec.ts';
import { IngressEvent } from '../../schemas/event.ts';
import { ATTACHMENT_BYTES_MAX, BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import { contentRefs } from '../../src/core/content-refs.ts';

const ref = fc.string({ minLength: 1, maxLength: 3 }).map((text) => digestText(text));
const attachment: fc.Arbitrary<Attachment> = fc.record(
  {
    ref,
    bytes: fc.nat({ max: ATTACHMENT_BYTES_MAX }),
    media_type: fc.constantFrom(...MEDIA_TYPES),
    name: fc.constantFrom('a.png', 'ref'),
  },
  { requiredKeys: ['ref', 'bytes', 'media_type'] },
);
const attachments = fc.array(attachment, { minLength: 1, maxLength: 4 });
const content: fc.Arbitrary<Content> = fc.oneof(
  fc.constant({ text: 'go' }),
  fc.record({ ref, bytes: fc.nat({ max: BLOB_BYTES_MAX }), head: fc.constant('h'), tail: fc.constant('') }),
);

const ENVELOPE = { v: 1, event_id: 'e-1', at_ms: 1 };
const CALL = { batch_id: 'batch-1', call_id: 'a' };
const ZERO = digestText('');

/** What a tool wrote in the shape of references. */
const DECOY = { success: true, data: { ref: ZERO, bytes: 1, media_type: 'image/png' } };

type Given = { readonly content: Content; readonly attachments: readonly Attachment[] };

/** Each kind of event with attachments: where its content is, and its attachments. */
const KINDS: Readonly<Record<string, readonly [event: (given: Given) => object, prefix: string, field: string]>> = {
  RunRequested: [({ content: input, ...rest }) => ({ input, ...rest }), '', 'input'],
  RunSteered: [({ content: input, ...rest }) => ({ run_id: 'run-1', input, ...rest }), '', 'input'],
  'user.interrupt': [({ content: input, ...rest }) => ({ run_id: 'run-1', input, ...rest }), '', 'input'],
  FollowUpQueued: [({ content: input, ...rest }) => ({ follow_up: { input, ...rest } }), '/follow_up', 'input'],
  ToolCallSettled: [
    ({ content: output, ...rest }) => ({ ...CALL, plan_hash: ZERO, attempt: 1, result: DECOY, output, ...rest }),
    '',
    'output',
  ],
  'user.custom_tool_result': [
    ({ content: output, ...rest }) => ({ ...CALL, arguments_digest: ZERO, result: DECOY, output, ...rest }),
    '',
    'output',
  ],
};

test.each(Object.entries(KINDS))('%s refers to its text and its attachments', (kind, [eventOf, prefix, field]) => {
  fc.assert(
    fc.property(content, attachments, (text, files) => {
      const event = { kind, ...ENVELOPE, ...eventOf({ content: text, attachments: files }) };
      expect(decode(IngressEvent, event)).toEqual({ _tag: 'Right', right: event });
      const inText =
        'text' in text
          ? []
          : [{ path: `${prefix}/${field}`, ref: text.ref, bytes: text.bytes, excerpts: { head: 'h', tail: '' } }];
      const inFiles = files.map((file, index) => ({
        path: `${prefix}/attachments/${index}`,
        ref: file.ref,
        bytes: file.bytes,
        mediaType: file.media_type,
      }));
      const found = contentRefs(event);
      expect(found).toHaveLength(inText.length + inFiles.length);
      expect(found).toEqual(expect.arrayContaining([...inText, ...inFiles]));
    }),
  );
});
