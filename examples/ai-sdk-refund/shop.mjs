// The shop: what is refunded here stays refunded, whatever becomes of the program.
import { appendFileSync } from 'node:fs';

export const openShop = (directory) => ({
  find: (order) => ({ order, cents: 4_200 }),
  refund(order) {
    appendFileSync(`${directory}/refunds`, `${order}\n`);
    // The worst moment: the money is on its way, and the program does not know it yet.
    if (process.env.KILLED_IN === order) process.kill(process.pid, 'SIGKILL');
    return `order ${order} is refunded`;
  },
});
