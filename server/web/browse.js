// SPDX-License-Identifier: Apache-2.0
// The vectors of the database: a filter, a page of them, one of them.
import { el, short } from './dom.js';

import { toQuery } from './state.js';

function tensorRows(kind, tensors) {
  return Object.entries(tensors).map(([name, t]) => el('tr', {}, el('td', {}, kind),
    el('td', {}, name), el('td', {}, `[${t.shape.join(', ')}]`),
    el('td', { class: 'number' }, t.data.slice(0, 4).map(short).join(', ') +
      (t.data.length > 4 ? ', ...' : ''))));
}

async function one(context, id) {
  const vector = await context.ask({ url: `/v1/vectors/${id}` });
  return [el('h3', {}, vector.id), el('p', { class: 'note' },
    `${vector.op}; flags: ${vector.flags.join(', ')}; ${vector.source}`),
  el('p', {}, el('a', { href: context.link('check', { id }) }, 'check an output of this vector'),
    ' · ', el('a', { href: context.link(context.state.view, { id: '' }) }, 'back to the list')),
  el('div', { class: 'scroll' }, el('table', {}, ...tensorRows('input', vector.inputs),
    ...tensorRows('golden', vector.outputs))),
  el('pre', {}, JSON.stringify(vector.spec, null, 1))];
}

export default [{
  id: 'vectors', title: 'Vectors', needs: {}, plain: true,
  about: 'The golden vectors. Conditions as for curl: scheme=rope scaling=yarn flag=boundary ' +
    'op=rotate, separated by blanks; id= is the beginning of an id.',
  controls: [{ id: 'filter', label: 'conditions', type: 'text', value: '' },
    { id: 'after', type: 'hidden', value: '' }, { id: 'id', type: 'hidden', value: '' }],
  async draw(context) {
    const { filter, after, id } = context.controls;
    if (id) return one(context, id);
    const conditions = Object.fromEntries(filter.split(/\s+/).filter(Boolean)
      .map((word) => word.split(/=(.*)/s)).map(([key, value = '']) => [key, value]));
    const page = await context.ask(
      { url: `/v1/vectors?${toQuery({ ...conditions, limit: 50, after })}` });
    const list = page.vectors.map((vector) => el('tr', {},
      el('td', {}, el('a', { href: context.link('vectors', { id: vector.id }) }, vector.id)),
      el('td', {}, vector.op), el('td', {}, vector.suite),
      el('td', { class: 'flags' }, vector.flags.join(', '))));
    const next = page.next && new URL(page.next, location.origin).searchParams.get('after');
    return [el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'vectors' },
      el('table', {}, el('tr', {}, ...['id', 'op', 'suite', 'flags'].map((name) =>
        el('th', {}, name))), ...list)),
    el('p', {}, page.vectors.length ? '' : 'None.', next
      ? el('a', { href: context.link('vectors', { after: next }) }, 'next page') : '')];
  },
}];
