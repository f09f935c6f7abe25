// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may call what of a client handle, and when: each call in each state, by who has registered and by others to whom he has passed
 * the handle, twice and by two threads at once.
 *
 * A call that is refused changes nothing: what is allowed afterwards works.
 */
#include "calls.h"

enum call {
	DO_WAIT, DO_NOTE, DO_VOTE, DO_BAD_VOTE, DO_INFO, DO_FORWARD, DO_EXCLUDE, DO_CLAIM, DO_GO, DO_GO_ONE,
	/* others */
	DO_VERSION, DO_RUN, DO_NO_CALL, NR_CALLS
};

static const char *const call_names[NR_CALLS] = {
	[DO_WAIT] = "WAIT", [DO_NOTE] = "NOTE", [DO_VOTE] = "VOTE", [DO_BAD_VOTE] = "VOTE for nothing", [DO_INFO] = "RESTART_INFO",
	[DO_FORWARD] = "FORWARD", [DO_EXCLUDE] = "EXCLUDE", [DO_CLAIM] = "CLAIM", [DO_GO] = "GO of all", [DO_GO_ONE] = "GO of one",
	[DO_VERSION] = "IOC_VERSION", [DO_RUN] = "CKPT_RUN", [DO_NO_CALL] = "no call",
};

#define VOTE_CODE	5	/* errno values go up to 133 */

static int do_vote(int handle, uint32_t vote)
{
	struct cryo_client_vote args = { .size = sizeof(args), .vote = vote,
					 .code = vote == CRYO_VOTE_TEMPORARY ? VOTE_CODE : 0 };

	if (ioctl(handle, CRYO_CLIENT_VOTE, &args))
		return errno;
	return args.result == 1 ? WAS_RESTARTED : args.result ? NO_CHECKPOINT - args.result : 0;
}

static long do_client_call(int handle, enum call call)
{
	struct cryo_client_request wait = { .size = sizeof(wait) };
	struct cryo_client_restart info = { .size = sizeof(info) };
	struct cryo_client_forward forward = { .size = sizeof(forward), .scope = CRYO_SCOPE_PROCESS };
	struct cryo_client_exclude exclude = { .size = sizeof(exclude) };
	struct cryo_client_go go = { .size = sizeof(go), .tid = call == DO_GO ? 0 : getpid() };

	switch (call) {
	case DO_WAIT:
		return ioctl(handle, CRYO_CLIENT_WAIT, &wait);
	case DO_NOTE:
		return ioctl(handle, CRYO_CLIENT_NOTE, "this");
	case DO_INFO:
		return ioctl(handle, CRYO_CLIENT_RESTART_INFO, &info);
	case DO_FORWARD:
		return ioctl(handle, CRYO_CLIENT_FORWARD, &forward);
	case DO_EXCLUDE:
		return ioctl(handle, CRYO_CLIENT_EXCLUDE, &exclude);
	case DO_CLAIM:
		return ioctl(handle, CRYO_CLIENT_CLAIM, 0);
	default:
		return ioctl(handle, CRYO_CLIENT_GO, &go);
	}
}

static int try_call(int fd, int call)
{
	long ret;

	if (call == DO_VOTE || call == DO_BAD_VOTE)
		return do_vote(fd, call == DO_VOTE ? CRYO_VOTE_TEMPORARY : 99);
	if (call == DO_VERSION)
		ret = ioctl(fd, CRYO_IOC_VERSION, 0);
	else if (call == DO_RUN)
		ret = ioctl(fd, CRYO_CKPT_RUN, 0);
	else if (call == DO_NO_CALL)
		ret = ioctl(fd, _IO(CRYO_IOC_TYPE, 0x7f), 0);
	else
		ret = do_client_call(fd, (enum call)call);
	return ret < 0 ? errno : 0;
}

/* ---- client handles: the maker's, who is told by a checkpoint that a child of his asks for ---- */

enum client_state { IDLE, TOLD, ACTIVE, VOTED, ENDED, UNCLAIMED, CLAIMED, ORPHAN, NR_CLIENT_STATES };

static const char *const client_states[] = { "without a checkpoint", "told of one", "in its callbacks", "having voted",
					     "when it has been given up", "of a restart, claimed by nobody", "of a restart, claimed",
					     "of a process that has ended" };

static int make_client(unsigned int flags)
{
	struct cryo_client args = { .size = sizeof(args), .flags = flags };
	int fd = ioctl(dev, CRYO_IOC_CLIENT, &args);

	if (fd < 0)
		die("CRYO_IOC_CLIENT");
	return fd;
}

static pid_t requester;

/* Asks for a checkpoint of the caller, and has none other until that is over. */
static void start_requester(void)
{
	pid_t maker = getpid();

	requester = fork();
	if (requester)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ioctl(make_request(maker, CRYO_CKPT_DRY_RUN, -1), CRYO_CKPT_RUN, 0);
	_exit(0);
}

static void end_requester(void)
{
	if (!requester)
		return;
	kill(requester, SIGKILL);
	waitpid(requester, NULL, 0);
	requester = 0;
}

static int orphan(void)
{
	int pair[2], handle;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	pid = fork();
	if (!pid) {
		send_fd(pair[1], make_client(0));
		_exit(0);
	}
	handle = receive_fd(pair[0]);
	waitpid(pid, NULL, 0);
	close(pair[0]);
	close(pair[1]);
	return handle;
}

static void *vote_ready(void *arg)
{
	do_vote((int)(intptr_t)arg, CRYO_VOTE_READY);
	return NULL;
}

static pthread_t voter;
static int second_handle = -1;		/* its vote is missing */

