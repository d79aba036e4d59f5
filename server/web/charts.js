// SPDX-License-Identifier: Apache-2.0
// Line charts by Chart.js, in the page's own colours.
import { css, el, figure } from './dom.js';

let live = [], waiting = [];

// Ends the charts of the view before, and makes those whose canvas has come into the document.
export function makeCharts() {
  for (const chart of live) chart.destroy();
  live = waiting.filter(([canvas]) => canvas.isConnected)
    .map(([canvas, config]) => new window.Chart(canvas, config));
  waiting = [];
}

function axis(title, type) {
  return { type, title: { display: true, text: title, color: css('--faint') },
    ticks: { color: css('--faint') }, grid: { color: css('--line') } };
}

function dataset(series, index) {
  const colour = series.colour ?? css(`--s${index % 6}`);
  return { label: series.label, data: series.points, borderColor: colour, backgroundColor: colour,
    borderWidth: series.wide ? 5 : 1.5, borderDash: series.dash ? [6, 4] : [],
    order: series.wide ? 1 : 0, // beneath the others
    pointRadius: series.points.length > 40 ? 0 : 2, showLine: true };
}

// series: {label, points: [{x, y}], dash, wide}. Returns a figure to append; makeCharts fills it.
export function lines(caption, series, { x, y, xType = 'linear', yType = 'linear', low,
  yLeast, yMost } = {}) {
  if (!window.Chart)
    return figure(caption, el('p', { class: 'note' },
      'This build has no chart library; see Data.'));
  const canvas = el('canvas', { role: 'img', 'aria-label': `${caption}: ${y} against ${x}; ` +
    series.map((one) => one.label).join(', ') });
  const box = el('div', { class: low ? 'plot low' : 'plot' }, canvas);
  waiting.push([canvas, {
    type: 'line', data: { datasets: series.map(dataset) },
    options: { animation: false, responsive: true, maintainAspectRatio: false, parsing: false,
      normalized: true, interaction: { mode: 'nearest', axis: 'x', intersect: false },
      scales: { x: axis(x, xType), y: { ...axis(y, yType),
        suggestedMin: yLeast, suggestedMax: yMost } },
      plugins: { legend: { display: series.length > 1, labels: { color: css('--ink') } } } },
  }]);
  return figure(caption, box);
}

export const points = (ys, xs) => Array.from(ys, (y, i) => ({ x: xs ? xs[i] : i, y }));
