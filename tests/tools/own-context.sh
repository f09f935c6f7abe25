#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Scripts that have themselves checkpointed into a pipe: whoever reads it is in the context, and has the file open that the
# context lies in. A restart never writes there.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

cat >"$base/plain" <<'END'
cr_checkpoint -q -f - $$ | cat >ctx
echo "status ${PIPESTATUS[*]}"
END
cat >"$base/compressed" <<'END'
cr_checkpoint -q -z -f - $$ | cat >ctx
echo "status ${PIPESTATUS[*]}"
END
cat >"$base/fifo" <<'END'
mkfifo -m 600 fifo
cr_checkpoint -q -f fifo $$ & cat fifo >ctx
wait
echo "status $?"
END
restart() { rc=0; err=$(timeout 60 cr_restart "$@" 2>&1 </dev/null) || rc=$?; }

for script in plain compressed fifo; do
	fresh
	# Not open in timeout(1), which is no part of the job.
	rc=0; err=$(timeout 60 sh -c 'exec bash "$0" >log' "$base/$script" 2>&1 </dev/null) || rc=$?
	end=$(cat log)
	check "$script: it ends" status_is 0
	check "... and has a context" is_context ctx
	cp ctx copy
	ln ctx other-name
	restart --check ctx
	check "... --check says that the context stays" eval 'status_is 0 && said "work/ctx): is the context being restarted, or one that it needs: it is left unchanged"'
	for name in ctx ctx other-name; do
		restart "$name"
		check "... restarted from $name: it ends" eval 'status_is 0 && said "it is left unchanged"'
		check "... with its output" same "$(cat log)" "$end"
		check "... and the context is as it was" cmp ctx copy
		check "... nothing else has been made" eval '[ -z "$(find . -name "ctx?*" -o -name ".?*")" ]'
	done
	rm ctx && mkdir gone && mv other-name copy gone
	: >ctx
	restart gone/copy
	check "... with another file in its place: refused" eval '[ "$rc" -ne 0 ]'
done

fresh
"$busy" count 6<>out >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for busy_counts
cr --kill -f ctx "$pid"
wait "$pid" 2>/dev/null
wait_for is_gone "$pid"
cp ctx copy
restart --check --redirect 6=ctx ctx
check "--redirect to the context is refused" eval 'status_is 26 && said "--redirect" && said "is the context being restarted, or one that it needs"'
check "... which stays" cmp ctx copy

# A program that calls cr_checkpoint for itself alone: the child that it waits for is there with its own id only.
fresh
cat >calls <<'END'
system qw(cr_checkpoint -q --pid -f ctx), $$;
open my $log, '>>', 'log';
print $log "$?\n";
close $log;
sleep 1 while -e 'wait';
END
touch wait
perl calls >/dev/null 2>&1 </dev/null & pid=$!
started+=("$pid")
wait_for test -s log
check "called by its own process: it goes on" same "$(cat log)" 0
restart ctx
check "... restarted beside that: its id is in use" status_is 16
rm wait
restart --no-restore-pid ctx
check "... with another id" eval 'status_is 0 && same "$(cat log)" "$(printf "0\n-1")"'
wait_for is_gone "$pid"
restart ctx
check "... with its own, its child has ended well" eval 'status_is 0 && same "$(tail -n 1 log)" 0'
done_testing
