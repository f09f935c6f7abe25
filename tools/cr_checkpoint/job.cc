// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/job.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "base/bytes.h"
#include "base/error.h"
#include "base/exit_codes.h"
#include "base/memory_room.h"
#include "base/message.h"
#include "context/find_context.h"
#include "context/hash.h"
#include "context/source.h"
#include "cr_checkpoint/compress.h"
#include "cr_checkpoint/generations.h"
#include "cr_checkpoint/increment.h"
#include "cr_checkpoint/progress.h"
#include "cr_checkpoint/reader.h"
#include "cr_checkpoint/request.h"
#include "cr_checkpoint/target_file.h"
#include "cr_checkpoint/trace_access.h"

namespace cryo {
namespace {

// The signals that end a program; the rest of them would have no effect on us but the terminal's stop
// signals, which wait until the checkpoint is over.
constexpr int kEndingSignals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

std::string how_compared(const cryo_ckpt_status& status) {
  if (status.pages_unchanged == 0) return "found by their contents";
  return fmt::format("{} of them known to be unchanged, by the kernel's tracking", status.pages_unchanged);
}

class Job {
 public:
  Job(const Options& options, std::optional<Parent> parent);
  void run();

 private:
  void start_compressor();
  void check_reader();
  [[noreturn]] void fail_reader() const;
  [[nodiscard]] cryo_checkpoint parameters() const;
  void work();
  void capture();
  void finish_stages();
  void stop_stages();
  void check_obstacles() const;
  [[noreturn]] void fail_too_large(int error) const;
  bool left_nobody() const;
  void check_result(int error) const;
  void note_complete();
  void check_verdict() const;
  void check_cancelled() const;
  void watch(int done, Progress& progress);
  void on_signal(int signals);
  void show_log(bool failed);
  void show_summary() const;

