// SPDX-License-Identifier: GPL-2.0-only
// Addresses, masks and register values are hexadecimal strings: they do not fit a double.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "context/describe.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(std::uint64_t value) {
  return fmt::format("{:#x}", value);
}

Json named_values(const NamedValues& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = value;
  return json;
}

Json json_of(const cryo_system& system) {
  return {{"sysname", field_text(system.sysname)},
          {"release", field_text(system.release)},
          {"version", field_text(system.version)},
          {"machine", field_text(system.machine)},
          {"nodename", field_text(system.nodename)},
          {"writer", field_text(system.writer)},
          {"realtime_ns", system.realtime_ns},
          {"monotonic_ns", system.monotonic_ns},
          {"boottime_ns", system.boottime_ns},
          {"processes", system.processes},
          {"threads", system.threads}};
}

Json json_of(const Context& context, const Regset& regset) {
  Json json = {{"name", regset_name(regset.head.note)},
               {"note", regset.head.note},
               {"item_size", regset.head.item_size},
               {"bytes", regset.data.size()}};
  const ArchDescription* description = arch_description(context.header.arch);
  if (description == nullptr) return json;
  const NamedValues values = description->registers(regset);
  if (!values.empty()) json["values"] = named_values(values);
  return json;
}

Json scheduling(const Thread& thread) {
  const cryo_thread& head = thread.head;
  return {{"policy", policy_name(head.sched_policy)},
          {"priority", head.sched_priority},
          {"nice", head.nice},
          {"runtime_ns", head.sched_runtime},
          {"deadline_ns", head.sched_deadline},
          {"period_ns", head.sched_period},
          {"timer_slack_ns", head.timer_slack_ns},
          {"ioprio", head.ioprio},
          {"cpus", cpu_list(thread.cpus, head.nr_cpus)}};
}

Json restart_json(const cryo_thread& head) {
  return {{"kind", restart_kind_name(head.restart.kind)},
          {"time_flags", head.restart.time_flags},
          {"time_ns", head.restart.time_ns},
          {"clockid", head.restart.clockid},
          {"uaddr", hex(head.restart.uaddr)},
          {"val", head.restart.val}};
}

Json json_of(const Creds& creds);

Json json_of(const Context& context, const Thread& thread) {
  const cryo_thread& head = thread.head;
  Json json = {
      {"tid", head.tid},
      {"name", field_text(head.comm)},
      {"flags", thread_flag_names(head.flags)},
      {"blocked", signal_set_names(head.sigmask)},
      {"pending", signal_set_names(thread.pending.signals)},
      {"seccomp", {{"mode", thread.seccomp.mode}, {"filters", thread.seccomp.filters.size()}}},
      {"altstack",
       {{"address", hex(head.altstack_sp)}, {"size", head.altstack_size}, {"flags", head.altstack_flags}}},
      {"clear_child_tid", hex(head.clear_child_tid)},
      {"robust_list", hex(head.robust_list)},
      {"rseq", hex(head.rseq)},
      {"pdeath_signal", head.pdeath_signal},
      {"scheduling", scheduling(thread)},
      {"restart", restart_json(head)}};
  if (const auto place = thread_place(context.header.arch, thread)) {
    json["ip"] = hex(place->ip);
    json["sp"] = hex(place->sp);
    json["syscall"] = place->syscall ? Json(*place->syscall) : Json();
  }
  if (thread.creds) json["creds"] = json_of(*thread.creds);
  if (thread.root) json["root"] = thread.root->path;
  json["regsets"] = Json::array();
  for (const Regset& regset : thread.regsets) json["regsets"].push_back(json_of(context, regset));
  return json;
}

Json json_of(const Creds& creds) {
  const cryo_creds& head = creds.head;
  return {{"uid", {head.uid, head.euid, head.suid, head.fsuid}},
          {"gid", {head.gid, head.egid, head.sgid, head.fsgid}},
          {"groups", creds.groups},
          {"inheritable", hex(head.cap_inheritable)},
          {"permitted", hex(head.cap_permitted)},
          {"effective", hex(head.cap_effective)},
          {"bounding", hex(head.cap_bset)},
          {"ambient", hex(head.cap_ambient)},
          {"securebits", head.securebits}};
}

