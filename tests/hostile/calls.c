// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may call what of the device and of a checkpoint handle, and when: each call in each state, by who has made the handle and by
 * others to whom he has passed it, twice and by two threads at once.  (client-calls.c: client handles; handle.c: restart handles;
 * changed-targets.c: of a target that is no longer what it was.)
 *
 * A call that is refused changes nothing: what is allowed afterwards works.
 */
#include "calls.h"

enum call {
	/* /dev/cryo */
	DO_VERSION, DO_CHECKPOINT, DO_RESTART, DO_BAD_RESTART, DO_PID_CURSOR, DO_IPC_ID, DO_CONSENT_ASK, DO_BAD_CONSENT, DO_CLIENT,
	DO_RESTARTED,
	/* a checkpoint handle */
	DO_RUN, DO_THAW, DO_THAW_SIGNAL, DO_BAD_THAW, DO_CANCEL, DO_STATUS, DO_VERDICT, DO_DEVICE, DO_PARENT, DO_COMPLETE,
	/* others */
	DO_CLAIM, DO_COMMIT, DO_NO_CALL, NR_CALLS
};

static const char *const call_names[NR_CALLS] = {
	[DO_VERSION] = "VERSION", [DO_CHECKPOINT] = "CHECKPOINT", [DO_RESTART] = "RESTART",
	[DO_BAD_RESTART] = "RESTART of no thread", [DO_PID_CURSOR] = "PID_CURSOR for no pid", [DO_IPC_ID] = "IPC_ID of no kind",
	[DO_CONSENT_ASK] = "CONSENT, to ask", [DO_BAD_CONSENT] = "CONSENT to nothing", [DO_CLIENT] = "CLIENT",
	[DO_RESTARTED] = "RESTARTED", [DO_RUN] = "RUN", [DO_THAW] = "THAW", [DO_THAW_SIGNAL] = "THAW with a signal",
	[DO_BAD_THAW] = "THAW with what is no signal", [DO_CANCEL] = "CANCEL", [DO_STATUS] = "STATUS", [DO_VERDICT] = "VERDICT",
	[DO_DEVICE] = "DEVICE", [DO_PARENT] = "PARENT", [DO_COMPLETE] = "COMPLETE", [DO_CLAIM] = "CLIENT_CLAIM",
	[DO_COMMIT] = "RST_COMMIT", [DO_NO_CALL] = "no call",
};

static long do_device_call(int dev, enum call call)
{
	struct cryo_version version = { .size = sizeof(version) };
	struct cryo_checkpoint checkpoint = { .size = sizeof(checkpoint), .target = target, .flags = CRYO_CKPT_DRY_RUN,
					      .out_fd = -1 };
	struct cryo_restart restart = { .size = sizeof(restart), .threads = call == DO_RESTART, .processes = 1 };
	struct cryo_pid_cursor cursor = { .size = sizeof(cursor), .pid = -1 };
	struct cryo_ipc_id ipc = { .size = sizeof(ipc), .kind = 9 };
	struct cryo_consent consent = { .size = sizeof(consent), .consent = call == DO_CONSENT_ASK ? CRYO_CONSENT_ASK : 9 };
	struct cryo_client client = { .size = sizeof(client) };
	long ret;

	switch (call) {
	case DO_VERSION:
		return ioctl(dev, CRYO_IOC_VERSION, &version);
	case DO_PID_CURSOR:
		return ioctl(dev, CRYO_IOC_PID_CURSOR, &cursor);
	case DO_IPC_ID:
		return ioctl(dev, CRYO_IOC_IPC_ID, &ipc);
	case DO_CONSENT_ASK:
	case DO_BAD_CONSENT:
		return ioctl(dev, CRYO_IOC_CONSENT, &consent);
	case DO_CHECKPOINT:
		ret = ioctl(dev, CRYO_IOC_CHECKPOINT, &checkpoint);
		break;
	case DO_RESTART:
	case DO_BAD_RESTART:
		ret = ioctl(dev, CRYO_IOC_RESTART, &restart);
		break;
	case DO_CLIENT:
		ret = ioctl(dev, CRYO_IOC_CLIENT, &client);
		break;
	default:
		ret = ioctl(dev, CRYO_IOC_RESTARTED, 0);
	}
	if (ret >= 0)
		close((int)ret);
	return ret;
}

