// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may call what about a target that is no longer what it was when the handle was made: it has executed a program, its own or a
 * set-user-ID one, is another user's, may not be traced, has exited, has gone.  Each call in each state, by who has made the handle
 * and by others to whom he has passed it, twice and by two threads at once.  (calls.c: while it is as it was.)
 */
#include "calls.h"

enum call {
	/* /dev/cryo */
	DO_CHECKPOINT,
	/* a checkpoint handle */
	DO_RUN, DO_THAW, DO_THAW_SIGNAL, DO_BAD_THAW, DO_CANCEL, DO_STATUS, DO_VERDICT, DO_DEVICE, DO_PARENT, DO_COMPLETE, NR_CALLS
};

static const char *const call_names[] = {
	[DO_CHECKPOINT] = "CHECKPOINT", [DO_RUN] = "RUN", [DO_THAW] = "THAW", [DO_THAW_SIGNAL] = "THAW with a signal",
	[DO_BAD_THAW] = "THAW with what is no signal", [DO_CANCEL] = "CANCEL", [DO_STATUS] = "STATUS", [DO_VERDICT] = "VERDICT",
	[DO_DEVICE] = "DEVICE", [DO_PARENT] = "PARENT", [DO_COMPLETE] = "COMPLETE",
};

static int try_call(int fd, int call)
{
	struct cryo_checkpoint checkpoint = { .size = sizeof(checkpoint), .target = target, .flags = CRYO_CKPT_DRY_RUN, .out_fd = -1 };
	struct cryo_ckpt_status status = { .size = sizeof(status) };
	struct cryo_ckpt_verdict verdict = { .size = sizeof(verdict) };
	struct cryo_ckpt_device device = { .size = sizeof(device), .policy = CRYO_DEVICE_CLOSE, .rdev = 0x103 };
	struct cryo_ckpt_context context = { .size = sizeof(context), .id = { 1 } };
	void *const args[NR_CALLS] = {
		[DO_CHECKPOINT] = &checkpoint, [DO_THAW_SIGNAL] = (void *)(long)SIGURG, [DO_BAD_THAW] = (void *)-1L,
		[DO_STATUS] = &status, [DO_VERDICT] = &verdict, [DO_DEVICE] = &device, [DO_PARENT] = &context, [DO_COMPLETE] = &context,
	};
	static const unsigned int numbers[NR_CALLS] = {
		[DO_CHECKPOINT] = CRYO_IOC_CHECKPOINT, [DO_RUN] = CRYO_CKPT_RUN, [DO_THAW] = CRYO_CKPT_THAW,
		[DO_THAW_SIGNAL] = CRYO_CKPT_THAW, [DO_BAD_THAW] = CRYO_CKPT_THAW, [DO_CANCEL] = CRYO_CKPT_CANCEL,
		[DO_STATUS] = CRYO_CKPT_STATUS, [DO_VERDICT] = CRYO_CKPT_VERDICT, [DO_DEVICE] = CRYO_CKPT_DEVICE,
		[DO_PARENT] = CRYO_CKPT_PARENT, [DO_COMPLETE] = CRYO_CKPT_COMPLETE,
	};
	int ret = ioctl(fd, numbers[call], args[call]);

	if (ret < 0)
		return errno;
	if (call == DO_CHECKPOINT)
		close(ret);
	return call == DO_PARENT && context.tracked ? IS_TRACKED : 0;
}

/* ---- the target, and what becomes of it ---- */

enum fate { EXECUTED, IS_ROOT, OTHERS, UNTRACEABLE, EXITED, GONE, NR_FATES };

/* The thread's name, too, when it has come to that. */
static const char *const fates[NR_FATES] = { "has executed", "set-user-ID", "another's", "not dumpable", "has exited", "has gone" };

/* Copies of this program: the second one is set-user-ID, and root's. */
static char dir[] = "/var/tmp/changed-XXXXXX", plain[64], becomes_root[64], over[64];

/* Open for writing, under a number that nobody else has. */
#define OUT_FD	200

static void await_end(void)
{
	struct timespec moment = { .tv_nsec = 20000000 };

	/* Nobody here may signal all of them. */
	while (access(over, F_OK))
		nanosleep(&moment, NULL);
	_exit(0);
}

static void become(int signal)
{
	enum fate fate = (enum fate)(signal - SIGRTMIN);
	const char *program = fate == EXECUTED ? plain : becomes_root;
	char number[] = { (char)('0' + fate), 0 };

	if (fate == UNTRACEABLE) {
		prctl(PR_SET_DUMPABLE, 0);
		prctl(PR_SET_NAME, fates[fate]);
		await_end();
	}
	execl(program, program, number, over, (char *)NULL);
	_exit(1);
}

