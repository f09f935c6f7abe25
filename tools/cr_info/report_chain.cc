// SPDX-License-Identifier: GPL-2.0-only
// An incremental context, and those that it needs: cr_info --chain.
#include <fmt/format.h>

#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "context/hash.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

std::uint64_t pages_in(const Context& context, std::uint32_t ancestor) {
  std::uint64_t pages = 0;
  for (const PageChunk& chunk : context.pages)
    if (chunk.ancestor == ancestor && !chunk.copy) pages += chunk.nr_pages;
  return pages;
}

}  // namespace

Link link_of(const Context& context, std::uint32_t number, const AncestorPlace& place, bool verify) {
  const Ancestor& ancestor = context.ancestors[number - 1];
  Link link{ancestor.name,
            hex_text(std::as_bytes(std::span(ancestor.head.id))),
            ancestor.head.length,
            pages_in(context, number),
            "good",
            {}};
  try {
    const Source source = open_ancestor(ancestor, place, context.name);
    if (verify) verify_ancestor(context, number, source);
  } catch (const Error& error) {
    link.state = error.code() == ENOENT ? "missing" : error.code() == EBADMSG ? "altered" : "unreadable";
    link.problem = error.what();
  }
  return link;
}

std::vector<Link> links_of(const Context& context, const AncestorPlace& place, bool verify) {
  std::vector<Link> links;
  for (std::uint32_t i = 1; i <= context.ancestors.size(); ++i)
    links.push_back(link_of(context, i, place, verify));
  return links;
}

void print_chain(const Context& context, const Source& source, const std::vector<Link>& links) {
  fmt::print("{}: {}, {} pages of its own\n", printable(context.name), bytes_text(source.size()),
             pages_in(context, 0));
  fmt::print("  id {}\n", hex_text(identity_of(source)));
  if (links.empty()) fmt::print("  needs no other context\n");
  for (const Link& link : links) {
    fmt::print("  needs {}: {}, {} pages of it, {}\n", printable(link.name), bytes_text(link.bytes),
               link.pages, link.state);
    fmt::print("    id {}\n", link.id);
    if (!link.problem.empty()) fmt::print("    {}\n", printable(link.problem));
  }
}

nlohmann::ordered_json chain_json(const Context& context, const Source& source,
                                  const std::vector<Link>& links) {
  nlohmann::ordered_json json = {{"name", context.name},
                                 {"id", hex_text(identity_of(source))},
                                 {"bytes", source.size()},
                                 {"pages", pages_in(context, 0)},
                                 {"ancestors", nlohmann::ordered_json::array()}};
  for (const Link& link : links)
    json["ancestors"].push_back({{"name", link.name},
                                 {"id", link.id},
                                 {"bytes", link.bytes},
                                 {"pages", link.pages},
                                 {"state", link.state},
                                 {"problem", link.problem}});
  return json;
}

}  // namespace cryo