static long do_request_call(int handle, enum call call)
{
	struct cryo_ckpt_status status = { .size = sizeof(status) };
	struct cryo_ckpt_verdict verdict = { .size = sizeof(verdict) };
	struct cryo_ckpt_device device = { .size = sizeof(device), .policy = CRYO_DEVICE_CLOSE, .rdev = 0x103 };
	struct cryo_ckpt_context context = { .size = sizeof(context), .id = { 1 } };

	switch (call) {
	case DO_RUN:
		return ioctl(handle, CRYO_CKPT_RUN, 0);
	case DO_THAW:
		return ioctl(handle, CRYO_CKPT_THAW, 0);
	case DO_THAW_SIGNAL:
		return ioctl(handle, CRYO_CKPT_THAW, (long)SIGURG);
	case DO_BAD_THAW:
		return ioctl(handle, CRYO_CKPT_THAW, -1L);
	case DO_CANCEL:
		return ioctl(handle, CRYO_CKPT_CANCEL, 0);
	case DO_STATUS:
		return ioctl(handle, CRYO_CKPT_STATUS, &status);
	case DO_VERDICT:
		return ioctl(handle, CRYO_CKPT_VERDICT, &verdict);
	case DO_DEVICE:
		return ioctl(handle, CRYO_CKPT_DEVICE, &device);
	case DO_PARENT:
		return ioctl(handle, CRYO_CKPT_PARENT, &context);
	default:
		return ioctl(handle, CRYO_CKPT_COMPLETE, &context);
	}
}

static int try_call(int fd, int call)
{
	long ret;

	if (call == DO_CLAIM)
		ret = ioctl(fd, CRYO_CLIENT_CLAIM, 0);
	else if (call == DO_COMMIT)
		ret = ioctl(fd, CRYO_RST_COMMIT, 0);
	else if (call == DO_NO_CALL)
		ret = ioctl(fd, _IO(CRYO_IOC_TYPE, 0x7f), 0);
	else if (call <= DO_RESTARTED)
		ret = do_device_call(fd, (enum call)call);
	else
		ret = do_request_call(fd, (enum call)call);
	return ret < 0 ? errno : 0;
}

/* ---- /dev/cryo: who has its descriptor from another has his own rights ---- */

static int want_of_device(enum call call, enum who who)
{
	switch (call) {
	case DO_CHECKPOINT:
		return who == OWN_NAMESPACE || who == OTHER_USER ? EPERM : 0;
	case DO_BAD_RESTART:
	case DO_BAD_CONSENT:
	case DO_IPC_ID:
		return EINVAL;
	case DO_PID_CURSOR:
		return ERANGE;
	case DO_RUN:
	case DO_CLAIM:
	case DO_NO_CALL:
		return ENOTTY;
	default:
		return 0;
	}
}

/* @dev: opened by root. */
static void on_device(int dev)
{
	static const enum call others[] = { DO_RUN, DO_CLAIM, DO_NO_CALL };
	struct order order = { 0 };
	int wanted[2], got[2];

	for (int who = 0; who < NR_WHO; who++) {
		for (size_t i = DO_VERSION; i <= DO_RESTARTED + sizeof(others) / sizeof(others[0]); i++) {
			order.call = i <= DO_RESTARTED ? (enum call)i : others[i - DO_RESTARTED - 1];
			wanted[0] = wanted[1] = want_of_device(order.call, (enum who)who);
			for (int at_once = 0; at_once < 2; at_once++) {
				order.at_once = at_once;
				let_call((enum who)who, dev, &order, got);
				/* The kernel has no Yama, or lacks what it takes. */
				if ((order.call == DO_CONSENT_ASK || order.call == DO_BAD_CONSENT) && got[0] == EOPNOTSUPP)
					continue;
				compare("root's descriptor", &order, got, wanted);
			}
		}
		judge("/dev/cryo", "root's descriptor", (enum who)who);
	}
}

/* ---- checkpoint handles ---- */

enum request_state { NEW, NEW_WITH_OUTPUT, NEW_CANCELLED, HELD, DONE, TRACKED, FAILED, RESTARTED, NR_REQUEST_STATES };

static const char *const request_states[] = { "before the run", "before the run, with an output", "cancelled before the run", "held",
					      "when it is over", "with an account of what is written", "when it has failed",
					      "after a restart" };

static uint32_t state_of(int handle)
{
	struct cryo_ckpt_status status = { .size = sizeof(status) };

	if (ioctl(handle, CRYO_CKPT_STATUS, &status))
		die("CRYO_CKPT_STATUS");
	return status.state;
}

/* Open for writing, under a number that nobody else has. */
#define OUT_FD	200

