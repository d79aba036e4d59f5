// SPDX-License-Identifier: Apache-2.0
// A plugin in JavaScript: rope without scaling, in double precision, F64 and F32.
//
//     posref test 'exec:node harness/plugins/example.mjs' scheme=rope scaling=none op=rotate
import { readSync, writeSync } from "node:fs";

const ARRAYS = { F64: Float64Array, F32: Float32Array, I64: BigInt64Array, I32: Int32Array };

function read(size) {
  const bytes = new Uint8Array(size);
  for (let got = 0; got < size;) {
    const n = readSync(0, bytes, got, size - got, null);
    if (n === 0) return null;
    got += n;
  }
  return bytes;
}

function write(bytes) {
  for (let done = 0; done < bytes.length;) done += writeSync(1, bytes, done);
}

function length(bytes) {
  return Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true));
}

// A length in 8 bytes, then a safetensors document: another length, the header, the data.
function readFrame() {
  const size = read(8);
  if (size === null) return null;
  const document = read(length(size));
  const headerSize = length(document);
  const header = JSON.parse(new TextDecoder().decode(document.subarray(8, 8 + headerSize)));
  const { __metadata__: metadata = {}, ...entries } = header;
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(entries)) {
    const data = document.slice(8 + headerSize + begin, 8 + headerSize + end).buffer;
    tensors[name] = { dtype, shape, data: dtype in ARRAYS ? new ARRAYS[dtype](data) : null };
  }
  return { metadata, tensors };
}

function writeFrame(metadata, tensors = {}) {
  const header = { __metadata__: metadata };
  let offset = 0;
  for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [offset, offset + data.byteLength] };
    offset += data.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const frame = new Uint8Array(16 + text.length + offset);
  const view = new DataView(frame.buffer);
  view.setBigUint64(0, BigInt(8 + text.length + offset), true);
  view.setBigUint64(8, BigInt(text.length), true);
  frame.set(text, 16);
  let at = 16 + text.length;
  for (const { data } of Object.values(tensors)) {
    frame.set(new Uint8Array(data.buffer), at);
    at += data.byteLength;
  }
  write(frame);
}

function rotate(spec, { positions, x }) {
  const dim = Number(spec.dim), rotary = Number(spec.rotary_dim), y = x.data.slice();
  const rows = y.length / dim, heads = rows / positions.data.length;
  for (let row = 0; row < rows; row++) {
    const position = Number(positions.data[Math.floor(row / heads)]);
    for (let i = 0; i < rotary / 2; i++) {
      const angle = position * Number(spec.base) ** (-2 * i / rotary);
      const [first, second] = (spec.pairing === "half" ? [i, i + rotary / 2] : [2 * i, 2 * i + 1])
        .map((channel) => row * dim + channel);
      const a = y[first], b = y[second];
      y[first] = a * Math.cos(angle) - b * Math.sin(angle);
      y[second] = b * Math.cos(angle) + a * Math.sin(angle);
    }
  }
  return { y: { dtype: x.dtype, shape: x.shape, data: y } };
}

function does(op, spec, { positions, x }) {
  return op === "rotate" && spec.scheme === "rope" && spec.scaling === "none" &&
    spec.partial === "leading" && spec.direction === "forward" &&
    ["half", "interleaved"].includes(spec.pairing) && positions.shape.length === 1 &&
    (x.dtype === "F64" || x.dtype === "F32");
}

for (let frame; (frame = readFrame()) !== null;) {
  const { metadata, tensors } = frame;
  if (metadata.call === "open") {
    writeFrame({ status: "ok", name: "example.mjs", version: "1" });
    continue;
  }
  const spec = Object.fromEntries(metadata.spec.split(" ").map((word) => word.split("=")));
  if (does(metadata.op, spec, tensors))
    writeFrame({ status: "ok" }, rotate(spec, tensors));
  else
    writeFrame({ status: "unsupported", why: "plain rope of one axis in F64 and F32 only" });
}
