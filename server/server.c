#include "server.h"
#include "error.h"
#include "listener.h"
#include "server_private.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S  1000000000u
#define NS_PER_MS 1000000u
#define NS_PER_US 1000u

enum {
    STACK_SIZE = 1 << 20, /* the JSON parser may recurse 2,048 levels deep */
    END_WAIT_MS = 900,    /* for slow clients at the end */
    HTTP_TIMEOUT_S = 5,   /* for a request to arrive */
    KEEPALIVE_S = 30,     /* between requests */
    PING_S = 30,          /* a websocket that is silent for so long is asked, */
    HANGUP_S = 60,        /* and closed when it does not answer */
    DESCRIPTORS_MAX = FL_GUARDED_MAX,
};

/* Protocol 0 gets everything that is no websocket; the listener needs a name of its own. */
enum { PROTOCOL_HTTP, PROTOCOL_WEBSOCKET, PROTOCOL_LISTENER };

static void forget(struct fl_server *server, int fd)
{
    if (fl_fork_guard_remove(&server->guard, fd))
        server->socket_count--;
}

static void drop_or_adopt(struct fl_server *server, int fd)
{
    lws_adopt_desc_t adopt = {.vh = server->vhost,
                              .type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP,
                              .fd.sockfd = fd,
                              /* For fl__server_forget_socket(); plus one, so that it is never NULL. */
                              .opaque = (void *)((intptr_t)fd + 1)};

    if (server->ending || server->socket_count >= FL_CONNECTIONS_MAX || !fl_fork_guard_add(&server->guard, fd)) {
        close(fd);
        return;
    }
    server->socket_count++;
    /* On failure the library has closed it, and sometimes told fl__server_forget_socket(), sometimes not. */
    if (!lws_adopt_descriptor_vhost_via_info(&adopt))
        forget(server, fd);
}

void fl__server_forget_socket(struct fl_server *server, struct lws *wsi)
{
    intptr_t opaque = (intptr_t)lws_get_opaque_user_data(wsi);
    if (opaque != 0)
        forget(server, (int)(opaque - 1));
}

static int listener_callback(struct lws *wsi, enum lws_callback_reasons reason, void *session, void *in, size_t length)
{
    struct fl_server *server = lws_context_user(lws_get_context(wsi));
    (void)session, (void)in, (void)length;

    switch (reason) {
    case LWS_CALLBACK_RAW_RX_FILE:
        for (int fd = fl_accept(lws_get_socket_fd(wsi)); fd >= 0; fd = fl_accept(lws_get_socket_fd(wsi)))
            drop_or_adopt(server, fd);
        return 0;
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: /* a websocket that asks for this protocol by name */
        return -1;
    default:
        return 0;
    }
}

static const struct lws_protocols protocols[] = {
    [PROTOCOL_HTTP] = {.name = "flamelet-http",
                       .callback = fl__http_callback,
                       .per_session_data_size = sizeof(struct fl_http_request),
                       .tx_packet_size = FL_CHUNK_MAX},
    [PROTOCOL_WEBSOCKET] = {.name = FL_SUBPROTOCOL,
                            .callback = fl__websocket_callback,
                            .per_session_data_size = sizeof(struct fl_connection),
                            .rx_buffer_size = 4096,
                            .tx_packet_size = FL_CHUNK_MAX},
    [PROTOCOL_LISTENER] = {.name = "flamelet-listener", .callback = listener_callback},
    {0},
};

/* The library's messages are for its developers; the program's stderr is not ours to fill. The level is the library's,
 * not a context's, and another server's thread may be reading it: it is set once. */
static void silence_library(void)
{
    lws_set_log_level(0, NULL);
}

