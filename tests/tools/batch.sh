#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The batch script of cryo-jobs(7), under a scheduler that sends a signal and starts it again.
. "$(dirname "$0")/lib.sh"

script()
{
	cat <<'END'
#!/bin/bash
#SBATCH --signal=B:USR1@300 --requeue --open-mode=append
context=$PWD/context.$SLURM_JOB_ID
save() {
    cr_checkpoint --tree --kill -f "$context" "$(cat "$context.pid")" || return
    scontrol requeue "$SLURM_JOB_ID"; exit
}
if [ -e "$context" ]; then
    cr_restart --check --restore-pgid "$context" || exit
    cr_restart --restore-pgid "$context" &
else
    setsid ./steps & echo $! >"$context.pid"
fi
job=$!
trap save USR1
wait $job
while kill -0 $job 2>/dev/null; do wait $job; done
wait $job; status=$?
[ $status != 0 ] || rm -f "$context" "$context.pid"
exit $status
END
}
scontrol() { echo "$*" >>requeued; }
export -f scontrol
export SLURM_JOB_ID=7
# Signals its group at its end: who else is in that ends, too.
work()
{
	cat >steps <<'END'
#!/bin/bash
exec 9<>fifo
for ((i = 1; i <= 40; i++)); do echo "step $i"; read -rt 0.1 -u 9; done
timeout 60 true
echo end >>ended
trap '' TERM
kill 0
exit 3
END
	chmod +x steps
	mkfifo fifo
	script >"./batch"
}
begin() { bash batch >>log 2>&1 & batch=$!; started+=("$batch"); }
has_step() { grep -q "^step $1\$" log; }
finish() { rc=0; wait "$batch" || rc=$?; err=$(<log); }

fresh
work
begin
wait_for has_step 5
kill -USR1 "$batch"
finish
check "the signal: a checkpoint, and the job is queued again" eval 'status_is 0 && same "$(<requeued)" "requeue 7" && is_context context.7'
check "... and nothing of it runs" is_gone "$(<context.7.pid)"
begin
steps=$(grep -c "^step" log)
wait_for has_step $((steps + 3))
kill -USR1 "$batch"
finish
check "the same of what has been restarted" eval 'status_is 0 && same "$(wc -l <requeued)" 2'
begin
finish
check "it goes on to its end, with its status, and its signal to its group reaches nobody else" eval 'status_is 3 && exists ended'
check "... each step is in the log once" same "$(grep '^step' log)" "$(seq -f 'step %g' 40)"
check "... and the context stays, as that status is not 0" exists context.7

fresh
work
sed -i 's/^exit 3$/exit 0/' steps
begin
finish
check "it ends well: nothing is left" eval 'status_is 0 && not exists context.7 && not exists context.7.pid'

fresh
work
sed -i 's/^exit 3$/exit 0/' steps
cr_checkpoint() { while [ ! -e ended ]; do sleep 0.1; done; sleep 0.5; return 1; }
export -f cr_checkpoint
begin
wait_for has_step 5
kill -USR1 "$batch"
finish
unset -f cr_checkpoint
check "it ends while it is to be saved: its own status" status_is 0

fresh
work
echo nonsense >context.7
begin
finish
check "a context that is none: the job ends" eval '! status_is 0 && exists context.7 && not exists ended'
check "... and the log says why" said "context.7"
done_testing
