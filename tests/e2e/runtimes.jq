# The rows of docs/models.md on what four runtimes compute, from `posref resolve` of one config.
# $name: the model.
def own:
    if .spec == null then "nothing rotates, or not in this build"
    elif .spec.scheme != "rope" then "scheme \(.spec.scheme)"
    else .spec |
        "\(.pairing), base \(.base), " +
        (if .rotary_dim and .rotary_dim != .dim then "\(.rotary_dim) of " else "" end) +
        "\(.dim), \(.scaling)" +
        (if .factor then " \(.factor)" else "" end)
    end + (if .attention_factor and .attention_factor != 1 then "; factor \(.attention_factor)"
           else "" end);
def one($runtime):
    if .spec == null then .text | sub("^\\S+ "; "")
    else [
        (if .key == "model_type" then "\(.spec.pairing), rows of q and k permuted" else empty end),
        (if .attention_factor and .attention_factor.huggingface != .attention_factor[$runtime]
         then "factor \(.attention_factor[$runtime])" else empty end),
        (if .inv_freq then
            "pair \(.pair) \(.inv_freq[$runtime]), not \(.inv_freq.huggingface)" else empty end)
    ] | join("; ") end;
def other($runtime):
    [.notes[] | select(.runtime == $runtime) | one($runtime)] |
    if . == [] then "same" else join("; ") end;
.layers[] |
    "| \($name) | \(.applies_to) | \(own) | " +
    ([other("vllm", "llama.cpp", "mlx")] | join(" | ")) + " |"
