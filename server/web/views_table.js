// SPDX-License-Identifier: Apache-2.0
// Views of tables and biases: whatever scheme has them. Written as in views_rope.js.
import { lines, points } from './charts.js';
import { el, short } from './dom.js';
import { heat } from './draw.js';
import { evaluation } from './service.js';

const whole = (id, label, min, max, value) => ({ id, label, type: 'number', min, max, value });

// The two-dimensional tensors of real numbers among the outputs, by name.
const tables = (outputs) => Object.entries(outputs).filter(([, t]) => t.shape.length === 2);

const ask = (context, positions) =>
  context.ask(evaluation(context.spec, { op: 'table', positions }));

const table = {
  id: 'table', title: 'Table', needs: { op: 'table' },
  about: 'The whole table as a heat map: a row is a position, a column a pair or a channel.',
  controls: [whole('from', 'first position', 0, 2147480000, 0), whole('n', 'positions', 4, 512,
    96)],
  async draw(context) {
    const from = Number(context.controls.from), n = Number(context.controls.n);
    const { outputs } = await ask(context, `${from}..${from + n - 1}`);
    return [el('div', { class: 'figures' }, ...tables(outputs).map(([name, t]) =>
      heat(name, t.data, t.shape[0], t.shape[1], { row: 'row', column: 'column' })))];
  },
};

const curves = {
  id: 'curves', title: 'Curves', needs: { op: 'table' },
  about: 'Single columns against position, and the wavelength of each pair where the scheme has ' +
    'frequencies. Leave the columns empty for the first, a quarter, half and the last.',
  controls: [{ id: 'columns', label: 'columns', type: 'text', value: '' },
    whole('n', 'positions', 8, 1024, 200)],
  async draw(context) {
    const n = Number(context.controls.n);
    const [name, t] = tables((await ask(context, `0..${n - 1}`)).outputs)[0];
    const width = t.shape[1], typed = context.controls.columns.split(/[, ]+/).filter(Boolean);
    const wanted = typed.length ? typed.map(Number) : [0, width >> 2, width >> 1, width - 1];
    const columns = [...new Set(wanted)].filter((c) => c >= 0 && c < width).slice(0, 6);
    const shown = [lines(`Columns of ${name}`, columns.map((c) => ({ label: `column ${c}`,
      points: points(Array.from({ length: t.shape[0] }, (_, row) => t.data[row * width + c])) })),
    { x: 'position', y: name })];
    if (context.has('frequencies')) {
      const f = (await context.ask(evaluation(context.spec, { op: 'frequencies' }))).outputs;
      if (f.inv_freq)
        shown.push(lines('Wavelengths', [{ label: 'wavelength',
          points: points(f.inv_freq.data.map((w) => 2 * Math.PI / w)) }],
        { x: 'pair', y: 'tokens in a turn', yType: 'logarithmic', low: true }));
    }
    return shown;
  },
};

// Cosine of the angle between rows a and b of the tables side by side.
function similarity(parts, a, b) {
  let ab = 0, aa = 0, bb = 0;
  for (const t of parts) {
    const width = t.shape[1];
    for (let c = 0; c < width; c++) {
      const x = t.data[a * width + c], y = t.data[b * width + c];
      ab += x * y;
      aa += x * x;
      bb += y * y;
    }
  }
  return ab / Math.sqrt(aa * bb);
}

const alike = {
  id: 'similarity', title: 'Similarity', needs: { op: 'table' },
  about: 'Cosine similarity of the encodings of two positions against their distance, from three ' +
    'starts. Where only the distance counts, the curves lie on each other.',
  controls: [{ id: 'starts', label: 'starts', type: 'text', value: '0,100,2000' },
    whole('n', 'distances', 8, 512, 200)],
  async draw(context) {
    const n = Number(context.controls.n), series = [];
    for (const start of context.controls.starts.split(/[, ]+/).filter(Boolean).slice(0, 3)) {
      const from = Number(start);
      const parts = tables((await ask(context, `${from}..${from + n}`)).outputs).map(([, t]) => t);
      const ys = Array.from({ length: parts[0].shape[0] }, (_, row) => similarity(parts, 0, row));
      series.push({ label: `from ${from}`, points: points(ys), wide: series.length === 0,
        dash: series.length === 2 });
    }
    return [lines('Similarity against distance', series, { x: 'distance', y: 'cosine' })];
  },
};

// One head of [heads, rows, columns], or the whole of [rows, columns].
function slice(t, head) {
  const columns = t.shape.at(-1), rows = t.shape.at(-2), size = rows * columns;
  const first = t.shape.length > 2 ? head * size : 0;
  return [t.data.slice(first, first + size), rows, columns];
}

const bias = {
  id: 'bias', title: 'Bias', needs: { op: 'bias' },
  about: 'What is added to the scores: a row is a query, a column a key. Where the bias is ' +
    'learned, the bucket or index of each pair is shown, which picks the learned value.',
  controls: [whole('n', 'queries and keys', 2, 128, 32), whole('head', 'head', 0, 1023, 0)],
  async draw(context) {
    const n = Number(context.controls.n), positions = `0..${n - 1}`, shown = [];
    const { outputs } = await context.ask(evaluation(context.spec, { positions }));
    for (const [name, t] of Object.entries(outputs)) {
      if (t.shape.length < 2) {
        shown.push(lines(name, [{ label: name, points: points(t.data) }],
          { x: 'head', y: name, yType: 'logarithmic', low: true }));
        continue;
      }
      const heads = t.shape.length > 2 ? t.shape[0] : 1;
      const head = Math.min(Number(context.controls.head), heads - 1);
      shown.unshift(heat(heads > 1 ? `${name}, head ${head}` : name, ...slice(t, head),
        { row: 'query', column: 'key' }));
    }
    return [el('div', { class: 'figures' }, ...shown)];
  },
};

const values = {
  id: 'values', title: 'Values', needs: {},
  about: 'Every output as numbers, for any positions as they are typed for curl: 0,1,7 or 0..15 ' +
    'or 0..60/4; with several axes 1:2:3,4:5:6.',
  controls: [{ id: 'positions', label: 'positions', type: 'text', value: '0,1,2,3' }],
  async draw(context) {
    const { outputs, spec } =
      await context.ask(evaluation(context.spec, { positions: context.controls.positions }));
    const shown = Object.entries(outputs).map(([name, t]) => {
      const columns = t.shape.at(-1) ?? 1, rows = t.data.length / columns;
      const cells = (row) => t.data.slice(row * columns, row * columns + Math.min(columns, 64))
        .map((value) => el('td', { class: 'number' }, short(value)));
      return [el('h3', {}, `${name} [${t.shape.join(', ')}]`), el('div', { class: 'scroll',
        tabindex: 0, role: 'region', 'aria-label': name }, el('table', {},
        ...Array.from({ length: Math.min(rows, 64) }, (_, row) => el('tr', {}, ...cells(row)))))];
    });
    return [el('h3', {}, 'Spec, every field'), el('pre', {}, JSON.stringify(spec, null, 1)),
      ...shown.flat()];
  },
};

export default [table, curves, alike, bias, values];
