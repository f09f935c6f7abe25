# SPDX-License-Identifier: GPL-2.0-only
# PostgreSQL on a Unix socket, with pgbench; then the books have to balance.
set -e
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
postgres -D data -k "$PWD" -c listen_addresses= -c max_connections=20 -c shared_buffers=16MB \
	-c checkpoint_timeout=30s -c autovacuum_naptime=2s -c max_worker_processes=4 \
	-c min_parallel_table_scan_size=0 -c parallel_setup_cost=0 -c fsync=on >server.log 2>&1 &
server=$!
until pg_isready -q -h "$PWD" -d postgres; do sleep 0.1; done
query() { psql -h "$PWD" -d postgres -AtX -v ON_ERROR_STOP=1 -c "$1"; }
pgbench -h "$PWD" -n -c 4 -j 2 -t "$1" postgres >pgbench.log 2>&1
query "select 'transactions', count(*) from pgbench_history"
query "select 'equal', (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)
	and (select sum(bbalance) from pgbench_branches) = (select sum(tbalance) from pgbench_tellers)
	and (select sum(abalance) from pgbench_accounts) = (select sum(tbalance) from pgbench_tellers)"
query "set max_parallel_workers_per_gather = 2;
	select 'accounts', count(*), count(distinct aid), sum(aid) from pgbench_accounts"
grep -hoE '(PANIC|FATAL|ERROR):.*' server.log | grep -v 'starting up' || true
grep -E 'number of failed transactions|aborted' pgbench.log
kill -INT $server
wait $server
pg_checksums -D data | grep 'Bad checksums'
