#include "websocket.h"
#include "server_private.h"

static void open_connection(struct fl_server *server, struct fl_connection *connection, struct lws *wsi)
{
    fl_client_init(&connection->client, fl__monotonic_ns());
    connection->wsi = wsi;
    connection->next = server->connections;
    server->connections = connection;
    server->connection_count++;
    if (server->connection_count > FL_CLIENTS_MAX || server->ending)
        fl_client_turn_away(&connection->client);
}

static void close_connection(struct fl_server *server, struct fl_connection *connection)
{
    struct fl_connection **at = &server->connections;

    while (*at && *at != connection)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = connection->next;
    server->connection_count--;
    fl_client_fini(&connection->client);
}

/* What a close frame says beside its code. */
static const char *reason_of(unsigned code)
{
    switch (code) {
    case FL_CLOSE_NORMAL:
        return "bye";
    case FL_CLOSE_GOING_AWAY:
        return "the program ends";
    case FL_CLOSE_BINARY:
        return "messages are text";
    case FL_CLOSE_NOT_JSON:
        return "no JSON object with a seq";
    case FL_CLOSE_POLICY:
        return "initialize with the right token first";
    case FL_CLOSE_TOO_LARGE:
        return "message too large";
    case FL_CLOSE_FULL:
        return "too many clients";
    case FL_CLOSE_INTERNAL:
    default:
        return "out of memory";
    }
}

static void close_with(struct lws *wsi, unsigned code)
{
    struct fl_buffer reason = {0}; /* the library wants bytes that it could write to */

    fl_buffer_text(&reason, reason_of(code));
    lws_close_reason(wsi, (enum lws_close_status)code, reason.data, reason.length);
    fl_buffer_fini(&reason);
}

/* The socket takes more. Returns -1 to close. */
static int send_more(struct fl_server *server, struct fl_connection *connection)
{
    struct fl_client *client = &connection->client;
    unsigned char *chunk = server->chunk + LWS_PRE;
    bool first = false, last = false;

    size_t size = fl_client_take(client, &server->service, fl__monotonic_ns(), chunk, FL_CHUNK_MAX, &first, &last);
    if (size > 0) {
        enum lws_write_protocol how = (enum lws_write_protocol)lws_write_ws_flags(LWS_WRITE_TEXT, first, last);
        if (lws_write(connection->wsi, chunk, size, how) < (int)size)
            return -1;
    } else if (fl_client_closes_with(client) != 0) {
        close_with(connection->wsi, fl_client_closes_with(client));
        return -1;
    }
    if (connection->paused && fl_client_wants_input(client)) {
        connection->paused = false;
        lws_rx_flow_control(connection->wsi, 1);
    }
    if (fl_client_has_output(client))
        lws_callback_on_writable(connection->wsi);
    return 0;
}

static void receive(struct fl_server *server, struct fl_connection *connection, const void *bytes, size_t length)
{
    fl_client_receive(&connection->client, &server->service, fl__monotonic_ns(), bytes, length,
                      lws_frame_is_binary(connection->wsi), lws_is_final_fragment(connection->wsi));
    if (!connection->paused && !fl_client_wants_input(&connection->client)) {
        connection->paused = true;
        lws_rx_flow_control(connection->wsi, 0);
    }
    if (fl_client_has_output(&connection->client))
        lws_callback_on_writable(connection->wsi);
}

int fl__websocket_callback(struct lws *wsi, enum lws_callback_reasons reason, void *session, void *in, size_t length)
{
    struct fl_server *server = lws_context_user(lws_get_context(wsi));
    struct fl_connection *connection = session;

    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED:
        open_connection(server, connection, wsi);
        lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        receive(server, connection, in, length);
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return send_more(server, connection);
    case LWS_CALLBACK_CLOSED:
        close_connection(server, connection);
        return 0;
    default:
        return 0;
    }
}