/* In the program that the target has executed. */
static int is_other_now(enum fate fate)
{
	if (fate == OTHERS)
		become_user(ORDINARY + 1);
	prctl(PR_SET_NAME, fates[fate]);
	await_end();
	return 0;
}

static void start_target(void)
{
	target = fork();
	if (target < 0)
		die("fork");
	if (target)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int fate = 0; fate < EXITED; fate++)
		signal(SIGRTMIN + fate, become);
	/* What it has in common with others would be an obstacle. */
	for (int fd = 0; fd < 3; fd++)
		dup2(OUT_FD, fd);
	close_range(3, ~0U, 0);
	prctl(PR_SET_NAME, "ready");
	await_end();
}

static void await_name(const char *name)
{
	char path[64], now[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", target);
	for (unsigned int i = 0; i < 2000 * factor(); i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, now, sizeof(now) - 1);

		close(fd);
		now[n > 0 ? n - 1 : 0] = 0;
		if (!strcmp(now, name))
			return;
		sleep_ms(5);
	}
	printf("# it is called %s, not %s\n", now, name);
	die("the target");
}

static void let_be(enum fate fate)
{
	siginfo_t info;

	await_name("ready");
	kill(target, fate < EXITED ? SIGRTMIN + (int)fate : SIGKILL);
	if (fate < EXITED)
		await_name(fates[fate]);
	else if (waitid(P_PID, (id_t)target, &info, WEXITED | (fate == EXITED ? WNOWAIT : 0)))
		die("waitid");
}