  const Options& options_;
  Device device_;
  std::optional<TargetFile> file_;
  std::optional<Compressor> compressor_;
  std::optional<Parent> parent_;
  std::optional<Increment> increment_;  // writes to the one before it
  UniqueFd null_;                       // what a dry run writes to
  std::optional<PipeReader> reader_;    // of the job itself
  std::optional<Request> request_;
  std::atomic<int> interrupted_ = 0;  // the signal that came
};

Job::Job(const Options& options, std::optional<Parent> parent)
    : options_(options), parent_(std::move(parent)) {
  if (options_.dry_run) {
    null_.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!null_) fail_errno("/dev/null");
  } else {
    std::vector<Ancestor> names;
    if (parent_) names = names_for(*parent_, options_);
    file_.emplace(options_);
    check_reader();
    if (options_.compression) start_compressor();
    const int out = compressor_ ? compressor_->input() : file_->fd();
    if (parent_) increment_.emplace(*parent_, std::move(names), out, file_->name());
  }
  request_.emplace(device_, parameters());
  if (parent_ && options_.tracks()) request_->set_parent(parent_->id());
  for (const DeviceRule& rule : options_.devices) request_->set_device(rule.path, rule.policy);
}

// Stopped, as all of the job is, until the context has been written, unless there is a snapshot.
void Job::fail_reader() const {
  fail(EDEADLK,
       "{} is read by pid {} ({}), which is part of the checkpoint and stands still while it is written (-f "
       "FILE writes to "
       "a file)",
       file_->name(), reader_->pid, reader_->command);
}

void Job::check_reader() {
  reader_ = reader_in_scope(file_->fd(), options_);
  if (!reader_) return;
  if (options_.signal || !options_.snapshot) fail_reader();
  if (!options_.quiet)
    message("cr_checkpoint",
            "warning: {} is read by pid {} ({}), which is part of the checkpoint, with the file that it "
            "writes to: restart from "
            "a copy of that, or write to a file (-f FILE)",
            file_->name(), reader_->pid, reader_->command);
}

// The process and this one may share a limit of memory: what is wanted beyond it is taken from one of them.
void Job::start_compressor() {
  const std::optional<std::uint64_t> room = memory_room();
  const std::size_t threads = compressing_threads(*options_.compression, room);
  if (threads > 0)
    compressor_.emplace(file_->fd(), file_->name(), *options_.compression, options_.sync, threads);
  else if (!options_.quiet)
    message("cr_checkpoint",
            "warning: {} is not compressed: the memory control group has {} left, too little for it",
            file_->name(), bytes_text(*room));
}

namespace {

// Who does not wait for the disk is done sooner with the page cache.
std::uint32_t direct_flags(const Options& options) {
  if (options.direct == Direct::kAlways) return CRYO_CKPT_DIRECT | CRYO_CKPT_DIRECT_ALWAYS;
  return options.direct == Direct::kAuto && options.sync ? CRYO_CKPT_DIRECT : 0;
}

}  // namespace

cryo_checkpoint Job::parameters() const {
  cryo_checkpoint parameters{};
  parameters.size = sizeof(parameters);
  parameters.flags = options_.flags;
  if (options_.dry_run) parameters.flags |= CRYO_CKPT_DRY_RUN;
  if (options_.signal && !options_.dry_run) parameters.flags |= CRYO_CKPT_HOLD;
  if (options_.snapshot) parameters.flags |= CRYO_CKPT_SNAPSHOT;
  if (reader_) parameters.flags |= CRYO_CKPT_GOES_ON;
  parameters.flags |= CRYO_CKPT_COMMAND;
  if (options_.tracks()) parameters.flags |= CRYO_CKPT_TRACK;
  parameters.flags |= direct_flags(options_);
  parameters.snapshot_limit = options_.snapshot_limit;
  parameters.save_limit = options_.save_limit;
  parameters.save_total = options_.save_total;
  parameters.target = options_.target;
  parameters.scope = options_.scope;
  parameters.out_fd = options_.dry_run ? null_.get()
                      : increment_     ? increment_->input()
                      : compressor_    ? compressor_->input()
                                       : file_->fd();
  parameters.timeout_ms = options_.timeout_ms;
  if (options_.signal && !options_.dry_run)
    parameters.announced_signal = *options_.signal;  // of which a negative one comes first
  return parameters;
}

// The worker does everything that may take long, so that this thread can look for signals and draw.
void Job::run() {
  UniqueFd done(::eventfd(0, EFD_CLOEXEC));
  if (!done) fail_errno("eventfd");
  Progress progress(*request_, options_.target, !options_.quiet);
  std::exception_ptr failure;
  std::thread worker([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    ::eventfd_write(done.get(), 1);
  });
  try {
    watch(done.get(), progress);
  } catch (...) {
    request_->cancel();
    worker.join();
    throw;
  }
  worker.join();
  progress.clear();
  show_log(failure != nullptr);
  if (failure && interrupted_ != 0) throw Interrupted{interrupted_};
  if (failure) std::rethrow_exception(failure);
  show_summary();
}

void Job::work() {
  capture();
  if (options_.dry_run) return;
  check_cancelled();
  file_->sync();
  check_cancelled();
  if (parent_) parent_->check_still_there();
  file_->publish();
  if (options_.tracks()) note_complete();
  if (options_.signal) request_->thaw(std::abs(*options_.signal));
}

void Job::capture() {
  if (file_) file_->begin();
  const int error = request_->run();
  if (file_ && error == 0) file_->captured();
  if (error == 0 || error == EPIPE)
    finish_stages();  // throws the true reason of an EPIPE
  else
    stop_stages();  // here, as a second signal can end the program while this waits for a slow reader
  check_result(error);
}

// Not of a full context that is compressed, or went away through a pipe: that would have to be read back.
void Job::note_complete() {
  const auto* file = std::get_if<DestinationFile>(&options_.destination);
  if (increment_) return request_->set_complete(increment_->identity());
  if (compressor_ || file == nullptr) return;
  // Nobody has to have left it there.
  if (FoundContext found = open_regular_context(file_->name()); found.place)
    request_->set_complete(identity_of(Source::from_fd(std::move(found.place), file_->name())));
}

void Job::finish_stages() {
  try {
    if (increment_) increment_->finish();
  } catch (const Error& error) {
    if (compressor_ && error.code() == EPIPE) compressor_->finish();
    throw;
  }
  if (compressor_) compressor_->finish();
}

void Job::stop_stages() {
  if (compressor_) compressor_->cancel();  // the one before it may wait for it
  if (increment_) increment_->cancel();
  if (compressor_) compressor_->stop();
  if (increment_) increment_->stop();
}

// By whom, where procfs tells.
std::string tracer_of(pid_t pid) {
  std::ifstream lines(fmt::format("/proc/{}/status", pid));
  constexpr std::string_view kField = "TracerPid:\t";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kField)) continue;
    const std::string tracer = line.substr(kField.size());
    std::string name;
    std::getline(std::ifstream(fmt::format("/proc/{}/comm", tracer)), name);
    return tracer == "0" || name.empty() ? "" : fmt::format(" by process {} ({})", tracer, name);
  }
  return {};
}

// Where a debugger is at work, that is what BLCR says, whatever else there is.
void Job::check_obstacles() const {
  const std::uint32_t obstacles = request_->status().obstacles;
  if (obstacles & CRYO_OBSTACLE_PTRACED)
    fail(kErrPtraced, "process {} is being traced{}", options_.target, tracer_of(options_.target));
  if (obstacles & CRYO_OBSTACLE_PTRACER) fail(kErrPtracer, "process {} traces others", options_.target);
}

