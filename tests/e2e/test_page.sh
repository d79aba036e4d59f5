#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2153,SC2154
# The explorer page in headless Chromium: every view renders from the service's answers, without a
# word on the console. PAGE_SHOTS=DIR keeps a picture of each view there.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 3
# shellcheck source=tests/e2e/server.sh
. tests/e2e/server.sh

# The headless shell takes a fourth of the time: Chromium draws a window that nobody sees.
for browser in chromium-headless-shell chromium chromium-browser google-chrome ''; do
    if [ -z "$browser" ]; then
        echo 'no Chromium here (Debian: chromium-headless-shell)'
        exit 77
    fi
    if command -v "$browser" >/dev/null; then break; fi
done

# One browser for all: browser.py has a line for each page, and answers when the page is there.
coproc BROWSER { exec python3 tests/e2e/browser.py "$browser" "$dir"; }
ask=${BROWSER[1]} answer=${BROWSER[0]} browser_pid=$BROWSER_PID

# browse ADDRESS [PNG [KEYS]]: leaves the page in $dir/dom and what its console said in
# $dir/console; size and theme change how it is shown.
browse() {
    printf '%s\t%s\t%s\t%s\t%s\n' "$url/$1" "${size:-1000$'\t'720}" "${theme:-light}" "${2:-}" \
        "${3:-}" >&"$ask"
    read -r -t 120 <&"$answer" || bad "no answer from the browser: $1"
}

# view NAME QUERY PART...: it is ready, holds each PART, and shows no error.
view() {
    local name=$1 query=$2 part dom
    shift 2
    browse "#$name?$query" "${PAGE_SHOTS:+$PAGE_SHOTS/$name${suffix:-}.png}"
    dom=$(<"$dir/dom")
    has "$name: ready" "$dom" 'data-state="ready"'
    hasnt "$name: an error" "$dom" 'class="error"'
    check "$name: console" "$(head -c 300 "$dir/console")" ''
    has "$name: a curl line" "$dom" "<pre>curl '$url/v1/"
    for part; do has "$name" "$dom" "$part"; done
}

# At a phone's width nothing is wider than the window.
phone() {
    local view
    for view in table curves frequencies pairing relative decay similarity bias values vectors \
        check axes shift; do
        browse "#$view?scheme=$([ $view = bias ] && echo alibi || echo rope)&v.id=$([ \
            $view = check ] && echo rope/half/none/d64-b1e4/near)"
        has "$view on a phone: ready" "$(<"$dir/dom")" 'data-state="ready"'
        check "$view on a phone: console" "$(head -c 300 "$dir/console")" ''
    done
}

# What the form, links and canvases of the page say for themselves.
views() {
    local llama3='scheme=rope&dim=128&base=500000&scaling=llama3&factor=8'
    llama3+='&original_max_position_embeddings=8192'
    local plot='class="plot"' map='class="map"' square='class="square"'
    view table 'scheme=rope&dim=64' "$map" '>cos<' '>sin<' 'id="field-pairing"' 'positions=0..95'
    view curves 'scheme=rope&dim=128' "$plot" 'Wavelengths' 'column 32'
    view frequencies "$llama3" "$plot" 'high_freq_factor = 4' 'low_freq_factor = 1'
    view pairing 'scheme=rope' "$square" '>half<' '>interleaved<' '0 to 0 and 6' '0 to 0 and 1'
    view circle 'scheme=rope&dim=64&v.position=40' "$square" 'fastest' 'slowest' 'positions=29..40'
    view relative 'scheme=rope&dim=64' "$plot" 'm = 50000' 'Largest difference: '
    view decay 'scheme=rope&dim=128' "$plot"
    view similarity 'scheme=sinusoidal&dim=128' "$plot" 'from 2000'
    view bias 'scheme=alibi&num_heads=8' "$map" 'bias, head 0'
    view values 'scheme=rope&dim=8' 'inv_freq' 'class="number"'
    view vectors 'v.filter=scheme=rope scaling=yarn' '>rope/half/yarn/' 'next page'
    view check 'v.run=1&v.dtype=f32&v.id=rope/half/none/d64-b1e4/near' 'fail, grade fail' 'Worst: y'
    view axes 'scheme=rope' "$map" 'sin while height moves'
    view shift 'scheme=rope' "$plot" 'Between '
    size=390$'\t'844 suffix=-phone
    view circle 'scheme=rope&dim=64' "$square" 'aria-pressed="false"'
    phone
    size='' suffix=-dark theme=dark
    view circle 'scheme=rope&dim=64&v.position=40' "$square" 'aria-pressed="true"'
    size='' suffix='' theme=''
}

# typed WHAT ADDRESS KEYS FOCUS PART: after these keys the tag that has the focus contains FOCUS,
# and the page holds PART.
typed() {
    local dom
    browse "$2" '' "$3"
    dom=$(<"$dir/dom")
    check "$1: console" "$(head -c 300 "$dir/console")" ''
    has "$1: focus" "$(grep -o '<[^<]*data-focused=""[^<]*' <<<"$dom")" "$4"
    has "$1" "$dom" "$5"
}

keyboard() {
    local tabs='Tab Tab Tab Tab'
    typed 'the first stop leads to the view' '#table?scheme=rope&dim=64' Tab 'Skip to' 'class="map"'
    typed 'a view is chosen' '#table?scheme=rope&dim=64' "$tabs Enter" 'id="view-curves"' \
        '<h2>Curves</h2>'
    typed 'a scheme is chosen' '#values?scheme=rope&dim=64' \
        "$tabs $tabs $tabs $tabs Tab Tab ArrowDown" 'id="field-scheme"' \
        'scheme=sinusoidal'
    typed 'a position is moved to' '#circle?scheme=rope&dim=64' \
        "$(printf 'Tab %.0s' {1..49}) ArrowRight" 'id="control-position"' 'positions=0..8'
}

# Each scheme of the service in the views that need nothing but positions, and the first model.
every_scheme() {
    local scheme name
    for scheme in $(curl -s "$url/v1/schemes" | jq -r '.schemes[].name'); do
        browse "#values?scheme=$scheme"
        has "$scheme: ready" "$(<"$dir/dom")" 'data-state="ready"'
        has "$scheme: form" "$(<"$dir/dom")" "value=\"$scheme\""
        check "$scheme: console" "$(grep -v 'status of 400' "$dir/console" | head -c 300)" ''
    done
    name=$(curl -s "$url/v1/models" | jq -r '.models[0].name')
    has 'models' "$(<"$dir/dom")" ">$name<"
}

core_db
start --db "$db"
get / -H 'Accept: text/html,application/xhtml+xml,*/*;q=0.8'
check 'page: type' "$(header content-type)" 'text/html; charset=utf-8'
has 'page: CSP' "$(header content-security-policy)" "default-src 'none'; script-src 'self'"
hasnt 'page: CSP' "$(header content-security-policy)" 'unsafe'
get / -H 'Accept: */*'
check 'curl: type' "$(header content-type)" 'text/plain; charset=utf-8'
for part in app.js style.css chart.js icon.svg; do
    get "/web/$part"
    check "/web/$part" "$status" 200
done
refused /web/index.html 404 ''
refused /web/../web.h 404 ''
views
keyboard
every_scheme
# It goes before its files do.
exec {ask}>&-
wait "$browser_pid" || bad 'the browser did not end well'
finish
