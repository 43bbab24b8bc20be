/**
 * What this page asks the gateway to do.
 *
 * @module
 */

import { z } from 'zod';
import { post, request } from '../shared/api.ts';
import { type Approval, approvalAnswer, type BoardAction, deliverySchema, newLinkSchema } from './schemas.ts';

/** @throws ApiError with the gateway's own words */
export async function act(approval: Approval, action: BoardAction): Promise<Approval> {
  const what = 'decision' in action ? 'decision' : 'resolution';
  return (await post(`operator/api/approvals/${approval.id}/${what}`, action, approvalAnswer)).approval;
}

const ok = z.unknown();
export const revokeGrant = (id: string) =>
  post(`operator/api/grants/${encodeURIComponent(id)}/revoke`, {}, ok);
export const confirmPolicy = () => post('operator/api/policy/confirm', {}, ok);
export const changeDelivery = (id: string, what: 'retry' | 'drop') =>
  post(
    `operator/api/deliveries/${encodeURIComponent(id)}/${what}`,
    {},
    z.object({ delivery: deliverySchema }),
  );
export const hangUp = (id: string) =>
  request(`operator/api/calls/${encodeURIComponent(id)}/hangup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
export const forgetRecord = (id: string) =>
  request(`operator/api/calls/${encodeURIComponent(id)}/record`, { method: 'DELETE' });
export const takeBackLink = (id: string) =>
  request(`page/links/${encodeURIComponent(id)}`, { method: 'DELETE' });
export const makeLink = (note: string, ttlMinutes: number) =>
  post('page/links', { ...(note === '' ? {} : { note }), ttlMinutes }, newLinkSchema);
