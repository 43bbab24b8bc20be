import { afterEach, describe, expect, it } from 'vitest';
import { closePageRigs, pageRig, until } from './rig.ts';

afterEach(closePageRigs);

const GATE = { requireApproval: ['delete_*'], defaultMode: 'inline' as const };
const ID = '0123456789abcdef0123456789abcdef';

async function asked(who: 'owner' | 'guest', config: Parameters<typeof pageRig>[0] = {}) {
  const rig = await pageRig({ toolGate: GATE, ...config });
  const headers = await rig[who]();
  const page = await rig.call(headers);
  const { callId } = await page.next('welcome');
  await page.greeted();
  page.say({ type: 'text', text: 'use delete_file {"path":"old.txt"}' });
  const request = await page.next('approval', ({ status }) => status === 'pending');
  return { rig, headers, page, callId, request };
}

describe('the buttons of an owner’s page', () => {
  it('approve what waits: button pressed, tool ran, and the page is told of every step', async () => {
    const { rig, page, request } = await asked('owner');
    expect(request).toMatchObject({
      tool: 'delete_file',
      canDecide: true,
      args: expect.stringContaining('old.txt'),
    });
    expect(request.summary).toContain('old.txt');
    expect(rig.gate?.tools.ran).toEqual([]);

    page.say({ type: 'approval.decide', id: request.id, approve: true, scope: 'once' });

    await page.next('approval', ({ status }) => status === 'executed');
    expect(rig.gate?.tools.ran).toMatchObject([{ name: 'delete_file', args: { path: 'old.txt' } }]);
    const record = await rig.gate?.store.getApproval(request.id);
    expect(record).toMatchObject({ decidedBy: 'operator', decidedInput: 'button', grantScope: 'once' });
    const states = page.events.flatMap((each) => (each.type === 'approval' ? [each.status] : []));
    expect(states.slice(0, 1)).toEqual(['pending']);
    expect(states.slice(-1)).toEqual(['executed']);
  });

  it('deny, and nothing runs', async () => {
    const { rig, page, request } = await asked('owner');

    page.say({ type: 'approval.decide', id: request.id, approve: false });

    expect(await page.next('approval', ({ status }) => status === 'denied')).toMatchObject({
      canDecide: false,
    });
    expect(rig.gate?.tools.ran).toEqual([]);
    page.say({ type: 'approval.decide', id: request.id, approve: true });
    expect(await page.next('error')).toMatchObject({ code: 'APPROVAL_REFUSED' });
    expect(rig.gate?.tools.ran).toEqual([]);
  });

  it('decide nothing that is another call’s and another session’s, and nothing that is not there', async () => {
    const { rig, page } = await asked('guest');
    const [other] = (await rig.gate?.store.listApprovals({ status: ['pending'] })) ?? [];
    const owner = await rig.call(await rig.owner());

    owner.say({ type: 'approval.decide', id: other?.id ?? '', approve: true });
    expect(await owner.next('error')).toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
    owner.say({ type: 'approval.decide', id: ID, approve: true });
    await until('the second refusal', () => owner.events.filter(({ type }) => type === 'error').length === 2);

    expect(owner.events.filter(({ type }) => type === 'approval')).toEqual([]);
    expect(rig.gate?.tools.ran).toEqual([]);
    page.close(1000);
  });

  it('are not there where the config lets no button decide, nor for whoever asked themselves', async () => {
    const keys = await asked('owner', { toolGate: { ...GATE, inline: { inputs: ['keypad'] } } });
    expect(keys.request.canDecide).toBe(false);
    keys.page.say({ type: 'approval.decide', id: keys.request.id, approve: true });
    expect(await keys.page.next('error')).toMatchObject({ code: 'APPROVAL_REFUSED' });
    await closePageRigs();

    const own = await asked('owner', { toolGate: { ...GATE, separateRequester: true } });
    expect(own.request.canDecide).toBe(false);
    own.page.say({ type: 'approval.decide', id: own.request.id, approve: true });
    expect(await own.page.next('error')).toMatchObject({ code: 'APPROVAL_REFUSED' });
    expect(own.rig.gate?.tools.ran).toEqual([]);
  });

  it('come again with what waits after a broken connection', async () => {
    const { rig, headers, page, callId, request } = await asked('owner');
    page.cut();
    await until('it is lost', () => rig.desk.call(callId)?.isAttached === false);

    const back = await rig.call(headers, { callId });

    const again = await back.next('approval', ({ id }) => id === request.id);
    expect(again.canDecide).toBe(true);
    back.say({ type: 'approval.decide', id: request.id, approve: true });
    await until('the tool ran', () => rig.gate?.tools.ran.length === 1);
  });

  it('follow a decision that was taken on the board', async () => {
    const { rig, page, request } = await asked('owner');

    await rig.post(
      `/operator/api/approvals/${request.id}/decision`,
      { decision: 'approve' },
      { authorization: `Bearer ${rig.token}` },
    );

    await page.next('approval', ({ status }) => status === 'executed');
    expect(rig.gate?.tools.ran).toHaveLength(1);
  });
});

describe('a guest’s page', () => {
  it('sees that something waits, no argument of it, and decides nothing', async () => {
    const { rig, page, request } = await asked('guest');

    expect(request).toMatchObject({ canDecide: false, summary: 'The agent wants to use delete_file.' });
    expect(JSON.stringify(page.events)).not.toContain('old.txt');
    page.say({ type: 'approval.decide', id: request.id, approve: true });
    expect(await page.next('error')).toMatchObject({ code: 'APPROVAL_REFUSED' });
    page.say({ type: 'approval.decide', id: request.id, approve: false });
    await until('the second refusal', () => page.events.filter(({ type }) => type === 'error').length === 2);
    expect(rig.gate?.tools.ran).toEqual([]);
    expect((await rig.gate?.store.getApproval(request.id))?.status).toBe('pending');
  });

  it('decides what the config lets it, once, and for its own call only', async () => {
    const { rig, page, request } = await asked('guest', {
      config: { page: { guests: { decide: ['delete_*'] } } },
    });
    expect(request.canDecide).toBe(true);
    expect(request.summary).toContain('old.txt');
    const other = await rig.call(await rig.guest());
    other.say({ type: 'approval.decide', id: request.id, approve: true });
    expect(await other.next('error')).toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
    page.say({ type: 'approval.decide', id: request.id, approve: true, scope: 'session' });
    expect(await page.next('error')).toMatchObject({ code: 'APPROVAL_REFUSED' });

    page.say({ type: 'approval.decide', id: request.id, approve: true, scope: 'once' });

    await until('the tool ran', () => rig.gate?.tools.ran.length === 1);
    expect((await rig.gate?.store.getApproval(request.id))?.decidedBy).toBe('guest');
  });
});
