// Two spellings of a type: rights are decided for one, and rows are those of the other.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { binding, startIndexSite } from '../../integration/index/index-site.ts';
import { customResource } from '../../site/custom-resource.ts';
import { eventually } from '../../site/polling.ts';
import { clusterRole } from '../../site/rbac.ts';

const indexes = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const challenge = (name: string) => ({
  apiVersion: 'acme.cert-manager.io/v1',
  kind: 'Challenge',
  metadata: { name, namespace: 'pay' },
  spec: { key: `secret of ${name}` },
});

let site: Awaited<ReturnType<typeof startIndexSite>>;

before(async () => {
  const objects = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'pay' } },
    customResource('challenges.acme.cert-manager.io', 'Challenge'),
    customResource('issuers.cert-manager.io', 'Issuer'),
    challenge('one'),
    challenge('two'),
    binding('admin', 'cluster-admin', 'admin'),
    // Everything of the group cert-manager.io, and nothing of acme.cert-manager.io.
    clusterRole('issuers', [{ apiGroups: ['cert-manager.io'], resources: ['*'], verbs: ['*'] }]),
    binding('tenant', 'issuers', 'tenant'),
  ];
  const indexResources = 'challenges.acme.cert-manager.io,issuers.cert-manager.io,namespaces';
  site = await startIndexSite(['admin', 'tenant'], { alpha: objects } as never, { indexResources } as never);
  await eventually('both challenges are in the index', async () => {
    const { status, text } = await site.ask(`${indexes}/proxy/apis/acme.cert-manager.io/v1/challenges`, 'admin');
    return status === 200 && (JSON.parse(text) as { items: unknown[] }).items.length === 2;
  });
});

after(() => site?.close());

test('rights to one API group show nothing of another whose name ends like it (ATT-66)', async () => {
  for (const path of [
    `${indexes}/proxy/apis/cert-manager.io/v1/challenges.acme`,
    `${indexes}/proxy/apis/cert-manager.io/v1/namespaces/pay/challenges.acme/one`,
    `${indexes}/proxy/apis/cert-manager.io/v1/watch/challenges.acme`,
    `${indexes}/proxy/clusters/alpha/apis/cert-manager.io/v1/challenges.acme`,
    `${indexes}/proxy/apis/io/v1/challenges.acme.cert-manager`,
    '/apis/clusterpedia.io/v1beta1/resources/apis/cert-manager.io/v1/challenges.acme',
    '/apis/clusterpedia.io/v1beta1/collectionresources/any?resources=cert-manager.io/challenges.acme',
    '/apis/clusterpedia.io/v1beta1/collectionresources/any?resources=cert-manager.io/v1/challenges.acme',
    // Asked after the others, so that what is remembered of one spelling would answer for the other.
    `${indexes}/proxy/apis/acme.cert-manager.io/v1/challenges`,
    `${indexes}/counts?resource=challenges.acme.cert-manager.io`,
    `${indexes}/facets?resource=challenges.acme.cert-manager.io&by=name`,
  ]) {
    const { status, text } = await site.ask(path, 'tenant');
    assert.ok(!text.includes('secret of') && !text.includes('"one"'), `${path}: ${status} ${text}`);
    assert.ok(status >= 400 || /"count":0|"(?:items|facets)":\[\]/.test(text), `${path}: ${status} ${text}`);
  }
  const { status } = await site.ask(`${indexes}/proxy/apis/acme.cert-manager.io/v1/challenges`, 'admin');
  assert.equal(status, 200, 'what the tenant has asked changes nothing for who has the right');
});