Json sigactions(const Process& process) {
  Json json = Json::array();
  for (std::size_t i = 0; i < process.sigactions.size(); ++i) {
    const cryo_sigaction& action = process.sigactions[i];
    if (action.handler == 0 && action.flags == 0 && action.mask == 0) continue;
    json.push_back({{"signal", signal_name(static_cast<int>(i + 1))},
                    {"handler", hex(action.handler)},
                    {"flags", hex(action.flags)},
                    {"mask", hex(action.mask)}});
  }
  return json;
}

Json descriptors(const Process& process) {
  Json json = Json::array();
  for (const cryo_fd& fd : process.fds)
    json.push_back({{"fd", fd.fd}, {"file", fd.file}, {"cloexec", (fd.flags & CRYO_FD_CLOEXEC) != 0}});
  return json;
}

Json locks(const Process& process) {
  Json json = Json::array();
  for (const cryo_lock& lock : process.locks)
    json.push_back(
        {{"file", lock.file}, {"text", lock_text(lock)}, {"start", lock.start}, {"end", lock.end}});
  return json;
}

Json json_of(const cryo_posix_timer& timer) {
  return {{"id", timer.id},
          {"clock", clock_name(timer.clockid)},
          {"clock_tid", timer.clock_tid},
          {"armed", (timer.flags & CRYO_TIMER_ARMED) != 0},
          {"absolute", (timer.flags & CRYO_TIMER_ABSOLUTE) != 0},
          {"pending", (timer.flags & CRYO_TIMER_PENDING) != 0},
          {"notify", timer.notify},
          {"signal", timer.signal},
          {"notify_tid", timer.notify_tid},
          {"remaining_ns", timer.remaining_ns},
          {"interval_ns", timer.interval_ns},
          {"overrun", timer.overrun},
          {"overrun_last", timer.overrun_last}};
}

Json json_of(const Context& context, const Process& process) {
  const cryo_process& head = process.head;
  Json json = {{"pid", head.pid},
               {"ppid", head.ppid},
               {"pgid", head.pgid},
               {"sid", head.sid},
               {"command", process_name(process)},
               {"flags", process_flag_names(head.flags)},
               {"mm", head.mm},
               {"umask", fmt::format("{:04o}", head.umask)},
               {"personality", hex(head.personality)},
               {"dumpable", head.dumpable},
               {"exit_signal", head.exit_signal},
               {"exit_code", head.exit_code},
               {"stop_signal", head.stop_signal},
               {"oom_score_adj", head.oom_score_adj},
               {"namespaces",
                {{"user", process.namespaces.user},
                 {"mnt", process.namespaces.mnt},
                 {"uts", process.namespaces.uts},
                 {"ipc", process.namespaces.ipc},
                 {"net", process.namespaces.net},
                 {"cgroup", process.namespaces.cgroup},
                 {"time", process.namespaces.time},
                 {"time_for_children", process.namespaces.time_for_children},
                 {"pid", process.namespaces.pid}}},
               {"cwd", process.cwd ? Json(process.cwd->path) : Json()},
               {"shares_files_of", process.shared.files},
               {"shares_fs_of", process.shared.fs},
               {"shares_memory_of", process.shared_memory.mm},
               {"shares_handlers_of", process.shared_memory.sighand},
               {"creds", process.creds ? json_of(*process.creds) : Json()},
               {"pending", signal_set_names(process.pending.signals)},
               {"sigactions", sigactions(process)},
               {"fds", descriptors(process)},
               {"locks", locks(process)}};
  if (process.terminal)
    json["terminal"] = {{"foreground_group", process.terminal->pgid}, {"rows", process.terminal->rows},
                        {"columns", process.terminal->columns},       {"iflag", hex(process.terminal->iflag)},
                        {"oflag", hex(process.terminal->oflag)},      {"cflag", hex(process.terminal->cflag)},
                        {"lflag", hex(process.terminal->lflag)}};
  for (const cryo_rlimit& limit : process.rlimits) json["rlimits"].push_back({limit.cur, limit.max});
  for (const cryo_itimer& timer : process.itimers)
    json["itimers"].push_back({{"value_ns", timer.value_ns}, {"interval_ns", timer.interval_ns}});
  for (const cryo_posix_timer& timer : process.posix_timers.timers)
    json["posix_timers"].push_back(json_of(timer));
  for (const Thread& thread : process.threads)
    if (thread.fs)
      json["thread_directories"].push_back({{"tid", thread.head.tid},
                                            {"cwd", thread.fs->path},
                                            {"umask", fmt::format("{:04o}", thread.fs->head.umask)},
                                            {"same_as", thread.fs->head.same_as}});
  for (const Thread& thread : process.threads) json["threads"].push_back(json_of(context, thread));
  return json;
}

