#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A process about which somebody else keeps performance counters, as perf(1) does: it is no business of theirs.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

fresh
start_quietly
"$here/counter" "$pid" >said &
counter=$!
started+=("$counter")
wait_for grep -q counts said || skip_all "no performance counters here"
cr -f ctx "$pid"
check "a process that somebody else counts: a context" status_is 0
check "... and nothing is said" silent
check "... it goes on" goes_on
check "... and is counted" kill -0 "$counter"
end_it
wait_for is_gone "$pid"
cp count before
cr_restart --changed-files=warn ctx >/dev/null 2>&1 </dev/null &
started+=("$!" "$pid")
check "... it is restarted" wait_for not cmp -s count before
check "... without counters" eval '! ls -l "/proc/$pid/fd" | grep -q perf_event'
end_processes

# A program that removes its temporary files at SIGTERM, as many do: --term is the wrong end for it.
fresh
cat >job <<'END'
#!/bin/bash
trap 'rm -f scratch; exit 1' TERM
echo first >scratch
exec 5<scratch
until [ -e go ]; do sleep 0.1; done
cat <&5 >result
END
chmod 755 job
./job >/dev/null 2>&1 </dev/null &
pid=$!
started+=("$pid")
wait_for exists scratch
cr --tree --term -f ctx "$pid"
check "--term: a context" status_is 0
wait "$pid" 2>/dev/null
check "... and the program has removed its file" not exists scratch
rc=0
err=$(cr_restart --check ctx 2>&1) || rc=$?
check "... which --check names" eval 'status_is 2 && said "scratch): cannot be found"'
check "... as the restart does" not cr_restart ctx
./job >/dev/null 2>&1 </dev/null &
pid=$!
started+=("$pid")
wait_for exists scratch
cr --tree --kill -f ctx "$pid"
wait "$pid" 2>/dev/null
(sleep 1; touch go) &
rc=0
cr_restart ctx >/dev/null 2>&1 </dev/null || rc=$?
check "with --kill it runs to its end" eval 'status_is 0 && [ "$(cat result)" = first ]'
done_testing
