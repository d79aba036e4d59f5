// SPDX-License-Identifier: Apache-2.0
// A failing output dropped or pasted: what the service says of it.
import { el, short } from './dom.js';
import { post } from './service.js';

function verdict(result) {
  const w = result.worst, passed = result.verdict === 'pass';
  const claims = result.explanations.filter((one) => one.covers); // runners-up are no claims
  const said = claims.map((one) => [el('h3', {}, one.summary),
    el('p', {}, one.advice ?? ''), el('p', { class: 'note' },
      `${one.fault}: ${one.formula ?? ''} (fits within ${short(one.residual)} of the limit)`),
    ...(one.not_told_from ?? []).map((other) => el('p', { class: 'note' },
      `This vector does not tell it from ${other.fault}: ${other.formula}`))]);
  return [el('p', { class: passed ? 'pass' : 'fail' },
    `${result.verdict}, grade ${result.grade} (${result.dtype}, needs ${result.gate})`),
  result.breach ? el('p', {}, result.breach) : null,
  w ? el('p', {}, `Worst: ${w.tensor}[${(w.index ?? [w.element]).join(', ')}]` +
    `${w.position == null ? '' : `, position ${w.position}`}: got ${short(w.got)}, want ` +
    `${short(w.want)}, ${short(w.error_limits)} of its limit.`) : null,
  ...said.flat(),
  passed || said.length ? null : el('p', { class: 'note' }, 'No known fault fits.')];
}

export default [{
  id: 'check', title: 'Check', needs: {}, plain: true,
  about: 'Is an output right, and if not, why? Name a vector, and drop what a kernel computed ' +
    'from its inputs: a safetensors file, or JSON {"outputs": {NAME: {"shape", "data"}}}.',
  controls: [{ id: 'id', label: 'vector', type: 'text',
    value: 'rope/half/none/d64-b1e4/near' }, { id: 'dtype', label: 'computed in', type: 'choice',
    choices: ['', 'f64', 'f32', 'f16', 'bf16'], value: '' }],
  async draw(context) {
    const { id, dtype } = context.controls;
    const vector = await context.ask({ url: `/v1/vectors/${id}?answers=false` });
    const address = `/v1/vectors/${id}/check${dtype ? `?dtype=${dtype}` : ''}`;
    const result = el('div', { role: 'status', id: 'result' });
    const judge = async (body, type) => {
      try {
        result.replaceChildren(...verdict(await post(address, body, type)).filter(Boolean));
      } catch (error) {
        result.replaceChildren(el('p', { class: 'error' }, error.message));
      }
    };
    const text = el('textarea', { 'aria-label': 'outputs as JSON', spellcheck: 'false' });
    text.value = JSON.stringify({ outputs: { y: vector.inputs.x } });
    const take = async (file) => {
      const bytes = await file.arrayBuffer();
      const json = new Uint8Array(bytes)[0] === 123;
      await judge(bytes, json ? 'application/json' : 'application/vnd.safetensors');
    };
    const drop = el('div', { class: 'drop',
      ondragover: (event) => { event.preventDefault(); drop.classList.add('over'); },
      ondragleave: () => drop.classList.remove('over'),
      ondrop: (event) => {
        event.preventDefault();
        drop.classList.remove('over');
        if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
      } }, el('label', {}, 'Drop a file here, or choose one: ', el('input', { type: 'file',
      onchange: (event) => event.target.files[0] && take(event.target.files[0]) })));
    const button = el('button', { type: 'button', id: 'judge',
      onclick: () => judge(text.value, 'application/json') }, 'Check what is pasted');
    if (context.controls.run) button.click();
    return [drop, el('p', { class: 'note' }, 'Or paste JSON (to begin with, x unrotated):'), text,
      el('p', {}, button), result];
  },
}];
