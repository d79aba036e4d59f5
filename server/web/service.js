// SPDX-License-Identifier: Apache-2.0
// Requests to the service this page came from. A refused one throws an Error with its detail.
import { toQuery } from './state.js';

const answers = new Map(); // of GET requests, the newest 40

async function parse(response) {
  const body = await response.json();
  if (response.ok) return body;
  throw Object.assign(new Error(body.detail ?? response.statusText), { problem: body });
}

export async function get(url) {
  if (!answers.has(url)) {
    answers.set(url, fetch(url).then(parse));
    if (answers.size > 40) answers.delete(answers.keys().next().value);
    answers.get(url).catch(() => answers.delete(url));
  }
  return answers.get(url);
}

export async function post(url, body, type = 'application/json') {
  return parse(await fetch(url, { method: 'POST', headers: { 'Content-Type': type }, body }));
}

// A request for an evaluation: {url} or, where x is long, {url, body}.
export const evaluation = (spec, more) => ({ url: `/v1/eval?${toQuery({ ...spec, ...more })}` });

export function evaluationOf(spec, positions, x) {
  const typed = Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== ''));
  return { url: '/v1/eval', body: JSON.stringify({
    spec: typed, op: 'rotate', inputs: { positions: { shape: [positions.length], data: positions },
      x: { shape: [positions.length, x.length / positions.length], data: x } } }) };
}

export async function answer(request) {
  return request.body ? post(request.url, request.body) : get(request.url);
}

const quoted = (text) => `'${text.replace(/'/g, `'\\''`)}'`;

export function curlLine(request) {
  const url = quoted(location.origin + request.url);
  if (!request.body) return `curl ${url}`;
  return `curl ${url} -H 'Content-Type: application/json' -d ${quoted(request.body)}`;
}
