import type { Clock } from '../../clock.ts';
import type { Logger } from '../../observe/index.ts';
import type { Recogniser } from '../../speech/index.ts';
import type { Approvals } from '../approvals.ts';
import type { Policy } from '../policy.ts';
import type { ApprovalFloor } from './floor.ts';
import type { PinGuard } from './pins.ts';
import type { Wording } from './wording.ts';

/** What everything that asks on one line needs. */
export interface LineOptions {
  readonly floor: ApprovalFloor;
  readonly approvals: Approvals;
  readonly policy: () => Policy;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly wording: Wording;
  readonly locale: string;
  /** `null` where the locale has none: then speech never decides. */
  readonly recogniser: Recogniser | null;
  readonly pins: PinGuard;
  /** Draws digits; for tests. */
  readonly random?: (below: number) => number;
}