void Job::fail_too_large(int error) const {
  rlimit limit{};
  const std::string name = file_ ? file_->name() : "/dev/null";
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    fail(error, "{}: larger than the limit of file size allows ({}; ulimit -f)", name,
         bytes_text(limit.rlim_cur));
  fail(error, "{}: larger than its file system allows", name);
}

namespace {

// It may have left itself out, or be left out.  Not a zombie; of a group or session, the one that leads it.
bool is_running(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const std::size_t name = line.rfind(") ");
  return name != std::string::npos && name + 2 < line.size() &&
         std::string_view("ZX").find(line[name + 2]) == std::string_view::npos;
}

}  // namespace

// No thread was asked, as all processes have left themselves out, or options do.
bool Job::left_nobody() const {
  return request_->status().threads == 0 &&
         (request_->verdict().omitted != 0 ||
          (options_.flags & (CRYO_CKPT_PTRACED_SKIP | CRYO_CKPT_PTRACER_SKIP)) != 0);
}

void Job::check_result(int error) const {
  const pid_t target = options_.target;
  const std::uint32_t freeze_limit =
      options_.timeout_ms == 0 ? CRYO_FREEZE_DEFAULT_MS
                               : std::min<std::uint32_t>(options_.timeout_ms, CRYO_FREEZE_DEFAULT_MS);
  switch (error) {
    case 0:
      return;
    case EOPNOTSUPP:
      check_obstacles();
      fail(error, "process {} has state that cannot be saved", target);
    case ESRCH:
      if (left_nobody() && is_running(target))
        fail(error, "process {}: there is nothing to be checkpointed", target);
      fail(error, "process {}{} has exited", target,
           options_.scope == CRYO_SCOPE_PROCESS ? "" : " or another one of its job");
    case EBUSY:
      fail(error, "process {} is in another checkpoint or restart", target);
    case EDEADLK:
      if (reader_) fail_reader();
      fail(error, "process {} is cr_checkpoint itself", target);
    case EINTR:
      fail(error, "process {}: interrupted by a signal", target);
    case ECANCELED:
      check_verdict();
      fail(error, "process {}: cancelled", target);
    case ENOMEM:
      fail(error, "process {}: not enough memory", target);
    case EPERM:
      fail(error, "process {}: not permitted{}", target, yama_hint());
    case EACCES:
      fail(error, "process {}: not permitted{}", target,
           options_.scope == CRYO_SCOPE_PROCESS ? "" : ", or not of all of its job");
    case ETIMEDOUT:
      if (request_->verdict().missing != 0)
        fail(error, "process {}: callbacks were not ready for the checkpoint", target);
      // No thread has been asked before the time was over.
      if (request_->status().freeze_ns == 0 &&
          (request_->status().threads != 0 || request_->status().pause_ns != 0))
        fail(error, "process {}: its threads could not be frozen within {} s{}", target, freeze_limit / 1000,
             freeze_limit == CRYO_FREEZE_DEFAULT_MS ? ", the limit for that" : "");
      fail(error, "process {}: not complete within {} s", target, options_.timeout_ms / 1000);
    case EFBIG:
      fail_too_large(error);
    case EPIPE:
      fail(error, "{}: the reader went away", file_ ? file_->name() : "output");
    default:
      fail(error, "cannot write process {} to {}: {}", target, file_ ? file_->name() : "/dev/null",
           errno_text(error));
  }
}

// BLCR's numbers, or one of the application's own, of which the shell sees the low eight bits.
void Job::check_verdict() const {
  const cryo_ckpt_verdict verdict = request_->verdict();
  if (verdict.vote == CRYO_VOTE_READY) return;
  fail(static_cast<int>(verdict.code), "cancelled by process {}{}: code {}", verdict.pid,
       verdict.vote == CRYO_VOTE_PERMANENT ? " for good; the processes were killed" : "", verdict.code);
}

void Job::check_cancelled() const {
  if (interrupted_ != 0) fail(ECANCELED, "cancelled");
}

