// SPDX-License-Identifier: Apache-2.0
// Elements from a description, so that no text ever becomes markup.

export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, '');
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child != null));
  return node;
}

export const css = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function figure(caption, ...content) {
  return el('figure', {}, ...content, el('figcaption', {}, caption));
}

// Six digits for people; the data has them all.
export function short(value) {
  if (typeof value !== 'number') return String(value);
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}