static int request_in(enum request_state state)
{
	static const uint32_t shown[] = { CRYO_STATE_NEW, CRYO_STATE_NEW, CRYO_STATE_NEW, CRYO_STATE_HELD, CRYO_STATE_DONE,
					  CRYO_STATE_DONE, CRYO_STATE_FAILED, CRYO_STATE_RESTARTED };
	bool output = state == NEW_WITH_OUTPUT || state == TRACKED;
	int handle, err = 0;

	if (state == RESTARTED)
		handle = ioctl(dev, CRYO_IOC_RESTARTED, 0);
	else
		handle = make_request(target, (output ? 0 : CRYO_CKPT_DRY_RUN) | (state == HELD ? CRYO_CKPT_HOLD : 0) |
				      (state == TRACKED ? CRYO_CKPT_TRACK : 0), output ? OUT_FD : -1);
	if (state == NEW_CANCELLED || state == FAILED)
		err = ioctl(handle, CRYO_CKPT_CANCEL, 0);
	if (state == HELD || state == DONE || state == TRACKED)
		err = ioctl(handle, CRYO_CKPT_RUN, 0);
	if (state == FAILED)
		err = ioctl(handle, CRYO_CKPT_RUN, 0) != -1;
	if (err || state_of(handle) != shown[state]) {
		show_log(handle);
		printf("# state %u\n", state_of(handle));
		die(request_states[state]);
	}
	return handle;
}

static void want_of_run(enum request_state state, enum who who, int wanted[2])
{
	bool may_trace = who != OWN_NAMESPACE && who != OTHER_USER;

	wanted[0] = wanted[1] = EBUSY;
	if (state == NEW)
		wanted[0] = may_trace ? 0 : EPERM;
	if (state == NEW_CANCELLED)
		wanted[0] = may_trace ? ECANCELED : EPERM;
	if (state != NEW_WITH_OUTPUT)
		return;
	wanted[0] = who == MAKER ? 0 : EBADF;
	/* Without the output it has not been run. */
	wanted[1] = who == MAKER ? EBUSY : EBADF;
}

static void want_of_request(enum call call, enum request_state state, enum who who, int wanted[2])
{
	bool before = state == NEW || state == NEW_WITH_OUTPUT || state == NEW_CANCELLED;
	int may_trace = who == OWN_NAMESPACE || who == OTHER_USER ? EPERM : 0;

	switch (call) {
	case DO_RUN:
		want_of_run(state, who, wanted);
		return;
	case DO_THAW:
	case DO_THAW_SIGNAL:
		wanted[0] = state == HELD ? 0 : EINVAL;
		wanted[1] = EINVAL;
		/* He may let it go, not signal what is not his. */
		if (state == HELD && call == DO_THAW_SIGNAL && who == OTHER_USER)
			wanted[0] = wanted[1] = EPERM;
		return;
	case DO_BAD_THAW:
		wanted[0] = wanted[1] = EINVAL;
		return;
	case DO_DEVICE:
		wanted[0] = wanted[1] = before ? 0 : EBUSY;
		return;
	case DO_PARENT:
		wanted[0] = wanted[1] = before ? may_trace : EBUSY;
		return;
	case DO_COMPLETE:
		wanted[0] = wanted[1] = state == TRACKED ? may_trace : EINVAL;
		return;
	case DO_CANCEL:
	case DO_STATUS:
	case DO_VERDICT:
		wanted[0] = wanted[1] = 0;
		return;
	default:
		wanted[0] = wanted[1] = ENOTTY;
	}
}

/* What the maker may still do after another has been refused. */
static void check_unharmed(enum request_state state, enum call call, const int wanted[2], int handle)
{
	if (call == DO_RUN && state == NEW_WITH_OUTPUT && wanted[0] == EBADF && try_call(handle, DO_RUN))
		complain(request_states[state], call, "then the maker's RUN", errno, 0);
	if (call == DO_THAW_SIGNAL && wanted[0] == EPERM &&
	    (state_of(handle) != CRYO_STATE_HELD || try_call(handle, DO_THAW)))
		complain(request_states[state], call, "then the maker's THAW", errno, 0);
}

static void on_request(enum request_state state, enum who who)
{
	static const enum call others[] = { DO_VERSION, DO_CLAIM, DO_NO_CALL };
	struct order order = { 0 };
	int wanted[2], got[2], handle = -1;

	for (size_t i = DO_RUN; i <= DO_COMPLETE + sizeof(others) / sizeof(others[0]); i++) {
		order.call = i <= DO_COMPLETE ? (enum call)i : others[i - DO_COMPLETE - 1];
		want_of_request(order.call, state, who, wanted);
		for (int at_once = 0; at_once < 2; at_once++) {
			order.at_once = at_once;
			if (handle < 0)
				handle = request_in(state);
			let_call(who, handle, &order, got);
			compare(request_states[state], &order, got, wanted);
			check_unharmed(state, order.call, wanted, handle);
			/* One that is as it was serves again; CANCEL leaves a mark before the run only. */
			if (order.call != DO_RUN && order.call != DO_THAW && order.call != DO_THAW_SIGNAL &&
			    (order.call != DO_CANCEL || state > NEW_CANCELLED))
				continue;
			close(handle);
			handle = -1;
		}
	}
	close(handle);
	judge("a checkpoint handle", request_states[state], who);
}