// Until the worker is done: signals and progress.
void Job::watch(int done, Progress& progress) {
  sigset_t ending;
  sigemptyset(&ending);
  for (int signal : kEndingSignals) sigaddset(&ending, signal);
  UniqueFd signals(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) fail_errno("signalfd");
  for (;;) {
    pollfd wait[] = {{done, POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (::poll(wait, std::size(wait), progress.wait_ms()) < 0 && errno != EINTR) fail_errno("poll");
    if (wait[0].revents != 0) return;
    if (wait[1].revents != 0) on_signal(signals.get());
    progress.update();
  }
}

// The first signal cancels in good order. Should the module not come back (a write to a file server that is
// gone), the second one ends the program, and so the request, without waiting.
void Job::on_signal(int signals) {
  signalfd_siginfo info;
  if (::read(signals, &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return;
  if (interrupted_ != 0) {
    if (file_) file_->discard();
    ::_exit(kExitSignalBase + interrupted_);
  }
  interrupted_ = static_cast<int>(info.ssi_signo);
  request_->cancel();
  if (compressor_) compressor_->cancel();
  if (increment_) increment_->cancel();
}

// "pid 7 (COMMAND): WARNING: ...": what keeps a user from restarting the context.
bool is_for_all(const std::string& line) {
  return line.find("): WARNING: ") != std::string::npos;
}

// Who has asked for all contents is told which are left out.
bool is_left_out(const Options& options, const std::string& line) {
  return (options.flags & kSaveAll) == kSaveAll &&
         line.find("its contents are not in the context") != std::string::npos;
}

void Job::show_log(bool failed) {
  if (options_.quiet || options_.log == LogLevel::kNever) return;
  const bool all = failed || options_.dry_run || options_.verbose != 0 || options_.log != LogLevel::kOnError;
  for (const std::string& line : request_->read_log())
    if (all || is_for_all(line) || is_left_out(options_, line)) message("cr_checkpoint", "{}", line);
}

void Job::show_summary() const {
  if (options_.dry_run) {
    if (!options_.quiet) fmt::print("process {} can be checkpointed\n", options_.target);
    return;
  }
  if (options_.verbose == 0 || options_.quiet) return;
  const cryo_ckpt_status status = request_->status();
  constexpr double kMillisecond = 1e6;
  message("cr_checkpoint",
          "process {} is in {}: {} ({} pages{}; {} zero pages omitted) of {} thread{}{}, paused for "
          "{:.1f} ms, {:.1f} ms of them to stop{}",
          options_.target, file_->name(),
          bytes_text(increment_ ? increment_->written() : status.bytes_written), status.pages_saved,
          increment_ ? " compared" : "", status.pages_zero, status.threads, status.threads == 1 ? "" : "s",
          status.processes > 1 ? fmt::format(" in {} processes", status.processes) : "",
          static_cast<double>(status.pause_ns) / kMillisecond,
          static_cast<double>(status.freeze_ns) / kMillisecond,
          status.snapshot != 0 ? "; written from a snapshot" : "");
  if (compressor_) message("cr_checkpoint", "{} is {}", file_->name(), compressor_->summary());
  if (increment_)
    message("cr_checkpoint", "{} of its pages are in other contexts, {} in {}; {}",
            increment_->elsewhere_pages(), increment_->own_pages(), file_->name(), how_compared(status));
}

}  // namespace

void block_signals() {
  sigset_t all;
  sigfillset(&all);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) sigdelset(&all, signal);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

namespace {

// Has the kernel kept account of what the target wrote to since that context? It is of no use when that is
// held.
bool is_tracked(const Options& options, const Parent& parent) {
  if (!options.tracks() || options.signal) return false;
  const Device device;
  cryo_checkpoint parameters{};
  parameters.size = sizeof(parameters);
  parameters.flags = CRYO_CKPT_DRY_RUN;
  parameters.target = options.target;
  parameters.scope = options.scope;
  return Request(device, parameters).set_parent(parent.id());
}

// What takes long is done before the process is stopped.
void prepare(const Options& options, const Parent& parent) {
  const bool tracked = is_tracked(options, parent);
  parent.verify(tracked);
  if (!tracked) parent.load();
}

// Before anything is said of contexts that there are of it.
void check_target(const Options& options) {
  const bool process = options.scope == CRYO_SCOPE_PROCESS || options.scope == CRYO_SCOPE_TREE;
  if (!process && options.scope != CRYO_SCOPE_PGRP) return;
  if (::kill(process ? options.target : -options.target, 0) != 0 && errno == ESRCH)
    fail_unknown(options.target, options.scope);
}

// In a directory of generations.
void run_next_generation(const Options& options) {
  check_target(options);
  const Generations generations(options.generations, options.target);
  Options next = options;
  next.destination = DestinationFile{generations.next(options.compression.has_value()), false};
  next.placement = Placement::kNoClobber;
  std::vector<std::string> notes;
  std::optional<Parent> parent =
      generations.newest(notes, [&](const Parent& found) { prepare(options, found); });
  if (!options.quiet)
    for (const std::string& note : notes) message("cr_checkpoint", "{}", note);
  Job(next, std::move(parent)).run();
  if (options.keep_newest) generations.keep(static_cast<std::size_t>(*options.keep_newest));
}

}  // namespace

void run_job(const Options& options) {
  if (!options.generations.empty() && !options.dry_run) return run_next_generation(options);
  std::optional<Parent> parent;
  if (!options.parent.empty() && !options.dry_run) parent.emplace(options.parent);
  if (parent) prepare(options, *parent);
  Job(options, std::move(parent)).run();
}

}  // namespace cryo
