#!/bin/sh
# Makes docs/top.txt: `governor top` of the routing agent of examples/dra.toml, with one HSS that is too busy, one that has
# stopped reading and a reserve site. Run as root after `cargo xtask build`.
set -eu
cd "$(dirname "$0")/.."
# The example's ports are free in a network namespace of its own.
[ "${1:-}" = inside ] || exec unshare --net "docs/$(basename "$0")" inside
ip link set lo up

governor="$PWD/target/debug/governor"
work=$(mktemp -d)
pids=
end() {
    tmux -S "$work/tmux.sock" kill-server 2>/dev/null || true
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -r "$work"
}
trap end EXIT
start() {
    "$governor" "$@" >>"$work/log" 2>&1 &
    pids="$pids $!"
}

# The load's subscribers are the example's test subscribers: here they are treated like all others.
sed -e "s|^\[node\]|&\ncontrol = \"$work/control.sock\"|" -e 's/"00101"/"00102"/' examples/dra.toml >"$work/dra.toml"
hss() {
    address=$1 host=$2
    shift 2
    start load server --listen "tcp://127.0.0.1:$address" --origin-host "$host.home.example.net" \
        --origin-realm home.example.net "$@"
}
hss 13861 hss1
hss 13862 hss1 --busy-after-rate 200
hss 13863 hss2 --stop-reading-after 2000
hss 13869 hss9
start run --config "$work/dra.toml"
sleep 3
start load client --connect tcp://127.0.0.1:3868 --origin-host mme1.core.example.net --origin-realm core.example.net \
    --destination-realm home.example.net --rate 1800/s --priority mix --size 1000 --duration 60s
tmux -f /dev/null -u -S "$work/tmux.sock" new-session -d -x 128 -y 16 \
    "'$governor' top --control '$work/control.sock'; read -r _"
sleep "${SECONDS_SHOWN:-40}"
tmux -u -S "$work/tmux.sock" capture-pane -p |
    sed 's/(Linux \([0-9]*\.[0-9]*\)[^)]*)/(Linux \1)/' >docs/top.txt
cat docs/top.txt