static void create_context(struct fl_server *server)
{
    static const lws_retry_bo_t life_signs = {.secs_since_valid_ping = PING_S, .secs_since_valid_hangup = HANGUP_S};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = protocols,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DISABLE_IPV6 | LWS_SERVER_OPTION_VALIDATE_UTF8,
        .user = server,
        .headers = &fl__http_headers,
        .server_string = "flamelet",
        .vhost_name = "flamelet",
        .timeout_secs = HTTP_TIMEOUT_S,
        .keepalive_timeout = KEEPALIVE_S,
        .retry_and_idle_policy = &life_signs,
        .fd_limit_per_thread = DESCRIPTORS_MAX,
        .count_threads = 1,
    };
    static pthread_once_t silenced = PTHREAD_ONCE_INIT;
    struct sigaction before, after;

    pthread_once(&silenced, silence_library);
    /* Creating a context makes the whole process ignore SIGPIPE, first of all. How the program wants it is not ours to
     * say: it may even say it meanwhile. */
    sigaction(SIGPIPE, NULL, &before);
    server->context = lws_create_context(&info);
    sigaction(SIGPIPE, NULL, &after);
    if (after.sa_handler == SIG_IGN && before.sa_handler != SIG_IGN)
        sigaction(SIGPIPE, &before, NULL);
    if (server->context)
        server->vhost = lws_create_vhost(server->context, &info);
}

/* Hands the listener to the library, which closes it at its end. */
static int adopt_listener(struct fl_server *server, int listener)
{
    lws_sock_file_fd_type fd = {.filefd = listener};

    if (!fl_fork_guard_add(&server->guard, listener))
        return FL_ESYSTEM;
    if (!lws_adopt_descriptor_vhost(server->vhost, LWS_ADOPT_RAW_FILE_DESC, fd, protocols[PROTOCOL_LISTENER].name,
                                    NULL))
        return FL_ENOMEM;
    return 0;
}

/* The program has ended: everybody is told once more. */
static void begin_end(struct fl_server *server, uint64_t now)
{
    server->ending = true;
    server->deadline = now + (uint64_t)END_WAIT_MS * NS_PER_MS;
    fl_service_refresh(&server->service, now, true);
    for (struct fl_connection *c = server->connections; c; c = c->next) {
        fl_client_finish(&c->client);
        lws_callback_on_writable(c->wsi);
    }
}

static uint64_t next_due(const struct fl_server *server)
{
    uint64_t next = server->ending ? server->deadline : fl_schedule_next(&server->schedule);

    for (const struct fl_connection *c = server->connections; c; c = c->next) {
        uint64_t tick = fl_client_next_tick(&c->client);
        next = tick < next ? tick : next;
    }
    return next;
}

static void run_due(struct fl_server *server, uint64_t now)
{
    if (!server->ending && atomic_load(&server->stopping))
        begin_end(server, now);
    if (!server->ending)
        fl_schedule_run(&server->schedule, server->service.shadow, now);
    for (struct fl_connection *c = server->connections; c; c = c->next) {
        if (fl_client_next_tick(&c->client) > now)
            continue;
        fl_client_tick(&c->client, now);
        lws_callback_on_writable(c->wsi);
    }
}

static void set_alarm(struct fl_server *server, uint64_t now);

/* Called by the library when it is time, perhaps before it begins to wait: so the next alarm is set here too. */
static void ring(lws_sorted_usec_list_t *alarm)
{
    struct fl_server *server = lws_container_of(alarm, struct fl_server, alarm);
    uint64_t now = fl__monotonic_ns();

    run_due(server, now);
    set_alarm(server, now);
}

static void set_alarm(struct fl_server *server, uint64_t now)
{
    uint64_t due = next_due(server);
    uint64_t wait = due > now ? due - now : NS_PER_MS;

    lws_sul_schedule(server->context, 0, &server->alarm, ring, (lws_usec_t)(wait / NS_PER_US + 1));
}

