/**
 * What was approved for longer than once, and the way to take it back.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { ApiError } from '../shared/api.ts';
import { revokeGrant } from './api.ts';
import { useResource } from './resource.ts';
import { type Grant, grantsSchema } from './schemas.ts';
import { TableFrame } from './table-frame.tsx';

const SCOPES: Readonly<Record<string, string>> = {
  call: 'one call',
  session: 'one session',
  permanent: 'always',
};

export function Grants() {
  const grants = useResource('operator/api/grants', grantsSchema, 10_000);
  const error = useSignal('');
  const all = grants.value?.grants ?? [];
  const revoke = async ({ id }: Grant) => {
    try {
      await revokeGrant(id);
      grants.reload((value) => ({ grants: value.grants.filter((grant) => grant.id !== id) }));
    } catch (problem) {
      error.value = problem instanceof ApiError ? problem.message : 'It did not work.';
    }
  };
  return (
    <section class="panel" aria-labelledby="grants">
      <h2 id="grants">Grants</h2>
      <p class="problem" role="alert">
        {error.value}
      </p>
      {all.length === 0 ? (
        <p class="empty">Every request is asked about.</p>
      ) : (
        <TableFrame label="Grants">
          <table>
            <thead>
              <tr>
                <th scope="col">Tool</th>
                <th scope="col">Holds for</th>
                <th scope="col">Only with</th>
                <th scope="col">Since</th>
                <th scope="col">
                  <span class="visually-hidden">Take back</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {all.map((grant) => (
                <tr key={grant.id}>
                  <th scope="row">{grant.tool}</th>
                  <td>{SCOPES[grant.scope] ?? grant.scope}</td>
                  <td>{grant.args === '{}' ? 'anything' : <code>{grant.args}</code>}</td>
                  <td>{new Date(grant.createdAt).toLocaleString()}</td>
                  <td class="end">
                    <button
                      type="button"
                      class="small danger"
                      aria-label={`Take back the grant for ${grant.tool}`}
                      onClick={() => void revoke(grant)}
                    >
                      Take back
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableFrame>
      )}
    </section>
  );
}
