/**
 * Pictures and files on their way to callers: state, attempts, route, age; another try, or none.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { ApiError } from '../shared/api.ts';
import { span } from '../shared/format.ts';
import { now } from '../shared/now.ts';
import { changeDelivery } from './api.ts';
import { useResource } from './resource.ts';
import { type Delivery, deliveriesSchema } from './schemas.ts';
import { TableFrame } from './table-frame.tsx';

const STATES: Readonly<Record<Delivery['state'], readonly [text: string, tone: 'good' | 'busy' | 'bad']>> = {
  pending: ['waiting', 'busy'],
  sending: ['sending', 'busy'],
  sent: ['sent', 'good'],
  retryable: ['will try again', 'busy'],
  dead_letter: ['given up', 'bad'],
  unknown: ['nobody knows', 'bad'],
};
const FILTERS = ['all', 'pending', 'sending', 'retryable', 'unknown', 'dead_letter', 'sent'] as const;

export function DeliveriesView({ has }: { has: boolean }) {
  const filter = useSignal<(typeof FILTERS)[number]>('all');
  const error = useSignal('');
  const query = filter.value === 'all' ? '' : `&status=${filter.value}`;
  const deliveries = useResource(`operator/api/deliveries?limit=100${query}`, deliveriesSchema, 4000);
  const all = deliveries.value?.deliveries ?? [];
  const change = async (id: string, what: 'retry' | 'drop') => {
    error.value = '';
    try {
      const { delivery } = await changeDelivery(id, what);
      deliveries.reload((value) => ({
        deliveries: value.deliveries.map((each) => (each.id === id ? delivery : each)),
      }));
    } catch (problem) {
      error.value = problem instanceof ApiError ? problem.message : 'It did not work.';
    }
  };
  return (
    <>
      <div class="view-head">
        <h1>Deliveries</h1>
        <select
          aria-label="Which deliveries"
          value={filter.value}
          onChange={({ currentTarget: { value } }) => {
            filter.value = FILTERS.find((each) => each === value) ?? 'all';
          }}
        >
          {FILTERS.map((name) => (
            <option key={name} value={name}>
              {name === 'all' ? 'all' : STATES[name][0]}
            </option>
          ))}
        </select>
      </div>
      {!has && (
        <p class="hint">No media tool is authorized in the config; what was sent before is still here.</p>
      )}
      <section class="panel" aria-label="Deliveries">
        <p class="problem" role="alert">
          {error.value}
        </p>
        {all.length === 0 ? (
          <p class="empty">{deliveries.value ? 'Nothing was sent.' : (deliveries.error ?? 'Loading…')}</p>
        ) : (
          <TableFrame label="Deliveries">
            <table>
              <thead>
                <tr>
                  <th scope="col">State</th>
                  <th scope="col">What</th>
                  <th scope="col">Route</th>
                  <th scope="col" class="number">
                    Attempts
                  </th>
                  <th scope="col">Age</th>
                  <th scope="col">Last failure</th>
                  <th scope="col">Call</th>
                  <th scope="col">
                    <span class="visually-hidden">Do</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {all.map((delivery) => (
                  <Row key={delivery.id} delivery={delivery} onChange={change} />
                ))}
              </tbody>
            </table>
          </TableFrame>
        )}
      </section>
    </>
  );
}

function Row(props: { delivery: Delivery; onChange: (id: string, what: 'retry' | 'drop') => Promise<void> }) {
  const { delivery, onChange } = props;
  const [text, tone] = STATES[delivery.state];
  const name = `${delivery.kind} of call ${delivery.call.slice(0, 8)}`;
  return (
    <tr>
      <th scope="row">
        <span class={`chip chip-${tone}`}>{text}</span>
      </th>
      <td>{delivery.kind}</td>
      <td>{delivery.route}</td>
      <td class="number">{delivery.attempts}</td>
      <td title={new Date(delivery.createdAt).toLocaleString()}>{span(now.value - delivery.createdAt)}</td>
      <td>{delivery.why ?? <span class="dim">–</span>}</td>
      <td>
        <a href={`#calls/${encodeURIComponent(delivery.call)}`}>
          <code>{delivery.call.slice(0, 8)}</code>
        </a>
      </td>
      <td class="end">
        {delivery.canRetry && (
          <button
            type="button"
            class="small"
            aria-label={`Try again: ${name}`}
            onClick={() => void onChange(delivery.id, 'retry')}
          >
            Try again
          </button>
        )}
        {delivery.canDrop && (
          <button
            type="button"
            class="small danger"
            aria-label={`Drop: ${name}`}
            onClick={() => void onChange(delivery.id, 'drop')}
          >
            Drop
          </button>
        )}
      </td>
    </tr>
  );
}
