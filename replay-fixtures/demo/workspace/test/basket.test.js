import assert from 'node:assert/strict';
import { test } from 'node:test';
import { total } from '../src/basket.js';
import { formatCents } from '../src/money.js';
import { rateOf, withTax } from '../src/tax.js';

test('cents always have two digits', () => {
  assert.equal(formatCents(1905), '19.05');
  assert.equal(formatCents(200), '2.00');
});

test('tax is a share of the net price', () => {
  assert.equal(withTax(1000, 'standard'), 1190);
  assert.equal(withTax(1000, 'none'), 1000);
});

test('books are taxed at the reduced rate', () => {
  assert.equal(rateOf('reduced'), 0.07);
});

test('a small basket', () => {
  const lines = [
    { name: 'pen', netCents: 199, quantity: 3, kind: 'standard' },
    { name: 'book', netCents: 1500, quantity: 1, kind: 'reduced' },
  ];
  assert.equal(total(lines), '23.15');
});

test('a large basket gets its discount', () => {
  assert.equal(total([{ name: 'lamp', netCents: 5_000, quantity: 2, kind: 'standard' }]), '113.05');
});
