import { describe, expect, it } from 'vitest';
import { realtimeConfigSchema } from '../../src/config.ts';
import { admit, revisionOf } from '../../src/media/authorization.ts';

const AVAILABLE = new Set(['send_test_image', 'send_chart']);
const entry = (tool: string, required = false) => ({ tool, required });

describe('the authorization of media tools', () => {
  it('is empty unless somebody wrote one: a session has no media tools', () => {
    const { tools } = realtimeConfigSchema.parse({});

    expect(tools.authorization).toEqual([]);
    expect(admit(tools.authorization, AVAILABLE).tools).toEqual([]);
  });

  it('gives a session what is listed and there, and nothing else', () => {
    expect(admit([entry('send_chart')], AVAILABLE).tools).toEqual(['send_chart']);
  });

  it('leaves out an optional tool that is not there', () => {
    expect(admit([entry('send_map'), entry('send_chart', true)], AVAILABLE).tools).toEqual(['send_chart']);
  });

  it('refuses the session when a required tool is not there, and names the tool', () => {
    expect(() => admit([entry('send_map', true)], AVAILABLE)).toThrow(
      expect.objectContaining({
        code: 'MEDIA_TOOL_UNAVAILABLE',
        message: expect.stringContaining("'send_map'"),
      }),
    );
  });

  it('takes no tool twice, in the config and at admission', () => {
    const twice = [entry('send_chart'), entry('send_chart', true)];

    const parsed = realtimeConfigSchema.safeParse({ tools: { authorization: twice } });

    expect(parsed.error?.issues).toMatchObject([{ path: ['tools', 'authorization', 1, 'tool'] }]);
    expect(() => admit(twice, AVAILABLE)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('has a revision that follows from what it says and not from its order', () => {
    const a = [entry('send_chart'), entry('send_file')];

    expect(revisionOf(a)).toBe(revisionOf([...a].reverse()));
    expect(revisionOf(a)).not.toBe(revisionOf([entry('send_chart', true), entry('send_file')]));
    expect(admit(a, AVAILABLE).revision).toBe(revisionOf(a));
  });
});
