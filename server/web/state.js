// SPDX-License-Identifier: Apache-2.0
// What the page shows, kept in the address: #VIEW?KEY=VALUE&..., the view's own controls as v.NAME.

// Readable where a URL allows it: positions=0..15 and ids stay as they are.
const encode = (text) => encodeURIComponent(text).replace(/%(2C|3A|2F)/g, decodeURIComponent);

export function toQuery(pairs) {
  return Object.entries(pairs).filter(([, value]) => value !== '' && value != null)
    .map(([key, value]) => `${encode(key)}=${encode(value)}`).join('&');
}

export function read(hash) {
  const [view, query = ''] = hash.replace(/^#/, '').split(/\?(.*)/s);
  const state = { view, spec: {}, controls: {} };
  for (const [key, value] of new URLSearchParams(query.replace(/\+/g, '%2B'))) {
    if (key.startsWith('v.')) state.controls[key.slice(2)] = value;
    else state.spec[key] = value;
  }
  return state;
}

export function write(state) {
  const controls = Object.fromEntries(
    Object.entries(state.controls).map(([key, value]) => [`v.${key}`, value]));
  return `#${state.view}?${toQuery({ ...state.spec, ...controls })}`;
}
