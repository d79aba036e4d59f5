#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Holds reports against their schemas, by a validator that is not ours.
"""
    fits_schema.py SCHEMAS FILE...

SCHEMAS is the directory of the schemas, which must be JSON Schema of 2020-12 themselves. A file
of lines (*.jsonl) holds a run, any other a report. Prints what does not fit, and exits 1.
"""
import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator

store = {}
for path in Path(sys.argv[1]).glob("*.schema.json"):
    store[path.name] = json.loads(path.read_text())
    Draft202012Validator.check_schema(store[path.name])


def validator(name):
    try:
        from referencing import Registry, Resource
        registry = Registry().with_resources(
            (key, Resource.from_contents(schema)) for key, schema in store.items())
        return Draft202012Validator(store[name], registry=registry)
    except (ImportError, TypeError):  # jsonschema before 4.18
        from jsonschema import RefResolver
        return Draft202012Validator(store[name],
                                    resolver=RefResolver(name, store[name], store=store))


RUN, REPORT = validator("run.schema.json"), validator("report.schema.json")
good = True
for name in sys.argv[2:]:
    text = Path(name).read_text()
    lines = name.endswith(".jsonl")
    for number, value in enumerate(text.splitlines() if lines else [text], 1):
        for error in (RUN if lines else REPORT).iter_errors(json.loads(value)):
            good = False
            print(f"{name}:{number}: {error.json_path}: {error.message:.200}")
            break
sys.exit(not good)
