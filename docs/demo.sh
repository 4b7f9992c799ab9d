#!/bin/sh
# Makes docs/demo.txt: the demo's screen after six seconds, and its summary. Run as root after `cargo xtask build`.
set -eu
cd "$(dirname "$0")/.."
socket="governor-demo-$$"
tmux -L "$socket" new-session -d -x 126 -y 34 'target/debug/governor demo; read -r _'
trap 'tmux -L "$socket" kill-server' EXIT
sleep 6.5
screen=$(tmux -L "$socket" capture-pane -p)
sleep 18
summary=$(tmux -L "$socket" capture-pane -p | grep -A 99 '^connection')
printf '%s\n\n\n%s\n' "$screen" "$summary" | sed 's/(Linux \([0-9]*\.[0-9]*\)[^)]*)/(Linux \1)/' > docs/demo.txt
