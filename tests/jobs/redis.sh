# SPDX-License-Identifier: GPL-2.0-only
# A redis server that keeps a log and snapshots, and a client with a TCP and a Unix connection.
redis-server --port 7379 --bind 127.0.0.1 --unixsocket "$PWD/socket" --dir "$PWD" --appendonly yes \
	--appendfsync everysec --save "2 10" --loglevel notice --logfile server.log &
until redis-cli -s socket ping 2>/dev/null | grep -q PONG; do sleep 0.1; done
python3 redis.py "$1" 7379 "$PWD/socket"
status=$?
redis-cli -s socket shutdown nosave
wait
exit $status
