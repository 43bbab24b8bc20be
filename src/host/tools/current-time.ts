/**
 * `current_time`: date, time and weekday.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import { type Tool, toolError, toolText } from '../registry-tool.ts';
import { strictParameters, textArg } from './arguments.ts';

/** `2026-08-23 14:05 (Sunday) (Europe/Paris, UTC+02:00)` */
export function describeTime(wallMs: number, timezone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    weekday: 'long',
    timeZoneName: 'longOffset',
  });
  const part = new Map(format.formatToParts(wallMs).map(({ type, value }) => [type, value]));
  const get = (type: Intl.DateTimeFormatPartTypes) => part.get(type) ?? '';
  const offset = get('timeZoneName').replace('GMT', 'UTC');
  return (
    `${get('year')}-${get('month')}-${get('day')} ${get('hour')}:${get('minute')} (${get('weekday')}) ` +
    `(${timezone}, ${offset === 'UTC' ? 'UTC+00:00' : offset})`
  );
}

const machineTimezone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** @param timezone - IANA name used when the call gives none; the machine's own when `null` */
export function currentTimeTool(clock: Clock, timezone: string | null): Tool {
  return {
    name: 'current_time',
    description: 'Tell the date, the time of day and the weekday.',
    parameters: strictParameters({
      timezone: {
        type: 'string',
        description: "IANA time zone, e.g. 'Europe/Paris' (default: the user's own)",
      },
    }),
    readOnly: true,
    execute: async (args) => {
      const zone = textArg(args, 'timezone')?.trim() || timezone || machineTimezone();
      try {
        return toolText(describeTime(clock.wallNow(), zone));
      } catch {
        return toolError(`Error: Unknown timezone: ${zone}`);
      }
    },
  };
}
