# SPDX-License-Identifier: Apache-2.0
"""A Python kernel as a posref plugin, with the standard library, and numpy if there.

    import posref
    def kernel(op, spec, inputs):           # spec: {"dim": "64", ..., "layout": "plain"};
                                            # inputs: {"x": Tensor, ...}
        if op != "rotate" or spec["scaling"] != "none" or spec["pairing"] != "half":
            return None                     # declined (or raise posref.Unsupported("why"))
        return {"y": my_rotation(inputs["x"].numpy(), inputs["positions"].numpy())}
    posref.serve(kernel, name="mine", version="1")     # layouts="bhsd bshd": taken too

Run by `posref test 'exec:python3 mine.py'`. docs/plugin.md has the protocol. Outputs may be Tensors,
numpy arrays, or (nested) lists; they are converted to the dtype that was asked for.
"""
import bisect
import json
import math
import os
import struct
import sys

try:
    import numpy
except ImportError:
    numpy = None

# How struct packs an element; BF16 and the 8-bit ones go through their bits.
_CODES = {"F64": "d", "F32": "f", "F16": "e", "BF16": "H", "F8_E4M3": "B", "F8_E5M2": "B",
          "I32": "i", "I64": "q"}
_NUMPY = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I32": "<i4", "I64": "<i8"}


def _float8_values(fraction_bits, bias, finite):
    """What the codes 0 to 127 mean."""
    steps, last, values = 1 << fraction_bits, 127 >> fraction_bits, []
    for code in range(128):
        exponent, fraction = code >> fraction_bits, code % steps
        if exponent == last and not (finite and fraction < steps - 1):
            values.append(float("inf") if fraction == 0 else float("nan"))
        elif exponent == 0:
            values.append(fraction / steps * 2.0 ** (1 - bias))
        else:
            values.append((1 + fraction / steps) * 2.0 ** (exponent - bias))
    return values


# Of each 8-bit dtype the values, and the code where numbers end: infinity, or NaN without one.
_FLOAT8 = {"F8_E4M3": (_float8_values(3, 7, True), 0x7F),
           "F8_E5M2": (_float8_values(2, 15, False), 0x7C)}


def _from_float8(code, dtype):
    value = _FLOAT8[dtype][0][code & 127]
    return -value if code > 127 else value


def _to_float8(value, dtype):
    """The code of the nearest value, ties to the even code; beyond the largest, where numbers end."""
    values, end = _FLOAT8[dtype]
    size, sign = abs(value), 128 if math.copysign(1, value) < 0 else 0
    if size != size:
        return sign | 0x7F
    code = bisect.bisect_left(values, size, 0, end)
    if code == 0 or (code < end and values[code] == size):
        return sign | code
    below = values[code - 1]  # beyond the largest lies what would come next, were there one
    above = values[code] if code < end else 2 * below - values[code - 2]
    up = size - below > above - size or (size - below == above - size and code % 2 == 0)
    return sign | (code if up else code - 1)


class Unsupported(Exception):
    """Raised by a kernel: it does not do this call."""