Json json_of(const Context& context, const Mm& mm) {
  const MemoryTotals totals = memory_totals(context, mm);
  const auto saved = saved_bytes(context, mm);
  Json json = {{"id", mm.id},
               {"mapped_bytes", totals.mapped},
               {"saved_bytes", totals.saved},
               {"shared_bytes", totals.shared},
               {"exe_file", mm.head.exe_file},
               {"brk", {hex(mm.head.start_brk), hex(mm.head.brk)}},
               {"stack", hex(mm.head.start_stack)},
               {"vdso", hex(mm.head.vdso)},
               {"vdso_crc", fmt::format("{:08x}", mm.head.vdso_crc)},
               {"pkeys", hex(mm.head.pkeys)},
               {"tagged_bytes", tagged_bytes(context, CRYO_PAGES_MM, mm.id)},
               {"excluded", Json::array()},
               {"used", Json::array()},
               {"guards", Json::array()},
               {"aio", Json::array()},
               {"vmas", Json::array()}};
  for (const cryo_excluded& range : mm.excluded)
    json["excluded"].push_back(
        {{"start", hex(range.start)}, {"end", hex(range.end)}, {"pages", range.nr_pages}});
  for (const cryo_page_run& run : mm.used)
    json["used"].push_back({{"start", hex(run.start)}, {"pages", run.nr_pages}});
  for (const AioContext& aio : mm.aio)
    json["aio"].push_back({{"start", hex(aio.head.start)},
                           {"requests", aio.head.max_reqs},
                           {"room", aio.head.nr},
                           {"events", aio.events.size() / CRYO_AIO_EVENT_SIZE}});
  for (const cryo_page_run& run : mm.guards)
    json["guards"].push_back({{"start", hex(run.start)}, {"pages", run.nr_pages}});
  for (std::size_t i = 0; i < mm.vmas.size(); ++i) {
    const cryo_vma& vma = mm.vmas[i];
    json["vmas"].push_back({{"start", hex(vma.start)},
                            {"end", hex(vma.end)},
                            {"kind", vma_kind_name(vma.kind)},
                            {"permissions", permissions(vma.flags)},
                            {"flags", vma_flag_names(vma.flags)},
                            {"file", vma.file},
                            {"offset", vma.offset},
                            {"pkey", vma.pkey},
                            {"huge_page_size", huge_size_of(vma)},
                            {"name", vma_name(mm, vma)},
                            {"saved_bytes", saved[i]}});
  }
  return json;
}

Json json_of(const Context& context, const Inode& inode) {
  Json json = {{"id", inode.id},
               {"type", inode_type_name(inode.head.mode)},
               {"mode", fmt::format("{:o}", inode.head.mode)},
               {"dev", inode.head.dev},
               {"ino", inode.head.ino},
               {"size", inode.head.size},
               {"mtime_sec", inode.head.mtime_sec},
               {"mtime_nsec", inode.head.mtime_nsec},
               {"uid", inode.head.uid},
               {"gid", inode.head.gid},
               {"flags", inode_flag_names(inode.head.flags)},
               {"huge_page_size", inode.huge_size},
               {"tagged_bytes", tagged_bytes(context, CRYO_PAGES_INODE, inode.id)}};
  if (inode.end) json["end"] = {{"length", inode.end->length}, {"crc32c", hex(inode.end->crc)}};
  if (inode.mqueue) json["mqueue"] = {{"messages", inode.mqueue->messages.size()}};
  if (!inode.pipe) return json;
  Json packets = Json::array();
  for (const PipePacket& packet : inode.pipe->packets) packets.push_back(packet.data.size());
  json["pipe"] = {{"capacity", inode.pipe->head.capacity}, {"packets", packets}};
  return json;
}