static void sleep_until(uint64_t due)
{
    const struct timespec at = {.tv_sec = (time_t)(due / NS_PER_S), .tv_nsec = (long)(due % NS_PER_S)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Opens the port, gives it to the library, and tells where it is. */
static int open_port(struct fl_server *server)
{
    int listener = fl_listen(server->port_wanted, &server->port);
    if (listener < 0)
        return listener;
    create_context(server);
    int error = server->vhost ? adopt_listener(server, listener) : FL_ENOMEM;
    if (error != 0) {
        close(listener);
        return error;
    }
    struct fl_discovery *discovery = &server->service.discovery;
    fl_discovery_announce(discovery, server->runtime, &server->service.about, server->port, server->service.token);
    if (discovery->own)
        (void)fl_fork_guard_add(&server->guard, discovery->file);
    atomic_store(&server->listens, true);
    if (server->began)
        atomic_store(server->began, 1);
    return 0;
}

static void *serve(void *argument)
{
    struct fl_server *server = argument;

    pthread_setname_np(pthread_self(), "flamelet");
    if (!atomic_load(&server->listens) &&
        (!fl_background_wait_until(&server->thread, server->due) || open_port(server) != 0))
        return NULL;
    while (!atomic_load(&server->pausing)) {
        uint64_t now = fl__monotonic_ns();
        run_due(server, now);
        if (server->ending && (server->connection_count == 0 || now >= server->deadline))
            return NULL;
        set_alarm(server, now);
        if (lws_service(server->context, 0) < 0)
            return NULL;
        /* The library waits in whole milliseconds and spins through the rest, a millisecond of CPU for each time that
         * something is due. Sleep instead; whoever comes in meanwhile waits that long. */
        uint64_t due = next_due(server);
        now = fl__monotonic_ns();
        if (due > now && due - now < NS_PER_MS)
            sleep_until(due);
    }
    return NULL;
}

static int start_thread(struct fl_server *server)
{
    return fl_background_start(&server->thread, STACK_SIZE, serve, server);
}

/* `pausing` or `stopping` is set: the thread sees it, or what it waits in is ended here. */
static void end_thread(struct fl_server *server)
{
    fl_background_ask_to_end(&server->thread);
    if (atomic_load(&server->listens))
        lws_cancel_service(server->context);
    fl_background_join(&server->thread);
}

static void destroy(struct fl_server *server)
{
    if (server->context)
        lws_context_destroy(server->context);
    fl_pictures_forget(&server->service.pictures);
    fl_shadow_destroy(server->service.shadow);
    fl_discovery_withdraw(&server->service.discovery);
    fl_fork_guard_fini(&server->guard);
    fl_background_fini(&server->thread);
    free(server->runtime);
    free(server);
}

static int fill_in(struct fl_server *server, const struct fl_server_options *options, struct fl_session *session)
{
    server->pages = options->pages;
    server->page_count = options->page_count;
    server->service.about = options->about;
    server->port_wanted = options->port;
    server->began = options->began;
    if (options->after_ms)
        server->due = fl__monotonic_ns() + (uint64_t)options->after_ms * NS_PER_MS;
    if (options->runtime && !(server->runtime = strdup(options->runtime)))
        return FL_ENOMEM;
    if (options->token) {
        if (strlen(options->token) != FL_TOKEN_DIGITS)
            return FL_ERANGE;
        memcpy(server->service.token, options->token, FL_TOKEN_DIGITS + 1);
    } else if (fl_token_make(server->service.token) != 0) {
        return FL_ESYSTEM;
    }
    int error = fl_shadow_create(session, &server->service.shadow);
    return error != 0 ? error : fl_shadow_watch_lock(server->service.shadow);
}

int fl_server_start(const struct fl_server_options *options, struct fl_session *session, struct fl_server **server)
{
    struct fl_server *s = calloc(1, sizeof *s);
    if (!s)
        return FL_ENOMEM;
    int error = fl_background_init(&s->thread);
    if (error == 0 && (error = fl_fork_guard_init(&s->guard)) != 0)
        fl_background_fini(&s->thread);
    if (error != 0) {
        free(s);
        return error;
    }
    json_object_seed(0);
    error = fill_in(s, options, session);
    if (error == 0 && s->due == 0)
        error = open_port(s);
    if (error == 0)
        error = start_thread(s);
    if (error != 0) {
        destroy(s);
        return error;
    }
    *server = s;
    return 0;
}

uint16_t fl_server_port(const struct fl_server *server)
{
    return atomic_load(&server->listens) ? server->port : 0;
}

const char *fl_server_token(const struct fl_server *server)
{
    return server->service.token;
}

void fl_server_pause(struct fl_server *server)
{
    if (!server || atomic_load(&server->guard.orphaned) || atomic_exchange(&server->pausing, true))
        return;
    end_thread(server);
}

int fl_server_resume(struct fl_server *server)
{
    if (!server || atomic_load(&server->guard.orphaned) || !atomic_load(&server->pausing))
        return 0;
    atomic_store(&server->pausing, false);
    int error = start_thread(server);
    if (error != 0)
        atomic_store(&server->pausing, true);
    return error;
}

void fl_server_stop(struct fl_server *server)
{
    if (!server || atomic_load(&server->guard.orphaned))
        return;
    if (!atomic_load(&server->pausing)) {
        atomic_store(&server->stopping, true);
        end_thread(server);
    }
    destroy(server);
}
