// SPDX-License-Identifier: Apache-2.0
// What Chart.js has no form for: heat maps, the channels that mix, the unit circle.
import { css, el, figure, short } from './dom.js';

const dark = () => getComputedStyle(document.documentElement).colorScheme === 'dark';

// -1 to 1 as blue, the ground, red; colour-blind people tell these apart.
function colour(value) {
  const t = Math.max(-1, Math.min(1, value)), from = dark() ? [24, 28, 34] : [255, 255, 255];
  const to = t < 0 ? (dark() ? [120, 180, 255] : [8, 72, 160]) : (dark() ? [255, 160, 90]
    : [190, 60, 10]);
  return from.map((c, i) => Math.round(c + Math.abs(t) * (to[i] - c)));
}

// rows x columns of row-major data. Arrow keys and the pointer move a cursor; an output tells the
// value under it.
export function heat(caption, data, rows, columns, { row, column, of = (v) => short(v) }) {
  const finite = data.filter(Number.isFinite);
  const most = finite.reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1;
  const canvas = el('canvas', { class: 'map', width: columns, height: rows, tabindex: 0,
    role: 'application', 'aria-roledescription': 'heat map',
    'aria-label': `${caption}: ${rows} ${row}s by ${columns} ${column}s; arrow keys read values` });
  const image = new ImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++)
    image.data.set([...colour(Number(data[i]) / most), 255], 4 * i);
  canvas.getContext('2d').putImageData(image, 0, 0);
  const reading = el('output', {}, `colours: -${short(most)} (blue) to ${short(most)} (orange)`);
  let at = [0, 0];
  const tell = (r, c) => {
    at = [Math.max(0, Math.min(rows - 1, r)), Math.max(0, Math.min(columns - 1, c))];
    const value = data[at[0] * columns + at[1]];
    reading.textContent = `${row} ${at[0]}, ${column} ${at[1]}: ${of(value)}`;
  };
  canvas.addEventListener('pointermove', (event) => tell(
    Math.floor(event.offsetY / canvas.clientHeight * rows),
    Math.floor(event.offsetX / canvas.clientWidth * columns)));
  canvas.addEventListener('keydown', (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!step[event.key]) return;
    event.preventDefault();
    tell(at[0] + step[event.key][0], at[1] + step[event.key][1]);
  });
  return figure(caption, canvas, reading);
}

function surface(width, height, label) {
  const ratio = window.devicePixelRatio || 1;
  const canvas = el('canvas', { class: 'square', width: width * ratio, height: height * ratio,
    role: 'img', 'aria-label': label });
  const pen = canvas.getContext('2d');
  pen.scale(ratio, ratio);
  pen.font = '12px system-ui, sans-serif';
  return [canvas, pen];
}

// mixes[in] lists the output channels that input channel `in` reaches.
export function channels(caption, mixes) {
  const n = mixes.length, step = 360 / n, x = (i) => 20 + (i + 0.5) * step;
  const [canvas, pen] = surface(400, 190, `${caption}: ` +
    mixes.map((to, i) => `${i} to ${to.join(' and ')}`).join('; '));
  pen.textAlign = 'center';
  mixes.forEach((to, i) => {
    const partner = Math.min(i, ...to.filter((other) => other !== i));
    pen.strokeStyle = css(`--s${partner % 6}`);
    pen.lineWidth = 1.5;
    for (const other of to) {
      pen.beginPath();
      pen.moveTo(x(i), 35);
      pen.lineTo(x(other), 150);
      pen.stroke();
    }
    pen.fillStyle = css('--ink');
    pen.fillText(i, x(i), 26);
    pen.fillText(i, x(i), 168);
  });
  pen.fillStyle = css('--faint');
  pen.textAlign = 'left';
  pen.fillText('channels of x', 4, 12);
  pen.fillText('channels of y', 4, 184);
  return figure(caption, canvas);
}

// trail: [{x, y}], the last is the point.
export function circle(caption, trail, radius) {
  const size = 220, middle = size / 2, scale = 90 / radius, point = trail.at(-1);
  const [canvas, pen] = surface(size, size, `${caption}: cos ${short(point.x)}, ` +
    `sin ${short(point.y)}`);
  const place = (p) => [middle + p.x * scale, middle - p.y * scale];
  pen.strokeStyle = css('--line');
  pen.beginPath();
  pen.arc(middle, middle, 90, 0, 2 * Math.PI);
  pen.moveTo(10, middle);
  pen.lineTo(size - 10, middle);
  pen.moveTo(middle, 10);
  pen.lineTo(middle, size - 10);
  pen.stroke();
  trail.forEach((p, i) => {
    pen.globalAlpha = (i + 1) / trail.length;
    pen.fillStyle = css(i === trail.length - 1 ? '--s1' : '--s0');
    pen.beginPath();
    pen.arc(...place(p), i === trail.length - 1 ? 7 : 3, 0, 2 * Math.PI);
    pen.fill();
  });
  pen.globalAlpha = 1;
  pen.strokeStyle = css('--s1');
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(middle, middle);
  pen.lineTo(...place(point));
  pen.stroke();
  const whole = figure(caption, canvas);
  whole.classList.add('small');
  return whole;
}
