// The agent under test: its tools, and what they do. Change this file, and run the gate.
import { CONSENT_PRESETS } from 'refold';
import { defineTool } from 'refold/schemas';

const order = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };

export const tools = [
  defineTool({
    tool_id: 'shop.order.look_up',
    tool_name: 'look_up_order',
    description: 'Look up an order by its number.',
    input_schema: order,
    mode: 'read',
    read_only: true,
    destructive: false,
  }),
  defineTool({
    tool_id: 'shop.order.refund',
    tool_name: 'refund_order',
    description: 'Refund an order in full.',
    input_schema: order,
    mode: 'destructive',
  }),
];

export const tool_package = {
  registry: tools,
  profiles: [{ profile_id: 'shop', tool_ids: tools.map(({ tool_id }) => tool_id) }],
  provider_profiles: [{ provider_contains: '', profile_id: 'shop' }],
};

export const consent = CONSENT_PRESETS.default;

/** What the tools really do. The gate never calls it. */
export const shop = {
  tools: ['shop.*'],
  async run({ tool_id }, { order: number }) {
    if (tool_id === 'shop.order.refund') return { success: true, text: `order ${number} is refunded` };
    return { success: true, text: `order ${number}: 2 pens, 480 cents, delivered`, data: { cents: 480 } };
  },
};
