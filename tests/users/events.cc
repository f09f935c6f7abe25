// SPDX-License-Identifier: GPL-2.0-only
// Who hears of checkpoints: the administrator of the network namespace by events, others of their own by their handles.
#include <cryo/events.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <vector>

#include "others.h"
#include "tap.h"

using namespace others;

namespace {

const nlattr* find(const char* at, size_t size, int type) {
    while (size >= sizeof(nlattr)) {
        const auto* a = reinterpret_cast<const nlattr*>(at);
        if (a->nla_len < sizeof(*a) || a->nla_len > size) return nullptr;
        if ((a->nla_type & NLA_TYPE_MASK) == type) return a;
        const size_t step = std::min<size_t>(NLA_ALIGN(a->nla_len), size);
        at += step;
        size -= step;
    }
    return nullptr;
}

const char* data(const nlattr* a) { return reinterpret_cast<const char*>(a) + NLA_HDRLEN; }
size_t length(const nlattr* a) { return a->nla_len - NLA_HDRLEN; }

// The number of the group, from the family's description; 0: none.
uint32_t group(int fd) {
    struct {
        nlmsghdr head;
        genlmsghdr generic;
        nlattr name;
        char text[8];
    } ask{};
    ask.head = {sizeof(ask), GENL_ID_CTRL, NLM_F_REQUEST, 1, 0};
    ask.generic = {CTRL_CMD_GETFAMILY, 1, 0};
    ask.name = {static_cast<uint16_t>(NLA_HDRLEN + sizeof(CRYO_GENL_NAME)), CTRL_ATTR_FAMILY_NAME};
    std::strcpy(ask.text, CRYO_GENL_NAME);
    must(send(fd, &ask, sizeof(ask), 0), "send");
    std::vector<char> reply(16384);
    const auto size = static_cast<size_t>(must(recv(fd, reply.data(), reply.size(), 0), "recv"));
    const size_t skip = NLMSG_HDRLEN + GENL_HDRLEN;
    if (size < skip) return 0;
    const nlattr* groups = find(reply.data() + skip, size - skip, CTRL_ATTR_MCAST_GROUPS);
    const nlattr* first = groups ? find(data(groups), length(groups), 1) : nullptr;
    const nlattr* id = first ? find(data(first), length(first), CTRL_ATTR_MCAST_GRP_ID) : nullptr;
    return id ? *reinterpret_cast<const uint32_t*>(data(id)) : 0;
}

int listen_socket() { return static_cast<int>(must(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC), "socket")); }

// 0 or an errno value.
int join(int fd) {
    sockaddr_nl local{};
    local.nl_family = AF_NETLINK;
    must(bind(fd, reinterpret_cast<sockaddr*>(&local), sizeof(local)), "bind");
    const uint32_t number = group(fd);
    if (!number) return ENOENT;
    return setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &number, sizeof(number)) ? errno : 0;
}

}  // namespace

int main() {
    crt::Tap tap;
    try {
        Board* board = new_board();
        const int fd = listen_socket();
        int error = join(fd);
        tap.ok(error == 0, std::string("root listens: ") + std::strerror(error));
        Child user([&] {
            become(kUser);
            board->error = join(listen_socket());
        });
        user.wait();
        tap.ok(board->error == EPERM, std::string("a user does not: ") + std::strerror(board->error));

        Child target([&] {
            close(fd);
            become(kUser);
            for (;;) pause();
        });
        usleep(200000 * factor());
        error = request_as(board, kUser, request_for(target.pid(), CRYO_SCOPE_PROCESS, 0));
        tap.ok(error == 0, std::string("the user's own checkpoint: ") + std::strerror(error));
        pollfd ready{fd, POLLIN, 0};
        tap.ok(poll(&ready, 1, 1000) == 1, "root hears of it");
        Child asks([&] {
            become(kUser);
            cryo_checkpoint c = request_for(target.pid(), CRYO_SCOPE_PROCESS, 0);
            const int handle = static_cast<int>(must(ioctl(device(), CRYO_IOC_CHECKPOINT, &c), "CRYO_IOC_CHECKPOINT"));
            must(ioctl(handle, CRYO_CKPT_RUN), "CRYO_CKPT_RUN");
            cryo_ckpt_status status{};
            status.size = sizeof(status);
            must(ioctl(handle, CRYO_CKPT_STATUS, &status), "CRYO_CKPT_STATUS");
            board->result = static_cast<int>(status.state);
        });
        asks.wait();
        tap.ok(board->result == CRYO_STATE_DONE, "the user by his handle");
    } catch (const std::exception& error) {
        tap.ok(false, error.what());
    }
    return tap.finish();
}
