# SPDX-License-Identifier: GPL-2.0-only
# digest.awk - prints a digest per step; what it prints depends on every step before it
#
# Variables: steps=N: ends after them; go=FILE: ends when that is there.
function is_there(file,	line, status)
{
	status = (getline line < file)
	close(file)
	return status >= 0
}

BEGIN {
	for (i = 1; i < ARGC; i++) {
		at = index(ARGV[i], "=")
		option[substr(ARGV[i], 1, at - 1)] = substr(ARGV[i], at + 1)
	}
	state = 12345
	for (step = 0; ; step++) {
		if ("steps" in option ? step >= option["steps"] + 0 : is_there(option["go"]))
			break
		for (i = 0; i < 3000; i++) {
			state = (state * 16807 + i) % 2147483647
			seen[state % 5003] = seen[state % 4999] * 1.0000001 + i / 3
		}
		text = sprintf("%s%d", substr(text, 1, 4000), state)
		sum = 0
		for (i = 0; i < 5003; i++)
			sum += seen[i] * (i + 1)
		printf "%d %d %.17g %d %s\n", step, state, sum, length(text), substr(text, 1 + state % length(text), 20)
		fflush()
	}
	exit 3
}
