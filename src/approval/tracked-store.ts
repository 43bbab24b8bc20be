import type { Clock } from '../clock.ts';
import type { ApprovalStore } from '../store/index.ts';

/** The store, with virtual time standing still while it works; on the machine's clock it is the store itself. */
export function trackedStore(store: ApprovalStore, clock: Clock): ApprovalStore {
  if (clock.kind === 'real') return store;
  const tracked =
    <Args extends readonly unknown[], T>(operation: (...args: Args) => Promise<T>) =>
    (...args: Args): Promise<T> =>
      clock.track(operation(...args));
  // A watch calls from outside of virtual time: whoever lives in it looks by itself.
  return {
    insertApproval: tracked((approval) => store.insertApproval(approval)),
    getApproval: tracked((id) => store.getApproval(id)),
    listApprovals: tracked((options) => store.listApprovals(options)),
    changeApproval: tracked((id, expected, change, event, grant) =>
      store.changeApproval(id, expected, change, event, grant),
    ),
    addApprovalEvent: tracked((id, event) => store.addApprovalEvent(id, event)),
    listApprovalEvents: tracked((id) => store.listApprovalEvents(id)),
    addGrant: tracked((grant) => store.addGrant(grant)),
    listGrants: tracked((query) => store.listGrants(query)),
    listAllGrants: tracked((limit) => store.listAllGrants(limit)),
    revokeGrants: tracked((which, at) => store.revokeGrants(which, at)),
    lastApprovalChange: tracked(() => store.lastApprovalChange()),
    listApprovalChanges: tracked((since, limit) => store.listApprovalChanges(since, limit)),
    pinSalt: tracked(() => store.pinSalt()),
    takePinTry: tracked((pinTry, limits) => store.takePinTry(pinTry, limits)),
    forgivePinTry: tracked((id) => store.forgivePinTry(id)),
    mayTryPin: tracked((numberHash, limits) => store.mayTryPin(numberHash, limits)),
    rememberMessage: tracked((keyHash, at, max) => store.rememberMessage(keyHash, at, max)),
    sweepGuards: tracked((olderThan) => store.sweepGuards(olderThan)),
  };
}
