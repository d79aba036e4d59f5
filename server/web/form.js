// SPDX-License-Identifier: Apache-2.0
// The form of a spec, built from /v1/schemes: a new scheme or field appears by itself. Presets come
// from /v1/models.
import { el } from './dom.js';

// Whether the scheme, with its scaling, takes the field.
export function applies(field, spec, fields) {
  const scaling = spec.scaling ?? fields.find((one) => one.name === 'scaling')?.default ?? 'none';
  return field.schemes.includes(spec.scheme) &&
    (!field.scalings || field.scalings.includes(scaling));
}

export const keep = (spec, fields) => Object.fromEntries(Object.entries(spec)
  .filter(([key]) => fields.some((one) => one.name === key && applies(one, spec, fields))));

function input(field, value, onchange) {
  const id = `field-${field.name}`, named = { id, name: field.name, onchange };
  const choices = field.choices ?? (field.type === 'boolean' ? ['true', 'false'] : null);
  if (choices) {
    const none = field.default == null && field.name !== 'scheme' ? [''] : [];
    return el('select', named, ...[...none, ...choices].map((choice) =>
      el('option', { value: choice, selected: String(value ?? field.default ?? '') === choice },
        choice)));
  }
  const number = field.type === 'integer' || field.type === 'number';
  return el('input', { ...named, type: 'text', inputmode: number ? 'decimal' : 'text',
    value: value ?? '', placeholder: field.default ?? '', spellcheck: 'false' });
}

function line(field, value, onchange) {
  const bounds = field.minimum ?? field.exclusiveMinimum;
  const range = bounds == null ? '' : ` (${bounds} to ${field.maximum ?? field.exclusiveMaximum})`;
  return el('div', {}, el('label', { for: `field-${field.name}`, title: field.meaning + range },
    field.name, field.unit ? el('small', {}, ` ${field.unit}`) : null),
  input(field, value, onchange));
}

function presets(models, choose) {
  if (!models.length) return [];
  const layers = models.flatMap((model) => model.layers.map((layer) =>
    ({ name: `${model.name}${model.layers.length > 1 ? `/${layer.applies_to}` : ''}`,
      spec: layer.spec })));
  const select = el('select', { id: 'model', onchange: () => {
    const layer = layers.find((one) => one.name === select.value);
    if (layer) choose(layer.spec);
  } }, el('option', { value: '' }, 'choose a model'), ...layers.map((layer) =>
    el('option', {}, layer.name)));
  return [el('div', {}, el('label', { for: 'model' }, 'model'), select)];
}

// set(spec): the user has changed it.
export function fill(form, { schemes, fields }, models, spec, set) {
  const scheme = schemes.find((one) => one.name === spec.scheme) ?? schemes[0];
  const change = (event) => set({ ...spec, [event.target.name]: event.target.value.trim() });
  const rows = fields.filter((field) => applies(field, spec, fields)).map((field) =>
    line(field, spec[field.name], change));
  form.replaceChildren(...presets(models, (chosen) => set(Object.fromEntries(
    Object.entries(chosen).map(([key, value]) => [key, Array.isArray(value) ? value.join(',')
      : String(value)])))), ...rows,
  el('p', { class: 'note' }, `${scheme.summary}. ${scheme.formula} (${scheme.source})`));
  form.onsubmit = (event) => event.preventDefault();
}