/* ---- a checkpoint that is under way: it waits for a process that has registered, and does not vote ---- */

static pid_t start_silent(void)
{
	struct cryo_client args = { .size = sizeof(args) };
	int ready[2];
	pid_t pid;
	char c;

	if (pipe2(ready, O_CLOEXEC))
		die("pipe2");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ioctl(dev, CRYO_IOC_CLIENT, &args) < 0 || write(ready[1], "", 1) != 1)
			die("CRYO_IOC_CLIENT");
		for (;;)
			pause();
	}
	if (read(ready[0], &c, 1) != 1)
		die("read");
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void await_state(int handle, uint32_t state)
{
	for (unsigned int i = 0; i < 20000 * factor() && state_of(handle) != state; i++)
		sleep_ms(1);
}

/* Calls that need no lock return at once; the others when the run is over. */
static void while_it_runs(enum who who)
{
	static const enum call immediate[] = { DO_STATUS, DO_VERDICT, DO_BAD_THAW, DO_NO_CALL };
	static const enum call late[] = { DO_RUN, DO_THAW, DO_THAW_SIGNAL, DO_DEVICE, DO_PARENT, DO_COMPLETE };
	pid_t silent = start_silent();
	int handle = make_request(silent, CRYO_CKPT_DRY_RUN, -1), wanted[2], got[2];
	struct order order = { .at_once = true }, cancel = { .call = DO_CANCEL };
	struct pollfd answer = { .fd = servants[who], .events = POLLIN };
	struct caller runner;

	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
		start_caller(&runner, handle, DO_RUN);
		await_state(handle, CRYO_STATE_NOTIFYING);
		for (size_t j = 0; !i && j < sizeof(immediate) / sizeof(immediate[0]); j++) {
			order.call = immediate[j];
			want_of_request(order.call, NEW, who, wanted);
			let_call(who, handle, &order, got);
			compare("while it runs", &order, got, wanted);
		}
		order.call = late[i];
		want_of_request(order.call, FAILED, who, wanted);
		send_order(who, handle, &order);
		if (poll(&answer, 1, 60))
			complain("while it runs", order.call, "does not wait", 0, 0);
		/* Another than who waits for the answer. */
		let_call(who == CHILD ? OTHER_USER : CHILD, handle, &cancel, got);
		finish_caller(&runner, false);
		if (runner.result != ECANCELED || got[0])
			complain("while it runs", DO_CANCEL, "the run", runner.result, ECANCELED);
		take_results(who, got);
		compare("after it has run", &order, got, wanted);
		close(handle);
		handle = make_request(silent, CRYO_CKPT_DRY_RUN, -1);
	}
	close(handle);
	kill(silent, SIGKILL);
	waitpid(silent, NULL, 0);
	judge("a checkpoint handle", "while it runs", who);
}

/* ---- */

static pid_t start_target(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* What it has in common with others would be an obstacle. */
		for (int fd = 0; fd < 3; fd++)
			dup2(OUT_FD, fd);
		close_range(3, ~0U, 0);
		for (;;)
			pause();
	}
	return pid;
}

/* Whose memory the kernel can keep account of. */
static bool can_track(void)
{
	struct cryo_version version = { .size = sizeof(version) };

	return !ioctl(dev, CRYO_IOC_VERSION, &version) && version.features & CRYO_FEATURE_TRACK;
}

int main(void)
{
	int root_dev, null;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		puts("1..0 # SKIP needs root to become other users");
		return 0;
	}
	root_dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	begin();
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (root_dev < 0 || dup3(null, OUT_FD, O_CLOEXEC) < 0)
		die("open");
	target = start_target();
	on_device(root_dev);
	for (int state = 0; state < NR_REQUEST_STATES; state++)
		for (int who = 0; who < NR_WHO && (state != TRACKED || can_track()); who++)
			on_request((enum request_state)state, (enum who)who);
	while_it_runs(CHILD);
	while_it_runs(OTHER_USER);
	ok(!kill(target, 0) && !waitpid(target, NULL, WNOHANG), "the target is there");
	end_servants();
	kill(target, SIGKILL);
	return finish();
}