def _from_bf16(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def _to_bf16(value):
    """The bits of the nearest bfloat16, ties to even."""
    (bits,) = struct.unpack("<I", _float32(value))
    if bits & 0x7FFFFFFF > 0x7F800000:
        return bits >> 16 | 0x40  # a NaN stays one
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def _float32(value):
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


class Tensor:
    """A dtype (as safetensors spells it), a shape, and the elements' bytes (little endian)."""

    def __init__(self, dtype, shape, data):
        self.dtype, self.shape, self.data = dtype, tuple(shape), bytes(data)

    def values(self):
        """The elements as a flat list of numbers."""
        n = len(self.data) // struct.calcsize(_CODES[self.dtype])
        numbers = struct.unpack("<%d%s" % (n, _CODES[self.dtype]), self.data)
        if self.dtype in _FLOAT8:
            return [_from_float8(code, self.dtype) for code in numbers]
        return [_from_bf16(bits) for bits in numbers] if self.dtype == "BF16" else list(numbers)

    def numpy(self):
        """A numpy array: of this dtype, for BF16 and 8 bits of float32 with the same values."""
        if numpy is None:
            raise RuntimeError("numpy is not installed; use values()")
        if self.dtype == "BF16":
            wide = numpy.frombuffer(self.data, "<u2").astype("<u4") << 16
            return wide.view("<f4").reshape(self.shape)
        if self.dtype in _FLOAT8:
            return numpy.array(self.values(), "<f4").reshape(self.shape)
        return numpy.frombuffer(self.data, _NUMPY[self.dtype]).reshape(self.shape)


def _flatten(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _flatten(part)
    else:
        yield value


def _encode(value, dtype):
    """The bytes of an output in the dtype that was asked for."""
    if isinstance(value, Tensor):
        if value.dtype == dtype:
            return value.data
        value = value.values()
    if numpy is not None and isinstance(value, numpy.ndarray) and dtype in _NUMPY:
        with numpy.errstate(over="ignore"):
            return numpy.ascontiguousarray(value).astype(_NUMPY[dtype]).tobytes()
    numbers = list(_flatten(value))
    if dtype == "BF16":
        return struct.pack("<%dH" % len(numbers), *(_to_bf16(number) for number in numbers))
    if dtype in _FLOAT8:
        return bytes(_to_float8(number, dtype) for number in numbers)
    if dtype in ("I32", "I64"):
        return struct.pack("<%d%s" % (len(numbers), _CODES[dtype]), *map(int, numbers))
    if dtype == "F32":
        return b"".join(_float32(number) for number in numbers)
    return struct.pack("<%d%s" % (len(numbers), _CODES[dtype]), *numbers)


def _write(stream, metadata, tensors=()):
    """One frame: the length of a safetensors document, and the document."""
    header, data = {"__metadata__": metadata}, b""
    for name, dtype, shape, content in tensors:
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    document = struct.pack("<Q", len(text)) + text + data
    stream.write(struct.pack("<Q", len(document)) + document)
    stream.flush()


def _read(stream):
    """The metadata and tensors of the next frame; None at the end."""
    length = stream.read(8)
    if len(length) < 8:
        return None
    document = stream.read(struct.unpack("<Q", length)[0])
    (size,) = struct.unpack("<Q", document[:8])
    header = json.loads(document[8:8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = Tensor(entry["dtype"], entry["shape"],
                               document[8 + size + begin:8 + size + end])
    return metadata, tensors


def _pairs(text):
    return dict(word.split("=", 1) for word in text.split())


def _answer(kernel, metadata, inputs):
    """The reply to a run: metadata, tensors."""
    try:
        spec = dict(_pairs(metadata["spec"]), layout=metadata.get("layout", "plain"))
        result = kernel(metadata["op"], spec, inputs)
    except Unsupported as why:
        return {"status": "unsupported", "why": str(why)}, ()
    except Exception as error:  # the kernel's failure is a verdict, not the end of the run
        return {"status": "error", "why": "%s: %s" % (type(error).__name__, error)}, ()
    if result is None:
        return {"status": "unsupported", "why": ""}, ()
    tensors = []
    for output in json.loads(metadata["outputs"]):
        if output["name"] in result:
            tensors.append((output["name"], output["dtype"], output["shape"],
                            _encode(result[output["name"]], output["dtype"])))
    return {"status": "ok"}, tensors


def serve(kernel, name="", version="", configure=None, varies=False, layouts="", dtypes=""):
    """Answers calls until posref closes the input. configure(config), if given, gets what the user
    said by --config, {"key": "value"}, before the first call. varies: results may differ in their
    last bits from call to call. layouts names those that the kernel takes beside plain tensors,
    dtypes the 8-bit ones that it takes ("f8e4m3 f8e5m2")."""
    # The protocol moves to a descriptor of its own, so that a print() goes to the report.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    requests = sys.stdin.buffer
    while True:
        frame = _read(requests)
        if frame is None:
            return
        metadata, inputs = frame
        if metadata["call"] == "open":
            reply = {"status": "ok", "name": name, "version": version, "layouts": layouts,
                     "dtypes": dtypes}
            if varies:
                reply["varies"] = "yes"
            config = _pairs(metadata["config"])
            try:
                if configure is not None:
                    configure(config)
                elif config:
                    reply = {"status": "error", "why": "takes no --config"}
            except Exception as error:
                reply = {"status": "error", "why": str(error)}
            _write(replies, reply)
            continue
        try:
            reply, tensors = _answer(kernel, metadata, inputs)
            _write(replies, reply, tensors)
        except (TypeError, ValueError, struct.error) as error:
            _write(replies, {"status": "error", "why": "an output cannot be encoded: %s" % error})