Json json_of(const SocketState& state, const File& file) {
  static constexpr const char* kStates[] = {"unconnected", "connected", "peer-gone", "reset"};
  const cryo_sock_state& head = state.head;
  Json queue = Json::array();
  for (const SocketMessage& message : file.queue)
    queue.push_back({{"bytes", message.data.size()}, {"files", message.files}});
  return {{"family", head.family},
          {"type", head.type},
          {"state", head.state < std::size(kStates) ? kStates[head.state] : "unknown"},
          {"shutdown", head.shutdown},
          {"error", head.error},
          {"peer", head.peer},
          {"listener", head.listener},
          {"address", address_text(state.name)},
          {"peer_address", address_text(state.peer_name)},
          {"options", file.options.size()},
          {"queue", queue}};
}

Json json_of(const Context& context, const File& file) {
  Json json = {{"id", file.id},
               {"kind", file_kind_name(file.head.kind)},
               {"path", file.path},
               {"inode", file.head.inode},
               {"flags", open_flag_names(context.header.arch, file.head.flags)},
               {"pos", file.head.pos}};
  if (file.head.kind == CRYO_FILE_STDIO) json["stdio_fd"] = file.head.stdio_fd;
  if (file.head.outside & CRYO_OUTSIDE_SHARED) json["outside"].push_back("shared");
  if (file.head.outside & CRYO_OUTSIDE_WRITER) json["outside"].push_back("writer");
  for (const cryo_epoll_target& target : file.epoll)
    json["epoll"].push_back({{"fd", target.fd},
                             {"events", hex(target.events)},
                             {"data", hex(target.data)},
                             {"file", target.file}});
  if (file.socket)
    json["socket"] = {{"family", file.socket->head.family},
                      {"type", file.socket->head.type},
                      {"backlog", file.socket->head.backlog},
                      {"address", address_text(file.socket->address)}};
  if (file.socket && !file.socket->path.empty()) json["socket"]["path"] = file.socket->path;
  if (!file.build_id.empty()) json["build_id"] = hex_text(file.build_id);
  if (file.opener)
    json["opener"] = {{"uid", file.opener->head.fsuid},
                      {"gid", file.opener->head.fsgid},
                      {"groups", file.opener->groups},
                      {"capabilities", hex(file.opener->head.cap_effective)}};
  if (file.net != 0) json["net"] = file.net;
  for (const SocketGroup& group : file.groups)
    json["groups"].push_back(
        {{"address", group_text(group)}, {"device", group.device}, {"sources", group.sources.size()}});
  for (const SocketDevice& device : file.devices)
    json["devices"].push_back(
        {{"level", device.head.level}, {"option", device.head.name}, {"device", device.device}});
  if (file.filter)
    json["filter"] = {{"instructions", file.filter->filter.size()},
                      {"locked", (file.filter->head.flags & CRYO_SOCK_FILTER_LOCKED) != 0},
                      {"choice", file.filter->choice.size()}};
  if (file.connection) json["connection"] = json_of(*file.connection, file);
  if (file.pty)
    json["pty"] = {{"number", file.pty->head.number},    {"flags", hex(file.pty->head.flags)},
                   {"session", file.pty->head.sid},      {"foreground_group", file.pty->head.pgid},
                   {"rows", file.pty->head.rows},        {"columns", file.pty->head.columns},
                   {"output", file.pty->output.size()},  {"input", file.pty->input.size()},
                   {"pending", file.pty->pending.size()}};
  if (file.pty_slave)
    json["pty_slave"] = {{"master", file.pty_slave->master}, {"flags", hex(file.pty_slave->flags)}};
  if (file.eventfd)
    json["eventfd"] = {{"count", file.eventfd->count}, {"semaphore", file.eventfd->semaphore != 0}};
  if (file.timerfd)
    json["timerfd"] = {{"clock", clock_name(file.timerfd->clockid)},
                       {"settime_flags", file.timerfd->settime_flags},
                       {"ticks", file.timerfd->ticks},
                       {"armed", (file.timerfd->flags & CRYO_TIMERFD_ARMED) != 0},
                       {"remaining_ns", file.timerfd->remaining_ns},
                       {"interval_ns", file.timerfd->interval_ns}};
  if (file.inotify)
    for (const Watch& watch : file.inotify->watches)
      json["inotify"].push_back({{"wd", watch.head.wd},
                                 {"mask", hex(watch.head.mask)},
                                 {"path", watch.path},
                                 {"ino", watch.head.ino}});
  if (file.inotify)
    for (const InotifyEvent& event : file.inotify->events)
      json["inotify_events"].push_back({{"wd", event.head.wd},
                                        {"mask", hex(event.head.mask)},
                                        {"cookie", event.head.cookie},
                                        {"name", event.name}});
  if (file.fanotify)
    for (const FanotifyMark& mark : file.fanotify->marks)
      json["fanotify"].push_back({{"kind", mark.head.kind},
                                  {"flags", hex(mark.head.flags)},
                                  {"mask", hex(mark.head.mask)},
                                  {"ignored", hex(mark.head.ignored)},
                                  {"path", mark.path}});
  if (file.pidfd)
    json["pidfd"] = {{"pid", file.pidfd->pid}, {"thread", (file.pidfd->flags & CRYO_PIDFD_THREAD) != 0}};
  if (file.uring)
    json["io_uring"] = {{"flags", hex(file.uring->head.flags)},
                        {"sq_entries", file.uring->head.sq_entries},
                        {"cq_entries", file.uring->head.cq_entries},
                        {"to_submit", file.uring->head.sq_tail - file.uring->head.sq_head},
                        {"completions", file.uring->head.cq_tail - file.uring->head.cq_head},
                        {"eventfd", file.uring->head.eventfd},
                        {"issuer", file.uring->head.issuer},
                        {"sq_idle_ms", file.uring->head.sq_idle_ms},
                        {"sq_cpu", file.uring->head.sq_cpu}};
  if (file.signalfd) json["signalfd"] = {{"signals", signal_set_names(file.signalfd->mask)}};
  return json;
}

