// SPDX-License-Identifier: Apache-2.0
// Rotations over several axes (time, height, width). Written as in views_rope.js.
import { lines, points } from './charts.js';
import { el, short } from './dom.js';
import { heat } from './draw.js';
import { evaluation } from './service.js';

const whole = (id, label, min, max, value) => ({ id, label, type: 'number', min, max, value });
const names = ['time', 'height', 'width', 'fourth axis'];

// The spec as typed when it has axes, else one of three unequal axes.
function withAxes(context) {
  const { spec } = context;
  if (spec.axes_dims || spec.mrope_section) return spec;
  return { scheme: 'rope', dim: '64', axes_dims: '16,24,24', pairing: 'interleaved' };
}

const countAxes = (spec) => (spec.axes_dims ?? spec.mrope_section).split(',').length;

// n positions that move along one axis only.
const along = (axis, axes, n) => Array.from({ length: n }, (_, i) =>
  Array.from({ length: axes }, (__, a) => a === axis ? i : 0).join(':')).join(',');

const oneByOne = {
  id: 'axes', title: 'Three axes', needs: { op: 'table', field: 'axes_dims' },
  about: 'The angle of each pair while a position moves along one axis alone: only the pairs of ' +
    'that axis turn. A spec without axes is replaced by axes_dims=16,24,24.',
  controls: [whole('n', 'positions', 4, 128, 48)],
  async draw(context) {
    const spec = withAxes(context), axes = countAxes(spec), shown = [];
    for (let axis = 0; axis < axes; axis++) {
      const { outputs } = await context.ask(evaluation(spec,
        { op: 'table', positions: along(axis, axes, Number(context.controls.n)) }));
      const t = outputs.sin;
      shown.push(heat(`sin while ${names[axis]} moves`, t.data, t.shape[0], t.shape[1],
        { row: 'position', column: 'pair' }));
    }
    return [el('div', { class: 'figures' }, ...shown)];
  },
};

const shift = {
  id: 'shift', title: 'Common shift', needs: { op: 'rotate', field: 'axes_dims' },
  about: 'The score of a query and a key that lie (3, 5, 7) apart, while both are shifted by the ' +
    'same amount along one axis: it stays the same.',
  controls: [whole('n', 'shifts', 4, 64, 32)],
  async draw(context) {
    const spec = withAxes(context), axes = countAxes(spec), n = Number(context.controls.n);
    const dim = Number(spec.dim), series = [];
    const x = Array.from({ length: 2 * n * dim }, (_, i) => ((i % (2 * dim)) * 37 % 29 - 14) / 8);
    for (let axis = 0; axis < axes; axis++) {
      const place = (i, key, a) => (a === axis ? i : 0) + (key ? 0 : 2 * a + 3);
      const list = Array.from({ length: axes }, (_, a) => Array.from({ length: 2 * n }, (__, k) =>
        place(k >> 1, k & 1, a))).flat();
      const request = { url: '/v1/eval', body: JSON.stringify({ spec, op: 'rotate', inputs: {
        positions: { shape: [axes, 2 * n], data: list }, x: { shape: [2 * n, dim], data: x } } }) };
      const { y } = (await context.ask(request)).outputs;
      const ys = Array.from({ length: n }, (_, i) => {
        let sum = 0;
        for (let c = 0; c < dim; c++)
          sum += y.data[2 * i * dim + c] * y.data[(2 * i + 1) * dim + c];
        return sum;
      });
      series.push({ label: `shift of ${names[axis]}`, points: points(ys), wide: axis === 0,
        dash: axis === axes - 1 });
    }
    const all = series.flatMap((one) => one.points.map((p) => p.y));
    return [lines('Score under a common shift', series, { x: 'shift', y: 'score',
      yLeast: Math.min(...all) - 1, yMost: Math.max(...all) + 1 }), // rounding is no movement
      el('p', { class: 'note' },
        `Between ${short(Math.min(...all))} and ${short(Math.max(...all))}.`)];
  },
};

export default [oneByOne, shift];
