#!/bin/sh
# Runs the cases on this machine, the most important first:
#     run.sh [BINARY|-] [--cases flights,exact-40000] [--devices cuda,cpu] [--limit S] [--budget S] [--results FILE]
# BINARY is the command; with - or without one it is that of carried/. `run.py --help` says more.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${TMPDIR:-/tmp}/rffblr-gpu
mkdir -p "$work"
for packed in "$here"/carried/*.gz; do
    [ -e "$packed" ] || continue
    made=$work/$(basename "$packed" .gz)
    [ "$made" -nt "$packed" ] || gunzip -c "$packed" > "$made"
done
for program in rffblr synthetic; do
    [ ! -e "$work/$program" ] || chmod +x "$work/$program"
done
binary=$work/rffblr
case "${1:--}" in
    --*) ;;
    -) [ $# -eq 0 ] || shift ;;
    *) binary=$1; shift ;;
esac
exec python3 "$here/run.py" --rffblr "$binary" --work "$work" "$@"