Json head_json(const Context& context, const Source& source) {
  const ArchDescription* description = arch_description(context.header.arch);
  Json json = {{"name", context.name},
               {"format", fmt::format("{}.{}", context.header.format_major, context.header.format_minor)},
               {"header", file_header_json(context.header)},
               {"arch", arch_name(context.header.arch)},
               {"page_size", context.header.page_size},
               {"compressed", source.compressed()},
               {"bytes", source.size()},
               {"page_bytes", context.end.page_bytes},
               {"elsewhere_bytes", elsewhere_bytes(context)},
               {"sections", context.end.sections},
               {"created_ns", context.header.created_ns},
               {"pages_verified", context.pages_verified},
               {"obstacles", context.obstacles},
               {"system", json_of(context.system)}};
  if (description != nullptr && !context.cpu.empty())
    json["cpu"] = named_values(description->cpu(context.cpu));
  return json;
}

}  // namespace

Json report_json(const Context& context, const Source& source) {
  Json json = head_json(context, source);
  json["ancestors"] = Json::array();
  for (const Ancestor& ancestor : context.ancestors)
    json["ancestors"].push_back({{"name", ancestor.name},
                                 {"id", hex_text(std::as_bytes(std::span(ancestor.head.id)))},
                                 {"bytes", ancestor.head.length}});
  json["processes"] = Json::array();
  json["mms"] = json["inodes"] = json["files"] = Json::array();
  for (const Process& process : context.processes) json["processes"].push_back(json_of(context, process));
  for (const auto& [id, mm] : context.mms) json["mms"].push_back(json_of(context, mm));
  for (const auto& [id, inode] : context.inodes) json["inodes"].push_back(json_of(context, inode));
  for (const auto& [id, file] : context.files) json["files"].push_back(json_of(context, file));
  if (Json all = namespaces_json(context); !all.empty()) json["namespaces"] = std::move(all);
  if (Json groups = cgroups_json(context); !groups.empty()) json["control_groups"] = std::move(groups);
  if (Json ipc = ipc_json(context); !ipc.empty()) json["system_v"] = std::move(ipc);
  return json;
}

}  // namespace cryo
