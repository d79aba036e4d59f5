// SPDX-License-Identifier: Apache-2.0
// Views of rotations. Each: id, title, about, controls, needs (what the scheme must have), and
// draw(context), which returns nodes and leaves its requests with context.ask.
import { lines, points } from './charts.js';
import { el, short } from './dom.js';
import { channels, circle } from './draw.js';
import { evaluation, evaluationOf } from './service.js';

const rows = (tensor) => tensor.shape[tensor.shape.length - 1];
const whole = (id, label, min, max, value) => ({ id, label, type: 'number', min, max, value });

const frequencies = {
  id: 'frequencies', title: 'Frequencies', needs: { op: 'frequencies', field: 'scaling' },
  about: 'Inverse frequency of each pair before and after scaling, and what the scaling ' +
    'multiplies it by. Where a scaling has bands, they are marked: above the fast band ' +
    'frequencies stay as they are, below the slow one they are divided by the factor.',
  async draw(context) {
    const { spec } = context, plain = context.only(spec, { scaling: 'none' });
    const after = await context.ask(evaluation(spec, { op: 'frequencies' }));
    const before = await context.ask(evaluation(plain, { op: 'frequencies' }));
    const f0 = before.outputs.inv_freq.data, f1 = after.outputs.inv_freq.data, full = after.spec;
    const length = full.original_max_position_embeddings;
    const bands = [['beta_fast', 'beta_slow'], ['high_freq_factor', 'low_freq_factor']]
      .find(([fast]) => full[fast] != null) ?? [];
    const marks = bands.map((name, i) => {
      const pair = f0.findIndex((f) => f * length / (2 * Math.PI) < full[name]);
      const at = pair < 0 ? f0.length - 1 : pair;
      return { label: `${name} = ${full[name]}`, dash: true,
        points: [{ x: at, y: f0[f0.length - 1] }, { x: at, y: f0[0] }] };
    });
    const series = [{ label: 'before', points: points(f0), wide: true },
      { label: `after (${full.scaling})`, points: points(f1) }, ...marks];
    const same = f0.length === f1.length;
    return [lines('Inverse frequencies', series,
      { x: 'pair', y: 'radians per token', yType: 'logarithmic' }),
    same ? lines('What scaling multiplies them by',
      [{ label: 'after / before', points: points(f1.map((f, i) => f / f0[i])) }],
      { x: 'pair', y: 'ratio', low: true }) : null,
    el('p', { class: 'note' },
      `attention factor ${short(after.outputs.attention_factor.data[0])}`)];
  },
};

const pairing = {
  id: 'pairing', title: 'Pairing', needs: { op: 'rotate', field: 'pairing' },
  about: 'Which channels one rotation mixes: basis vectors are rotated at position 1, and a line ' +
    'goes from a channel to each that it reaches. Twelve channels, whatever dim is.',
  async draw(context) {
    const dim = 12, x = Array.from({ length: dim * dim }, (_, i) => i % (dim + 1) === 0 ? 1 : 0);
    const at = Array(dim).fill(1), shown = [];
    for (const name of context.choices('pairing')) {
      const request = evaluationOf({ scheme: 'rope', dim, pairing: name }, at, x);
      const { y } = (await context.ask(request)).outputs;
      const mixes = at.map((_, i) => [...Array(dim).keys()].filter((k) =>
        y.data[i * dim + k] !== 0));
      shown.push(channels(name, mixes));
    }
    return [el('div', { class: 'figures' }, ...shown)];
  },
};

