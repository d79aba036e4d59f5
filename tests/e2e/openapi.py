#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Exercises every operation of a running service from its own OpenAPI document.
"""
    openapi.py URL

Each operation is asked with a valid request, with every parameter it documents, and in every way
that should lead to a status it documents. What comes back must be documented: status, media type,
headers, schema. Statuses that only a broken or changing service gives (410, 500, 503) are left out.
Prints what is wrong and "N passed, M failed".
"""
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

BASE = sys.argv[1]
NOT_TO_BE_HAD = {"410", "500", "503"}
passed = failed = 0


def check(what, good, detail=""):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print(f"FAIL: {what}: {str(detail)[:300]}")


def ask(method, target, headers=None, body=None):
    request = urllib.request.Request(BASE + target, data=body, method=method,
                                     headers={"User-Agent": "openapi.py", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return str(answer.status), answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return str(error.code), error.headers, error.read()


_, _, text = ask("GET", "/openapi.json")
document = json.loads(text)


def resolve(node):
    while "$ref" in node:
        target = document
        for part in node["$ref"][2:].split("/"):
            target = target[part.replace("~1", "/")]
        node = target
    return node


TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool) or (
            isinstance(value, float) and value.is_integer())
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def problems(value, schema, where="$"):
    """What of the value the schema does not allow, as a list of texts."""
    if schema is True:
        return []
    schema = resolve(schema)
    out = []
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, name) for name in types):
        return [f"{where} is no {types}"]
    if "const" in schema and value != schema["const"]:
        out.append(f"{where} is not {schema['const']}")
    if "enum" in schema and value not in schema["enum"]:
        out.append(f"{where}: {value!r} is none of {schema['enum']}")
    if "oneOf" in schema and sum(not problems(value, one) for one in schema["oneOf"]) != 1:
        out.append(f"{where} fits not exactly one of oneOf")
    if "anyOf" in schema and all(problems(value, one) for one in schema["anyOf"]):
        out.append(f"{where} fits none of anyOf")
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        out.append(f"{where} does not match {schema['pattern']}")
    if is_type(value, "number"):
        if "minimum" in schema and value < schema["minimum"]:
            out.append(f"{where} is below {schema['minimum']}")
        if "maximum" in schema and value > schema["maximum"]:
            out.append(f"{where} is above {schema['maximum']}")
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            out.append(f"{where} is not above {schema['exclusiveMinimum']}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 1 << 30):
            out.append(f"{where} has {len(value)} items")
        for i, item in enumerate(value):
            out += problems(item, schema.get("items", True), f"{where}[{i}]")
    if isinstance(value, dict):
        out += [f"{where} has no {key}" for key in schema.get("required", []) if key not in value]
        known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        for key, item in value.items():
            if key in known:
                out += problems(item, known[key], f"{where}.{key}")
            elif more is False:
                out.append(f"{where} has an unknown member {key}")
            elif more is not True:
                out += problems(item, more, f"{where}.{key}")
    return out


VECTOR = "rope/half/none/d64-b1e4/near"
_, _, text = ask("GET", f"/v1/vectors/{VECTOR}")
vector = json.loads(text)
database = json.loads(ask("GET", "/v1/database")[2])
JSON = {"Content-Type": "application/json"}
# A valid request of each operation: path parameters, query, body.
EXAMPLES = {
    "problem": ({"name": "not-found"}, "", None),
    "web": ({"name": "app.js"}, "", None),
    "databaseFile": ({"sha256": database["sha256"]}, "", None),
    "diff": ({}, "a=dim%3D8&b=dim%3D8%26base%3D20000", None),
    "evalGet": ({}, "dim=8&positions=0..3", None),
    "evalPost": ({}, "", {"spec": {"dim": 8}, "inputs": {"positions": {"shape": [2],
                                                                       "data": [0, 3]}}}),
    "explain": ({}, "", {key: vector[key] for key in ("spec", "inputs", "outputs")}),
    "vectors": ({}, "limit=100", None),
    "vector": ({"id": VECTOR}, "", None),
    "check": ({"id": VECTOR}, "", {"outputs": {"y": vector["inputs"]["x"]}}),
    "resolve": ({}, "", {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
                         "rope_theta": 10000.0}),
}
NOWHERE = {"problem": "no-such", "web": "no-such.js", "databaseFile": "0" * 64,
           "vector": "no/such", "check": "no/such"}


def target_of(path, values, query):
    for key, value in values.items():
        path = path.replace("{" + key + "}", urllib.parse.quote(value))
    return path + ("?" + query if query else "")


def judge(name, operation, answer, want=None):
    """Whether an answer is as the operation documents it."""
    status, headers, body = answer
    responses = operation["responses"]
    check(f"{name}: status {want or status}", status in responses and want in (None, status),
          f"{status} {body[:200]}")
    if status not in responses:
        return
    response = resolve(responses[status])
    for header in response.get("headers", {}):
        if header not in ("Repr-Digest",) or not headers.get("Content-Encoding"):
            check(f"{name}: {status} has {header}", headers.get(header) is not None)
    content = response.get("content")
    if not content:
        check(f"{name}: {status} has no body", not body, body)
        return
    media = (headers.get("Content-Type") or "").split(";")[0]
    check(f"{name}: {status} is {media}", media in content, list(content))
    if media in content and media.endswith("json"):
        wrong = problems(json.loads(body), content[media]["schema"])
        check(f"{name}: {status} fits its schema", not wrong, wrong[:3])


def refused(name, operation, method, target, headers, body, status):
    if status in operation["responses"]:
        judge(name, operation, ask(method, target, headers, body), status)
        return {status}
    return set()


def sample(parameter):
    """Values of a parameter that its schema allows."""
    schema = resolve(parameter["schema"])
    values = {"id": "rope/", "after": "rope/", "suite": "core", "flag": "basis", "digest":
              database["suites"][-1]["digest"], "limit": "3"}
    if parameter["name"] in values:
        return [values[parameter["name"]]]
    if "enum" in schema:
        return schema["enum"]
    return ["true", "false"] if schema.get("type") == "boolean" else [
        str(parameter.get("example", "1"))]


def parameters(name, operation, method, target, headers, body):
    """No documented parameter is unknown to the service, and no value of its schema is wrong."""
    for parameter in map(resolve, operation.get("parameters", [])):
        if parameter["in"] != "query":
            continue
        names = ([(key, ["1"]) for key in resolve(parameter["schema"])["properties"]]
                 if parameter.get("explode") else [(parameter["name"], sample(parameter))])
        for key, values in names:
            for value in values:
                if re.search(rf"[?&]{key}=", target):
                    continue
                mark = "&" if "?" in target else "?"
                url = f"{target}{mark}{key}={urllib.parse.quote(value)}"
                answer = ask(method, url, headers, body)
                judge(f"{name} {key}={value}", operation, answer)
                check(f"{name} {key}: known", b"unknown-parameter" not in answer[2], answer[2])


def exercise(path, method, operation):
    name = operation["operationId"]
    values, query, body = EXAMPLES.get(name, ({}, "", None))
    missing = [p["name"] for p in map(resolve, operation.get("parameters", []))
               if p.get("required") and p["name"] not in values and f"{p['name']}=" not in query]
    check(f"{name}: openapi.py has an example", not missing and (
        body is not None or "requestBody" not in operation), missing)
    target = target_of(path, values, query)
    headers = dict(JSON) if body is not None else {}
    data = json.dumps(body).encode() if body is not None else None
    if body is not None:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        check(f"{name}: the example fits", not problems(body, schema), problems(body, schema))
    seen = {"200"}
    answer = ask(method, target, headers, data)
    judge(name, operation, answer, "200")
    for media in resolve(operation["responses"]["200"])["content"]:
        judge(f"{name} as {media}", operation, ask(method, target, {**headers, "Accept": media},
                                                   data), "200")
    parameters(name, operation, method, target, headers, data)
    mark = "&" if "?" in target else "?"
    seen |= refused(name, operation, method, f"{target}{mark}no_such_key=1", headers, data, "400")
    seen |= refused(name, operation, method, target, {**headers, "Accept": "a/b"}, data, "406")
    seen |= refused(name, operation, method, f"{target}{mark}x={'1' * 9000}", headers, data, "414")
    seen |= refused(name, operation, method, target, {**headers, "X-Long": "1" * 9000}, data, "431")
    seen |= refused(name, operation, method, target, {"Content-Type": "a/b"}, data, "415")
    seen |= refused(name, operation, method, target, {**headers, "Range": "bytes=99999999999-"},
                    data, "416")
    if "206" in operation["responses"]:
        judge(name, operation, ask(method, target, {"Range": "bytes=0-9"}), "206")
        seen.add("206")
    if "404" in operation["responses"]:
        wrong = (target_of(path, {key: NOWHERE[name] for key in values}, query) if values
                 else f"{target}{mark}digest={'0' * 64}")
        seen |= refused(name, operation, method, wrong, headers, data, "404")
    if "413" in operation["responses"]:
        large = (b"[" * 3000000, target) if data else (None, f"/v1/eval?dim=16384&positions=0..99")
        seen |= refused(name, operation, method, large[1], headers, large[0], "413")
    if "304" in operation["responses"]:
        judge(name, operation, ask(method, target, {"If-None-Match": answer[1]["ETag"]}), "304")
        seen.add("304")
    if method == "GET":
        status, head, empty = ask("HEAD", target, headers)
        check(f"{name}: HEAD", (status, empty) == ("200", b"") and
              head["Content-Type"] == answer[1]["Content-Type"], status)
    left = set(operation["responses"]) - seen - NOT_TO_BE_HAD
    check(f"{name}: every documented status was had", not left, left)


for path, operations in document["paths"].items():
    for method, operation in operations.items():
        if method in ("get", "post"):
            exercise(path, method.upper(), operation)
    literal = target_of(path, {"name": "app.js", "sha256": database["sha256"], "id": VECTOR}, "")
    status, headers, _ = ask("OPTIONS", literal)
    allowed = {name.lower() for name in headers["Allow"].split(", ")} - {"head", "options"}
    check(f"{path}: Allow", status == "204" and allowed == set(operations) & {"get", "post"},
          headers["Allow"])
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
