# SPDX-License-Identifier: Apache-2.0
"""A PyTorch kernel as a plugin: tensors in, tensors out. Put your kernel where `rotate_half` is.

    posref test 'exec:python3 harness/plugins/example_torch.py' op=rotate scaling=none pairing=half
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import posref
import torch

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16,
          "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32}


def to_torch(tensor):
    """Bit for bit; bytearray, since torch wants memory that it may write."""
    return torch.frombuffer(bytearray(tensor.data), dtype=DTYPES[tensor.dtype]).reshape(tensor.shape)


def to_posref(tensor, dtype):
    raw = tensor.contiguous().view(torch.uint8).cpu().numpy().tobytes()
    return posref.Tensor(dtype, tensor.shape, raw)


def rotate_half(x, positions, base, rotary):
    """Angles in float64, so that the example is right at every position."""
    exponent = torch.arange(0, rotary, 2, dtype=torch.float64) / rotary
    angle = positions.to(torch.float64)[:, None] * base ** -exponent
    cos, sin = angle.cos(), angle.sin()
    if x.dim() == 3:
        cos, sin = cos[:, None], sin[:, None]
    wide = x.to(torch.float64)
    first, second, rest = wide.split([rotary // 2, rotary // 2, x.shape[-1] - rotary], dim=-1)
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin, rest), dim=-1)
    return turned.to(x.dtype)


def kernel(op, spec, inputs):
    plain = {"scheme": "rope", "scaling": "none", "partial": "leading", "direction": "forward",
             "pairing": "half"}
    if op != "rotate" or any(spec.get(key) != value for key, value in plain.items()):
        return None
    if len(inputs["positions"].shape) != 1:  # 2: several position axes
        return None
    x = to_torch(inputs["x"])
    y = rotate_half(x, to_torch(inputs["positions"]), float(spec["base"]), int(spec["rotary_dim"]))
    return {"y": to_posref(y, inputs["x"].dtype)}


posref.serve(kernel, name="example_torch.py", version=torch.__version__)
