# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# in-place.sh - STRESS_COUNT checkpoints of a program that goes on, and what they leave behind (bash)
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
count=${STRESS_COUNT:-100}
# So many that one object left by each is more than what others do, and a slab for each processor.
[ -z "${CRYO_CHECK_ALL:-}" ] || count=${STRESS_ALL:-600}
slack=100			# objects more or less that have nothing to do with checkpoints: caches are shared
[ "$(id -u)" = 0 ] || skip_all "needs root to look at the kernel's memory"

# Objects, and how many are in a slab, per cache that a request or a checkpoint may allocate. Exact after a shrink, when what was to be
# freed is: by RCU, and by kfree_rcu(), which takes its time (KFREE_DRAIN_JIFFIES, 5 s). No program is started in between, as that
# would pull slabs to a processor again, whose free objects count as used.
objects()
{
	local cache table

	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 11
	for cache in /sys/kernel/slab/*/shrink; do
		echo 1 2>/dev/null >"$cache"
	done
	mapfile -t table </proc/slabinfo
	printf '%s\n' "${table[@]}" |
		awk 'NR > 2 && $1 ~ /^(kmalloc|task_struct|mm_struct|files_cache|signal_cache|sighand_cache|pid|cred_jar|filp|vm_area_struct|seq_file|fs_cache)/ { print $1, $2, $5 }' |
		sort
}

run() { CRTEST_MODES=continue=$1 "$here/$program"; }

# All objects of the slab that a processor allocates from count as used: one slab each, of up to 512, is no growth.
grown()
{
	join <(printf '%s\n' "$before") <(printf '%s\n' "$after") |
		awk -v least="$((count / 2 + slack))" -v cpus="$(nproc)" '
			$4 - $2 >= least + $3 * cpus { print "# " $1 ": " $2 " -> " $4; bad = 1 } END { exit !bad }'
}

refs() { cat /sys/module/cryo/refcnt; }

# PROGRAM: it is checkpointed in place, and what the kernel holds is compared.
check_in_place()
{
	local program=$1 refs_before before free_before after free_after leaks file

	# No more than the slab in use is a processor's own.
	for file in /sys/kernel/slab/*/cpu_partial; do
		echo 0 2>/dev/null >"$file"
	done
	run 20 >/dev/null			# what is allocated once and kept
	refs_before=$(refs)
	before=$(objects)
	free_before=$(awk '/^SUnreclaim/ { print $2 }' /proc/meminfo)
	pass_on < <(run "$count")
	after=$(objects)
	free_after=$(awk '/^SUnreclaim/ { print $2 }' /proc/meminfo)
	ok "no kernel object is left for each checkpoint" not grown
	ok "unreclaimable kernel memory: $free_before -> $free_after kB" [ $((free_after - free_before)) -lt 2048 ]
	ok "references to the module: $refs_before -> $(refs)" [ "$(refs)" = "$refs_before" ]
	if [ -w /sys/kernel/debug/kmemleak ]; then
		echo scan >/sys/kernel/debug/kmemleak
		sleep 6
		echo scan >/sys/kernel/debug/kmemleak
		leaks=$(grep -c '\[cryo\]' /sys/kernel/debug/kmemleak)
		ok "kmemleak names nothing of the module ($leaks)" [ "$leaks" = 0 ] ||
			grep -B 12 -A 8 '\[cryo\]' /sys/kernel/debug/kmemleak | head -60 | diag
	fi
}
