# SPDX-License-Identifier: GPL-2.0-only
# jobs.bash STEPS - background jobs, a pipeline, and many short-lived commands; each tells a sum
set -u
steps=$1

mix() { h=$(((h * 1103515245 + $1 + 12345) & 0x7fffffff)); }

numbers()
{
	local h=1 i
	for ((i = 1; i <= $1; i++)); do
		mix "$i"
		echo "$i $h"
	done
}

# A job in the background that only computes.
(
	h=7
	for ((i = 1; i <= steps * 60; i++)); do
		mix "$i"
		((i % 500)) || echo "alone $i $h"
	done
	exit 5
) >alone &
alone=$!

# A pipeline in the background; its last member is a shell again.
numbers $((steps * 40)) | awk '{ s = (s * 31 + $2) % 1000003; print s, $0 }' | cat |
	while read -r sum _ value; do
		h=$sum
		mix "$value"
		echo "$h"
	done >pipeline &
pipeline=$!

# And commands, one after the other, that come and go.
for ((round = 1; round <= steps / 4; round++)); do
	echo "round $round: $(numbers 20 | awk -v r="$round" '{ s += $2 * r } END { printf "%.0f", s }' | cat)"
	(exit $((round % 7)))
	echo "status $?"
done

wait "$alone"
echo "alone: $? $(cksum <alone)"
wait "$pipeline"
echo "pipeline: $? $(cksum <pipeline)"
exit 6
