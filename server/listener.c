#include "listener.h"
#include "error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 16,
    /* What the kernel keeps for a client that does not read. Its default grows to megabytes: many stale updates. */
    SEND_BUFFER = 256 * 1024,
};

static int failed(int fd)
{
    int error = errno;
    close(fd);
    errno = error;
    return error == EADDRINUSE ? FL_EADDRESS_IN_USE : FL_ESYSTEM;
}

int fl_listen(uint16_t port, uint16_t *actual)
{
    const int on = 1, send_buffer = SEND_BUFFER;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;

    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return FL_ESYSTEM;
    /* A port whose last connections are in TIME_WAIT is free; one that is listened on is not. Accepted sockets inherit
     * the other two. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return failed(fd);
    *actual = ntohs(address.sin_port);
    return fd;
}

int fl_accept(int listener)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0 || (errno != EINTR && errno != ECONNABORTED))
            return fd;
    }
}