static int client_in(enum client_state state)
{
	struct pollfd told = { .events = POLLIN };

	if (state == ORPHAN)
		return orphan();
	told.fd = make_client(state == UNCLAIMED || state == CLAIMED ? CRYO_CLIENT_RESTARTED : 0);
	if (state == VOTED)
		second_handle = make_client(0);
	if (state == CLAIMED && try_call(told.fd, DO_CLAIM))
		die("CRYO_CLIENT_CLAIM");
	if (state < TOLD || state > ENDED)
		return told.fd;
	start_requester();
	if (poll(&told, 1, 20000 * (int)factor()) != 1)
		die("nobody is told");
	if (state != TOLD && try_call(told.fd, DO_WAIT))
		die("CRYO_CLIENT_WAIT");
	if (state == ENDED)
		end_requester();
	if (state == VOTED) {
		if (pthread_create(&voter, NULL, vote_ready, (void *)(intptr_t)told.fd))
			die("pthread_create");
		/* Its callbacks are over then. */
		for (unsigned int i = 0; i < 20000 * factor() && !try_call(told.fd, DO_NOTE); i++)
			sleep_ms(1);
	}
	return told.fd;
}

static void client_over(enum client_state state, int handle)
{
	end_requester();
	if (state == VOTED) {
		pthread_join(voter, NULL);
		close(second_handle);
	}
	close(handle);
}

/* Of the owner, but for the vote. */
static int want_of_owner(enum call call, enum client_state state)
{
	switch (call) {
	case DO_WAIT:
		return state == TOLD ? 0 : EINTR;
	case DO_CLAIM:
	case DO_GO:
		return 0;
	case DO_GO_ONE:
		return ESRCH;
	default:	/* NOTE, FORWARD, EXCLUDE */
		return state == ACTIVE ? 0 : ECANCELED;
	}
}

static void want_of_vote(enum client_state state, int wanted[2])
{
	wanted[0] = wanted[1] = NO_CHECKPOINT + ECANCELED;
	if (state == ACTIVE) {
		/* The second one finds that it is over, or is about to be. */
		wanted[0] = 0;
		wanted[1] = -1;
	}
	if (state == VOTED)
		wanted[0] = wanted[1] = EINTR;
	if (state == ENDED)
		wanted[0] = NO_CHECKPOINT + EINTR;
	if (state == UNCLAIMED || state == CLAIMED)
		wanted[0] = WAS_RESTARTED;
}

static void want_of_client(enum call call, enum client_state state, enum who who, int wanted[2])
{
	bool first = state == UNCLAIMED && (call == DO_WAIT || call == DO_VOTE || call == DO_CLAIM);

	if (call == DO_BAD_VOTE)
		wanted[0] = EINVAL;
	else if (call == DO_INFO)
		wanted[0] = state == UNCLAIMED || state == CLAIMED ? 0 : ENODATA;
	else if (call > DO_GO_ONE)
		wanted[0] = ENOTTY;
	else if (state == ORPHAN || (!first && (who != MAKER || state == UNCLAIMED)))
		wanted[0] = EPERM;
	else if (call != DO_VOTE)
		wanted[0] = want_of_owner(call, state);
	wanted[1] = wanted[0];
	/* Whoever has been told waits for the next one. */
	if (call == DO_WAIT && wanted[0] == 0)
		wanted[1] = EINTR;
	if (call == DO_VOTE && wanted[0] != EPERM)
		want_of_vote(state, wanted);
}

/* Is the handle still the maker's, and in its state? */
static void check_client_unharmed(enum client_state state, enum call call, enum who who, int handle)
{
	bool claimed = call == DO_WAIT || call == DO_VOTE || call == DO_CLAIM;
	int result;

	if (state == UNCLAIMED) {
		result = try_call(handle, DO_CLAIM);
		if (result != (claimed && who != MAKER ? EPERM : 0))
			complain(client_states[state], call, "then the maker's CLAIM", result, 0);
	} else if (who != MAKER && state != ORPHAN) {
		result = try_call(handle, DO_NOTE);
		if (result != (state == ACTIVE ? 0 : ECANCELED))
			complain(client_states[state], call, "then the maker's NOTE", result, 0);
	}
}

static void on_client(enum client_state state, enum who who)
{
	/* In one state all others' calls leave it as it was. */
	bool again = who != MAKER && state != UNCLAIMED;
	struct order order = { 0 };
	int wanted[2], got[2], handle = -1;

	for (int call = 0; call < NR_CALLS; call++) {
		order.call = call;
		memset(wanted, 0, sizeof(wanted));
		want_of_client((enum call)call, state, who, wanted);
		for (int at_once = 0; at_once < 2; at_once++) {
			order.at_once = at_once;
			order.waits = wanted[0] == EINTR || wanted[1] == EINTR;
			if (handle < 0)
				handle = client_in(state);
			let_call(who, handle, &order, got);
			for (int j = 0; j < 2 && order.call == DO_VOTE && state == ACTIVE && who == MAKER; j++)
				if (got[j] == 0 || got[j] == NO_CHECKPOINT + ECANCELED || got[j] == NO_CHECKPOINT + VOTE_CODE)
					got[j] = wanted[j];
			compare(client_states[state], &order, got, wanted);
			check_client_unharmed(state, (enum call)call, who, handle);
			if (again)
				continue;
			client_over(state, handle);
			handle = -1;
		}
	}
	if (handle >= 0)
		client_over(state, handle);
	judge("a client handle", client_states[state], who);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		puts("1..0 # SKIP needs root to become other users");
		return 0;
	}
	begin();
	for (int state = 0; state < NR_CLIENT_STATES; state++)
		for (int who = 0; who < NR_WHO; who++)
			on_client((enum client_state)state, (enum who)who);
	end_servants();
	return finish();
}
