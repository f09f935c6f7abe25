// SPDX-License-Identifier: GPL-2.0-only
// surroundings.h - what happens to the files of a job between its checkpoint and its restart
#ifndef CRT_SURROUNDINGS_H
#define CRT_SURROUNDINGS_H

#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "process.h"

namespace crt {

// What a job has open that lies elsewhere: files of its user in /tmp and /dev/shm, and ports.
struct Elsewhere {
  std::vector<std::filesystem::path> files;  // sorted
  struct Port {
    int type;  // SOCK_STREAM, SOCK_DGRAM
    unsigned number;
    auto operator<=>(const Port&) const = default;
  };
  std::vector<Port> ports;  // sorted

  // Of all processes that run @program.
  static Elsewhere of(const std::filesystem::path& program, const std::filesystem::path& dir);
};

// One change of one file, directory, FIFO or socket below @dir, or of what lies elsewhere, chosen by @seed:
// of the same names and kinds it is always the same one. What is in its way lies in a directory of its own
// meanwhile, so that undo() gives the very objects back.
class Surroundings {
 public:
  // @left_out: names in @dir that belong to the driver.
  Surroundings(std::filesystem::path dir, std::vector<std::string> left_out, User user, unsigned seed,
               Elsewhere elsewhere);
  ~Surroundings();
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  bool change();  // false: there is nothing to change
  void undo();
  const std::string& what() const { return what_; }
  // How messages call what has been changed.
  const std::string& name() const { return name_; }

  // Everything as it is now: a line for each object, with its identity, mode, owner and contents.
  using State = std::map<std::string, std::string>;
  State state() const;
  State strangers() const;  // of what the change has put there

  // The lines that differ.
  static std::vector<std::string> differences(const State& before, const State& after);

 private:
  using Path = std::filesystem::path;
  struct Kind {
    const char* name;
    void (Surroundings::*make)(const Path&);
  };
  static const Kind kOfFiles[], kOfDirectories[], kOfOthers[];

  std::vector<Path> candidates() const;
  void pick(const Path& path);
  bool take(const Elsewhere::Port& port);

  void move(const Path& path);
  void remove(const Path& path);
  void replace(const Path& path);
  void copy(const Path& path);
  void replace_longer(const Path& path);
  void append(const Path& path);
  void shorten(const Path& path);
  void write_over(const Path& path);
  void forbid(const Path& path);
  void give_away(const Path& path);
  void put_directory(const Path& path);
  void put_fifo(const Path& path);
  void put_socket(const Path& path);
  void put_dangling_link(const Path& path);
  void put_link_to_other(const Path& path);
  void put_link_to_itself(const Path& path);
  void mount_file(const Path& path);
  void mount_directory(const Path& path);

  void aside(const Path& path, const Path& where);
  void put_file(const Path& path, const std::string& contents);
  void rewrite(const Path& path, const std::string& contents);
  void later(std::function<void()> action) { undo_.push_back(std::move(action)); }
  void own(const Path& path) const;

  Path dir_;
  std::vector<std::string> left_out_;
  User user_;
  std::mt19937 random_;
  TempDir store_;
  Elsewhere elsewhere_;
  std::string what_, name_;
  std::vector<Path> strangers_;
  std::vector<std::function<void()>> undo_;
};

}  // namespace crt

#endif  // CRT_SURROUNDINGS_H