const rotation = {
  id: 'circle', title: 'Circle', needs: { op: 'table', output: 'cos' },
  about: 'The rotation of the fastest pair beside the slowest, and of one between, at a position ' +
    'and the eleven before it.',
  controls: [{ id: 'position', label: 'position', type: 'range', min: 0, max: 4096, value: 7 }],
  async draw(context) {
    const p = Number(context.controls.position), from = Math.max(0, p - 11);
    const { cos, sin } =
      (await context.ask(evaluation(context.spec, { op: 'table', positions: `${from}..${p}` })))
        .outputs;
    const n = rows(cos), last = cos.shape[0] - 1;
    const pick = [...new Set([0, n >> 1, n - 1])];
    return [el('div', { class: 'figures' }, ...pick.map((pair) => {
      const trail = Array.from({ length: last + 1 }, (_, i) =>
        ({ x: cos.data[i * n + pair], y: sin.data[i * n + pair] }));
      const radius = Math.max(1, Math.hypot(trail[0].x, trail[0].y));
      const name = pair === 0 ? 'fastest' : pair === n - 1 ? 'slowest' : 'middle';
      return circle(`pair ${pair} (${name}): cos ${short(cos.data[last * n + pair])}`, trail,
        radius);
    }))];
  },
};

// A fixed vector of unequal channels, so that no pair is special.
const vector = (dim, salt) =>
  Array.from({ length: dim }, (_, i) => ((i * 37 + salt * 11) % 29 - 14) / 8);

// Scores of a query at m with keys at m - distance, for start m: by rotating both.
async function scores(context, start, distances, dim) {
  const q = vector(dim, 1), k = vector(dim, 2);
  const x = q.concat(...distances.map(() => k));
  const at = [start, ...distances.map((d) => start - d)];
  const { y } = (await context.ask(evaluationOf(context.spec, at, x))).outputs;
  return distances.map((_, row) => {
    let sum = 0;
    for (let c = 0; c < dim; c++) sum += y.data[c] * y.data[(row + 1) * dim + c];
    return sum;
  });
}

const relative = {
  id: 'relative', title: 'Relative scores', needs: { op: 'rotate', field: 'pairing' },
  about: 'The score <R(m) q, R(n) k> of one q and k against m - n, from two starting points m: ' +
    'the curves lie on each other, since only the distance counts.',
  controls: [whole('start', 'first m', 0, 1000000, 100), whole('other', 'second m', 0, 1000000,
    50000), whole('n', 'distances', 8, 256, 96)],
  async draw(context) {
    const c = context.controls, n = Number(c.n), series = [];
    const dim = Number(context.spec.dim);
    const distances = [...Array(n).keys()];
    for (const m of [Number(c.start), Number(c.other)])
      series.push({ label: `m = ${m}`, points: points(await scores(context, m, distances, dim)),
        wide: series.length === 0, dash: series.length === 1 });
    const most = series[0].points.reduce((a, p, i) =>
      Math.max(a, Math.abs(p.y - series[1].points[i].y)), 0);
    return [lines('Score against distance', series, { x: 'm - n', y: 'score' }),
      el('p', { class: 'note' }, `Largest difference: ${short(most)}.`)];
  },
};

const decay = {
  id: 'decay', title: 'Decay bound', needs: { op: 'table', output: 'cos' },
  about: 'The bound of RoFormer on how much a score can vary at a distance (section 3.4.3): the ' +
    'mean of |S_j| over j, where S_j is the sum of exp(i distance theta) over the first j pairs.',
  controls: [whole('n', 'distances', 16, 1024, 256)],
  async draw(context) {
    const n = Number(context.controls.n);
    const { outputs } =
      await context.ask(evaluation(context.spec, { op: 'table', positions: `0..${n - 1}` }));
    const { cos, sin } = outputs, pairs = rows(cos), ys = [];
    for (let row = 0; row < cos.shape[0]; row++) {
      let re = 0, im = 0, sum = 0;
      for (let i = 0; i < pairs; i++) {
        re += cos.data[row * pairs + i];
        im += sin.data[row * pairs + i];
        sum += Math.hypot(re, im);
      }
      ys.push(sum / pairs);
    }
    return [lines('Relative upper bound', [{ label: 'bound', points: points(ys) }],
      { x: 'distance', y: 'mean |S_j|' })];
  },
};

export default [frequencies, pairing, rotation, relative, decay];