static void end_target(enum fate fate)
{
	int fd = open(over, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		die(over);
	close(fd);
	if (fate != GONE && waitpid(target, NULL, 0) != target)
		die("waitpid");
	unlink(over);
}

/* ---- what has to come of it ---- */

enum state { NEW, HELD, DONE, TRACKED, NR_STATES };

static const char *const states[NR_STATES] = { "before the run", "held", "when it is over", "with an account of what is written" };

static bool tracks;		/* the kernel can keep account of what is written */

/* Of one that has exited, who may is asked as of others. */
static int may_trace(enum fate fate, enum who who)
{
	static const bool may[NR_FATES][NR_WHO] = {
		[EXECUTED] = { [MAKER] = true, [CHILD] = true, [ROOT] = true },
		[IS_ROOT] = { [ROOT] = true },
		[OTHERS] = { [OTHER_USER] = true, [ROOT] = true },
		[UNTRACEABLE] = { [ROOT] = true },
		[EXITED] = { [MAKER] = true, [CHILD] = true, [ROOT] = true },
	};

	return fate == GONE ? ESRCH : may[fate][who] ? 0 : EPERM;
}

static void want(int wanted[2], int first, int again)
{
	wanted[0] = first;
	wanted[1] = again;
}

static void want_of_thaw(enum state state, enum fate fate, enum who who, bool signal, int wanted[2])
{
	want(wanted, state == HELD ? 0 : EINVAL, EINVAL);
	/* He may let it go, not signal what is not his. */
	if (state == HELD && fate == EXITED && signal && who == OTHER_USER)
		want(wanted, EPERM, EPERM);
}

static void want_of(enum call call, enum state state, enum fate fate, enum who who, int wanted[2])
{
	int may = may_trace(fate, who);
	/* Its memory is the same, with its account. */
	bool known = fate == UNTRACEABLE && tracks;

	switch (call) {
	case DO_CHECKPOINT:
		want(wanted, may, may);
		return;
	case DO_RUN:
		want(wanted, state != NEW ? EBUSY : fate == EXITED && !may ? ESRCH : may, EBUSY);
		return;
	case DO_THAW:
	case DO_THAW_SIGNAL:
		want_of_thaw(state, fate, who, call == DO_THAW_SIGNAL, wanted);
		return;
	case DO_BAD_THAW:
		want(wanted, EINVAL, EINVAL);
		return;
	case DO_DEVICE:
		want(wanted, state == NEW ? 0 : EBUSY, state == NEW ? 0 : EBUSY);
		return;
	case DO_PARENT:
		wanted[0] = state != NEW ? EBUSY : !may && known ? IS_TRACKED : may;
		wanted[1] = wanted[0];
		return;
	case DO_COMPLETE:
		wanted[0] = wanted[1] = state == TRACKED ? may : EINVAL;
		return;
	default:
		want(wanted, 0, 0);
	}
}

/* ---- */

static bool serves_once(enum call call)
{
	return call == DO_RUN || call == DO_THAW || call == DO_THAW_SIGNAL || call == DO_CANCEL;
}

/* For one caller: what all of his calls take that leave it as it was, and one for each of the others. */
struct handles {
	int common;
	int once[NR_CALLS][2];
};

static int handle_in(enum state state)
{
	int handle = make_request(target, (state == TRACKED ? CRYO_CKPT_TRACK : CRYO_CKPT_DRY_RUN) | (state == HELD ? CRYO_CKPT_HOLD : 0),
				  state == TRACKED ? OUT_FD : -1);

	if (state != NEW && ioctl(handle, CRYO_CKPT_RUN, 0)) {
		show_log(handle);
		die(states[state]);
	}
	return handle;
}

static void make_handles(struct handles *handles, enum state state)
{
	handles->common = handle_in(state);
	for (int call = 0; call < NR_CALLS; call++)
		for (int at_once = 0; at_once < 2; at_once++)
			handles->once[call][at_once] = serves_once((enum call)call) ? handle_in(state) : -1;
}

static void close_handles(const struct handles *handles)
{
	close(handles->common);
	for (int call = 0; call < NR_CALLS; call++)
		for (int at_once = 0; at_once < 2; at_once++)
			if (handles->once[call][at_once] >= 0)
				close(handles->once[call][at_once]);
}

static void try_one(int handle, enum state state, enum fate fate, enum who who, struct order order)
{
	int wanted[2], got[2];

	want_of((enum call)order.call, state, fate, who, wanted);
	let_call(who, order.call == DO_CHECKPOINT ? dev : handle, &order, got);
	compare(fates[fate], &order, got, wanted);
}

static void try_all(const struct handles *handles, enum state state, enum fate fate, enum who who)
{
	for (int call = 0; call < NR_CALLS; call++)
		for (int at_once = 0; at_once < 2; at_once++)
			try_one(serves_once((enum call)call) ? handles->once[call][at_once] : handles->common, state, fate, who,
				(struct order){ .call = call, .at_once = at_once });
}

/* An account that has the name which CRYO_CKPT_PARENT asks for. */
static void begin_account(void)
{
	int handle = handle_in(TRACKED);

	if (try_call(handle, DO_COMPLETE))
		die("CRYO_CKPT_COMPLETE");
	close(handle);
}

static void with_fate(enum state state, enum fate fate)
{
	static struct handles handles[NR_WHO];

	start_target();
	await_name("ready");
	if (state == NEW && tracks)
		begin_account();
	for (int who = 0; who < NR_WHO; who++)
		make_handles(&handles[who], state);
	let_be(fate);
	for (int who = 0; who < NR_WHO; who++) {
		try_all(&handles[who], state, fate, (enum who)who);
		close_handles(&handles[who]);
		judge(fates[fate], states[state], (enum who)who);
	}
	end_target(fate);
}

/* One that is held does nothing but die, and is in one checkpoint only. */
static void while_held(enum fate fate, enum who who)
{
	int handle;

	for (int call = 0; call < NR_CALLS; call++)
		for (int at_once = 0; at_once < 2; at_once++) {
			start_target();
			await_name("ready");
			handle = handle_in(HELD);
			let_be(fate);
			try_one(handle, HELD, fate, who, (struct order){ .call = call, .at_once = at_once });
			close(handle);
			end_target(fate);
		}
	judge(fates[fate], states[HELD], who);
}

/* ---- */

static void install(const char *path, mode_t mode)
{
	char command[192];

	snprintf(command, sizeof(command), "cp /proc/%d/exe %s && chmod %o %s", getpid(), path, mode, path);
	if (system(command))
		die(path);
}

static void make_directory(void)
{
	if (!mkdtemp(dir) || chown(dir, ORDINARY, ORDINARY) || chmod(dir, 0755))
		die(dir);
	snprintf(plain, sizeof(plain), "%s/plain", dir);
	snprintf(becomes_root, sizeof(becomes_root), "%s/root", dir);
	snprintf(over, sizeof(over), "%s/over", dir);
	install(plain, 0755);
	install(becomes_root, 04755);
}

int main(int argc, char *argv[])
{
	struct cryo_version version = { .size = sizeof(version) };
	int null;

	if (argc == 3) {
		snprintf(over, sizeof(over), "%s", argv[2]);
		return is_other_now((enum fate)(*argv[1] - '0'));
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		puts("1..0 # SKIP needs root to become other users");
		return 0;
	}
	make_directory();
	begin();
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null < 0 || dup3(null, OUT_FD, O_CLOEXEC) < 0)
		die("/dev/null");
	if (ioctl(dev, CRYO_IOC_VERSION, &version))
		die("CRYO_IOC_VERSION");
	tracks = version.features & CRYO_FEATURE_TRACK;
	for (int state = 0; state < NR_STATES; state++)
		for (int fate = 0; fate < NR_FATES && state != HELD && (state != TRACKED || tracks); fate++)
			with_fate((enum state)state, (enum fate)fate);
	for (int who = 0; who < NR_WHO; who++) {
		while_held(EXITED, (enum who)who);
		while_held(GONE, (enum who)who);
	}
	end_servants();
	unlink(plain);
	unlink(becomes_root);
	rmdir(dir);
	return finish();
}
