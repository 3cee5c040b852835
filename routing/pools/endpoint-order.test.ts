import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeEndpointOrder } from './endpoint-order.ts';

describe('endpoint order', () => {
  it('begins with the first and goes through the others in order', () => {
    const order = makeEndpointOrder(3);
    assert.equal(order.present, 0);
    assert.equal(order.after(new Set([0])), 1);
    assert.equal(order.after(new Set([0, 1])), 2);
    assert.equal(order.after(new Set([2])), 0);
    assert.equal(order.after(new Set([0, 1, 2])), undefined);
  });

  it('stays with what worked, and moves everybody on with the first failure', () => {
    const order = makeEndpointOrder(3);
    order.failed(0);
    assert.equal(order.present, 1);
    order.failed(0);
    assert.equal(order.present, 1, 'a late failure of another endpoint changes nothing');
    order.failed(1);
    assert.equal(order.present, 0);
    order.connected(2);
    assert.equal(order.present, 2);
    order.failed(2);
    assert.equal(order.present, 0);
  });

  it('has nowhere to go with one endpoint', () => {
    const order = makeEndpointOrder(1);
    order.failed(0);
    assert.equal(order.present, 0);
    assert.equal(order.after(new Set([0])), undefined);
  });

  it('asks for a look at the first once a period, and only while away from it', () => {
    let nowMs = 0;
    const order = makeEndpointOrder(2, 100, () => nowMs);
    nowMs = 500;
    assert.equal(order.returnDue(), false);
    order.failed(0);
    nowMs = 599;
    assert.equal(order.returnDue(), false);
    nowMs = 600;
    assert.equal(order.returnDue(), true);
    assert.equal(order.returnDue(), false);
    nowMs = 700;
    assert.equal(order.returnDue(), true);
    order.connected(0);
    nowMs = 900;
    assert.equal(order.returnDue(), false);
  });
});
