// SPDX-License-Identifier: Apache-2.0
// The page: address to state, state to form and view. Whatever is shown can be linked to.
import axes from './views_axes.js';
import browse from './browse.js';
import check from './check.js';
import { makeCharts } from './charts.js';
import { el } from './dom.js';
import { fill, keep } from './form.js';
import rope from './views_rope.js';
import { answer, curlLine, get } from './service.js';
import { read, write } from './state.js';
import table from './views_table.js';

const [tableView, curves, similarity, bias, values] = table;
const views = [tableView, curves, ...rope, similarity, bias, ...axes, values, ...browse, ...check];
const start = { dim: '64', num_heads: '8' }; // for fields that have no default
const form = document.getElementById('spec'), main = document.getElementById('main');
let known, models = [], state, drawing = 0;

const fieldNames = () => known.fields.map((field) => field.name);
const schemeOf = (spec) => known.schemes.find((one) => one.name === spec.scheme);

// The spec with the fields that its scheme requires, when nothing was typed.
function complete(spec) {
  const out = { ...spec, scheme: spec.scheme ?? known.schemes[0].name };
  for (const [name, value] of Object.entries(start))
    if (out[name] == null && schemeOf(out)?.fields.includes(name)) out[name] = value;
  return out;
}

// Whether a scheme can be shown in a view; the name of one that can, or nothing.
function fits(view, scheme) {
  const { op, field, output } = view.needs;
  return (!op || scheme.ops.includes(op)) && (!field || scheme.fields.includes(field)) &&
    (output !== 'cos' || scheme.ops.includes('frequencies'));
}

function go(next) {
  const address = write(next);
  if (location.hash === address) show();
  else location.hash = address;
}

function navigation() {
  const links = views.map((view) => el('a',
    { id: `view-${view.id}`, href: write({ view: view.id, spec: state.spec, controls: {} }),
      'aria-current': view.id === state.view ? 'page' : null }, view.title));
  document.getElementById('views').replaceChildren(...links);
  // On a phone they are one row that moves sideways.
  links[views.findIndex((view) => view.id === state.view)].scrollIntoView(
    { block: 'nearest', inline: 'nearest' });
}

function control(view, one) {
  const value = state.controls[one.id] ?? String(one.value), id = `control-${one.id}`;
  if (one.type === 'hidden') return null;
  const change = (event) => {
    const { [one.id]: old, after, ...rest } = state.controls;
    go({ ...state, controls: { ...rest, [one.id]: event.target.value } });
  };
  const made = one.type === 'choice'
    ? el('select', { id, onchange: change }, ...one.choices.map((choice) =>
      el('option', { selected: choice === value }, choice)))
    : el('input', { id, type: one.type, min: one.min, max: one.max, value, onchange: change });
  const told = one.type === 'range' ? el('output', { for: id }, value) : null;
  if (told) made.addEventListener('input', () => { told.textContent = made.value; });
  return el('div', {}, el('label', { for: id }, one.label), made, told);
}

function source(requests) {
  const blob = (text) => URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const download = (request, i) => el('a', { download: `${state.view}-${i + 1}.json`,
    href: request.body ? blob(JSON.stringify(request.result)) : request.url }, `data ${i + 1}`);
  return el('section', { class: 'source', 'aria-label': 'Data' }, el('h3', {}, 'Data'),
    el('p', {}, ...requests.flatMap((request, i) => [download(request, i), ' ']),
      el('a', { href: write(state) }, 'link to this view')),
    ...requests.map((request) => el('pre', {}, curlLine(request))));
}

function context(requests) {
  const view = views.find((one) => one.id === state.view);
  const defaults = Object.fromEntries((view.controls ?? []).map((one) =>
    [one.id, String(one.value)]));
  return { state, spec: keep(state.spec, known.fields),
    controls: { ...defaults, ...state.controls },
    async ask(request) {
      requests.push(request);
      request.result = await answer(request);
      return request.result;
    },
    only: (spec, more) => keep({ ...spec, ...more }, known.fields),
    choices: (name) => known.fields.find((field) => field.name === name).choices,
    has: (op) => schemeOf(state.spec).ops.includes(op),
    link(to, controls) {
      const { filter } = state.controls;
      return write({ view: to, spec: state.spec,
        controls: filter && to === 'vectors' ? { ...controls, filter } : controls });
    } };
}

async function content(view, requests) {
  const able = known.schemes.filter((scheme) => fits(view, scheme));
  if (fits(view, schemeOf(state.spec))) return view.draw(context(requests));
  return [el('p', { class: 'note' }, able.length ? `${state.spec.scheme} has no such view. Of: `
    : 'No scheme of this service has such a view.', ...able.flatMap((scheme) => [el('a',
    { href: write({ ...state, spec: { scheme: scheme.name } }) }, scheme.name), ' ']))];
}

// Elements are made anew; who had the focus has it still.
function keepingFocus(change) {
  const id = document.activeElement?.id;
  change();
  if (id && document.activeElement?.id !== id) document.getElementById(id)?.focus();
}

async function show() {
  const mine = ++drawing;
  state = read(location.hash);
  if (!views.some((view) => view.id === state.view)) state.view = views[0].id;
  state.spec = complete(Object.fromEntries(Object.entries(state.spec).filter(([key]) =>
    fieldNames().includes(key))));
  if (!schemeOf(state.spec)) state.spec = complete({});
  const view = views.find((one) => one.id === state.view), requests = [];
  keepingFocus(() => {
    navigation();
    fill(form, known, models, state.spec, (spec) => go({ ...state, spec: keep(complete(spec),
      known.fields) }));
  });
  form.hidden = Boolean(view.plain);
  main.dataset.state = 'loading';
  let nodes;
  try {
    nodes = (await content(view, requests)).filter(Boolean);
  } catch (error) {
    nodes = [el('p', { class: 'error' }, error.message)];
  }
  if (mine !== drawing) return; // another change came meanwhile
  keepingFocus(() => main.replaceChildren(el('h2', {}, view.title),
    el('p', { class: 'about' }, view.about),
    el('div', { class: 'controls' }, ...(view.controls ?? []).map((one) =>
      control(view, one)).filter(Boolean)), ...nodes, source(requests)));
  makeCharts();
  main.dataset.state = 'ready';
}

function theme() {
  const button = document.getElementById('theme');
  const isDark = () => getComputedStyle(document.documentElement).colorScheme === 'dark';
  const tell = () => button.setAttribute('aria-pressed', String(isDark()));
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    tell();
    show();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { tell(); show(); });
  tell();
}

try {
  known = await get('/v1/schemes');
  models = (await get('/v1/models')).models;
  window.addEventListener('hashchange', show);
  theme();
  await show();
} catch (error) {
  main.replaceChildren(el('p', { class: 'error' }, `The service did not answer: ${error.message}`));
  main.dataset.state = 'failed';
}
