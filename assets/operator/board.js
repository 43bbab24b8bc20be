// The operator's board. Reads everything once, then follows changes over a WebSocket; decides by POST only.
const COLUMNS = ['Waiting', 'Approved', 'Running', 'Done', 'Failed', 'Denied', 'Expired', 'Cancelled', 'Unknown'];
const BUTTONS = {
  Waiting: [
    ['Approve once', { decision: 'approve', scope: 'once' }],
    ['Approve for this call', { decision: 'approve', scope: 'call' }],
    ['Approve for this session', { decision: 'approve', scope: 'session' }],
    ['Always approve', { decision: 'approve', scope: 'permanent' }],
    ['Deny', { decision: 'deny' }],
  ],
  Unknown: [
    ['It happened', { resolution: 'happened' }],
    ['It didn’t', { resolution: 'did_not_happen' }],
  ],
};

const board = document.querySelector('#board');
const state = document.querySelector('#state');
const template = document.querySelector('#card');
const dialog = document.querySelector('#ask');
const confirmPolicy = document.querySelector('#confirm-policy');
const lists = new Map();
const cards = new Map();

for (const name of COLUMNS) {
  const section = document.createElement('section');
  section.setAttribute('aria-label', name);
  const heading = document.createElement('h2');
  const list = document.createElement('div');
  section.append(heading, list);
  board.append(section);
  lists.set(name, { list, heading });
}

function count() {
  for (const [name, { list, heading }] of lists) heading.textContent = `${name} (${list.children.length})`;
}

function fact(list, name, value) {
  if (value === null || value === undefined || value === '') return;
  const term = document.createElement('dt');
  const text = document.createElement('dd');
  term.textContent = name;
  text.textContent = value;
  list.append(term, text);
}

const when = (ms) => (ms === null ? null : new Date(ms).toLocaleString());

function show(approval) {
  const known = cards.get(approval.id);
  const hadFocus = known?.element.contains(document.activeElement) ?? false;
  const element = template.content.firstElementChild.cloneNode(true);
  element.dataset.id = approval.id;
  element.setAttribute('aria-label', `${approval.column}: ${approval.summary}`);
  element.querySelector('.tool').textContent = approval.tool;
  element.querySelector('.summary').textContent = approval.summary;
  element.querySelector('.arguments').textContent = JSON.stringify(approval.arguments, null, 2);
  const facts = element.querySelector('.facts');
  fact(facts, 'Asked by', approval.requester);
  fact(facts, 'At', when(approval.createdAt));
  fact(facts, 'On call', approval.callId ?? 'no call');
  if (approval.column === 'Waiting') fact(facts, 'Waits until', when(approval.expiresAt));
  fact(facts, 'Decided by', approval.decidedBy && `${approval.decidedBy} (${approval.decidedInput})`);
  fact(facts, 'Reason', approval.reason);
  fact(facts, 'Result', approval.outcome);
  fact(facts, 'Closed as', approval.resolution && (approval.resolution === 'happened' ? 'it happened' : 'it didn’t happen'));
  fact(facts, 'Request', approval.id);
  const actions = element.querySelector('.actions');
  for (const [text, body] of BUTTONS[approval.column] ?? []) {
    if (body.scope === 'call' && approval.callId === null) continue;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = text;
    button.addEventListener('click', () => ask(approval, text, body));
    actions.append(button);
  }
  known?.element.remove();
  lists.get(approval.column).list.prepend(element);
  cards.set(approval.id, { approval, element });
  if (hadFocus) element.focus();
  count();
}

async function ask(approval, text, body) {
  document.querySelector('#ask-text').textContent = `${text}: ${approval.summary}?`;
  const reason = document.querySelector('#ask-reason');
  document.querySelector('#ask-reason-label').hidden = body.decision !== 'deny';
  reason.value = '';
  dialog.returnValue = 'no';
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }));
  if (dialog.returnValue !== 'yes') return;
  const action = body.decision ? 'decision' : 'resolution';
  const sent = body.decision === 'deny' && reason.value !== '' ? { ...body, reason: reason.value } : body;
  const answer = await post(`operator/api/approvals/${approval.id}/${action}`, sent);
  if (answer.approval) show(answer.approval);
  else cards.get(approval.id).element.querySelector('.problem').textContent = answer.error?.message ?? 'It did not work.';
}

async function post(url, body) {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (response.status === 401) location.reload();
  return response.json().catch(() => ({}));
}

async function load() {
  const response = await fetch('operator/api/approvals?all');
  if (response.status === 401) return location.reload();
  const { approvals, policy } = await response.json();
  for (const { element } of cards.values()) element.remove();
  cards.clear();
  for (const approval of approvals.reverse()) show(approval);
  confirmPolicy.hidden = !policy.editWaits;
  count();
}

confirmPolicy.addEventListener('click', async () => {
  await post('operator/api/policy/confirm', {});
  await load();
});

let wait = 500;
function follow() {
  const url = new URL('operator/live', location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  const socket = new WebSocket(url);
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(data);
    if (message.type === 'hello') {
      wait = 500;
      state.textContent = 'Live';
      load();
    } else if (message.type === 'changed') show(message.approval);
  });
  socket.addEventListener('close', () => {
    state.textContent = 'Not connected; trying again…';
    setTimeout(follow, wait);
    wait = Math.min(wait * 2, 15000);
  });
}

document.addEventListener('keydown', (event) => {
  if (dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
  const all = [...document.querySelectorAll('.card')];
  const card = document.activeElement?.closest?.('.card');
  const at = card ? all.indexOf(card) : -1;
  const move = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (move && all.length > 0) {
    event.preventDefault();
    all[at < 0 ? 0 : (at + move + all.length) % all.length].focus();
    return;
  }
  const entry = card && cards.get(card.dataset.id);
  if (!entry || entry.approval.column !== 'Waiting') return;
  if (event.key.toLowerCase() === 'a') ask(entry.approval, 'Approve once', { decision: 'approve', scope: 'once' });
  else if (event.key.toLowerCase() === 'd') ask(entry.approval, 'Deny', { decision: 'deny' });
});

count();
follow();
