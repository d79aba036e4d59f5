# SPDX-License-Identifier: Apache-2.0
# schema/openapi.json with the spec's fields, the ops and the inputs that /v1/schemes names:
# jq --slurpfile schemes schemes.json --rawfile ops ops.txt -f openapi.jq openapi.json
def property:
    (if (.type | startswith("array")) then
        {type: "array", minItems: 1,
         maxItems: (if .type == "array of integers" then 8 else 256 end),
         items: ({type: (if .type == "array of integers" then "integer" else "number" end)}
                 + with_entries(select(.key | IN("minimum", "maximum", "exclusiveMinimum",
                                                 "exclusiveMaximum"))))}
     else
        {type}
        + with_entries(select(.key | IN("minimum", "maximum", "exclusiveMinimum",
                                        "exclusiveMaximum")))
     end)
    + (if .choices then {enum: .choices} else {} end)
    + (if .default != null then {default} else {} end)
    + {description: (.meaning + (if (.unit // "") != "" then " (\(.unit))" else "" end))};
.components.schemas.Spec.properties =
    ($schemes[0].fields | map({key: .name, value: property}) | from_entries)
| .components.parameters.op.schema.enum = ($ops | split("\n") | map(select(. != "")))
