# SPDX-License-Identifier: Apache-2.0
"""The smallest Python plugin: rope of one axis without scaling, in double precision.

    posref test 'exec:python3 harness/plugins/example.py' scheme=rope scaling=none op=rotate
"""
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import posref


def kernel(op, spec, inputs):
    plain = {"scheme": "rope", "scaling": "none", "partial": "leading", "direction": "forward"}
    if op != "rotate" or spec["pairing"] not in ("half", "interleaved") or \
            any(spec.get(key) != value for key, value in plain.items()):
        return None
    if len(inputs["positions"].shape) != 1:  # 2: several position axes
        return None
    dim, rotary = int(spec["dim"]), int(spec["rotary_dim"])
    positions, y = inputs["positions"].values(), inputs["x"].values()
    heads = len(y) // dim // len(positions)
    for row in range(len(y) // dim):
        for i in range(rotary // 2):
            angle = positions[row // heads] * float(spec["base"]) ** (-2 * i / rotary)
            pair = (i, i + rotary // 2) if spec["pairing"] == "half" else (2 * i, 2 * i + 1)
            first, second = (row * dim + channel for channel in pair)
            a, b = y[first], y[second]
            y[first] = a * math.cos(angle) - b * math.sin(angle)
            y[second] = b * math.cos(angle) + a * math.sin(angle)
    return {"y": y}


posref.serve(kernel, name="example.py", version="1")
