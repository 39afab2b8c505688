#include "http.h"
#include "ascii.h"
#include "auth.h"
#include "server_private.h"

#include <string.h>

enum {
    HEADERS_MAX = 2048,     /* bytes of an answer's headers, ours and the library's */
    UPGRADE_REQUIRED = 426, /* the library has no name for it */
    HEADER_VALUE_MAX = 256, /* bytes of Host, Origin and the like; what is longer is refused */
};

/*
 * A chain, last first. The page needs no other origin, no inline code, and belongs in nobody's frame or cache; names
 * and paths of the program are in it.
 */
#define HEADER(variable, following, header, text)                                                                      \
    static const struct lws_protocol_vhost_options variable = {.next = (following), .name = (header), .value = (text)}

HEADER(no_store, NULL, "cache-control:", "no-store");
HEADER(no_sniffing, &no_store, "x-content-type-options:", "nosniff");
HEADER(no_referrer, &no_sniffing, "referrer-policy:", "no-referrer");
HEADER(same_origin, &no_referrer, "cross-origin-resource-policy:", "same-origin");
HEADER(no_opener, &same_origin, "cross-origin-opener-policy:", "same-origin");
const struct lws_protocol_vhost_options fl__http_headers = {
    .next = &no_opener,
    .name = "content-security-policy:",
    .value = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
             "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/* The value of a header, or NULL: it is absent. One that is too long becomes "", which is never right. */
static const char *header(struct lws *wsi, enum lws_token_indexes token, char value[HEADER_VALUE_MAX])
{
    if (lws_hdr_total_length(wsi, token) == 0)
        return NULL;
    if (lws_hdr_copy(wsi, value, HEADER_VALUE_MAX, token) < 0)
        value[0] = '\0';
    return value;
}

static int write_headers(struct lws *wsi, unsigned code, const char *type, size_t size)
{
    unsigned char headers[LWS_PRE + HEADERS_MAX];
    unsigned char *start = headers + LWS_PRE, *at = start, *end = headers + sizeof headers - 1;

    if (lws_add_http_common_headers(wsi, code, type, size, &at, end) != 0)
        return -1;
    if (code == HTTP_STATUS_METHOD_NOT_ALLOWED &&
        lws_add_http_header_by_name(wsi, (const unsigned char *)"allow:", (const unsigned char *)"GET", 3, &at, end))
        return -1;
    if (code >= 400 &&
        lws_add_http_header_by_token(wsi, WSI_TOKEN_CONNECTION, (const unsigned char *)"close", 5, &at, end) != 0)
        return -1;
    return lws_finalize_write_http_header(wsi, start, &at, end) != 0 ? -1 : 0;
}

/* A refusal in one line of text. The connection is closed behind it: -1. */
static int refuse(struct lws *wsi, unsigned code, const char *text)
{
    struct fl_buffer body = {0};

    if (write_headers(wsi, code, "text/plain; charset=utf-8", strlen(text)) != 0)
        return -1;
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) > 0)
        return -1;
    /* The library writes into the LWS_PRE bytes before. */
    if (fl_buffer_reserve(&body, LWS_PRE)) {
        body.length = LWS_PRE;
        fl_buffer_text(&body, text);
    }
    if (!body.failed)
        lws_write(wsi, body.data + LWS_PRE, strlen(text), LWS_WRITE_HTTP_FINAL);
    fl_buffer_fini(&body);
    return -1;
}

/* Is the request one that we answer at all? 0, or what refuse() returned. */
static int check(struct lws *wsi)
{
    char host_value[HEADER_VALUE_MAX], origin_value[HEADER_VALUE_MAX];
    const char *host = header(wsi, WSI_TOKEN_HOST, host_value);

    if (!fl_host_allowed(host))
        return refuse(wsi, HTTP_STATUS_FORBIDDEN, "flamelet: open this page as localhost or 127.0.0.1\n");
    if (!fl_origin_allowed(header(wsi, WSI_TOKEN_ORIGIN, origin_value), host))
        return refuse(wsi, HTTP_STATUS_FORBIDDEN, "flamelet: requests from other pages are refused\n");
    if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) == 0)
        return refuse(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED, "flamelet: only GET is answered\n");
    return 0;
}

static int serve_page(struct lws *wsi, struct fl_http_request *request, const struct fl_server *server,
                      const char *path, size_t length)
{
    if (check(wsi) != 0)
        return -1;
    if (length == strlen(FL_WEBSOCKET_PATH) && memcmp(path, FL_WEBSOCKET_PATH, length) == 0)
        return refuse(wsi, UPGRADE_REQUIRED, "flamelet: this address is for websockets\n");
    for (size_t i = 0; i < server->page_count; i++) {
        const struct fl_page_file *file = &server->pages[i];
        if (strlen(file->path) != length || memcmp(file->path, path, length) != 0)
            continue;
        if (write_headers(wsi, HTTP_STATUS_OK, file->type, file->size) != 0)
            return -1;
        *request = (struct fl_http_request){.file = file};
        lws_callback_on_writable(wsi);
        return 0;
    }
    return refuse(wsi, HTTP_STATUS_NOT_FOUND, "flamelet: there is no such page\n");
}

static int send_more(struct lws *wsi, struct fl_http_request *request, struct fl_server *server)
{
    const struct fl_page_file *file = request->file;
    if (!file)
        return 0;
    size_t left = file->size - request->sent;
    size_t size = left < FL_CHUNK_MAX ? left : FL_CHUNK_MAX;
    enum lws_write_protocol how = size == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP;

    /* The library writes into what it is given, and the page is constant. */
    if (file->data)
        memcpy(server->chunk + LWS_PRE, file->data + request->sent, size);
    if (lws_write(wsi, server->chunk + LWS_PRE, size, how) < (int)size)
        return -1;
    request->sent += size;
    if (request->sent < file->size) {
        lws_callback_on_writable(wsi);
        return 0;
    }
    request->file = NULL;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* Is "flamelet" in the comma-separated list of subprotocols? */
static bool offers_subprotocol(const char *list)
{
    while (list && *list) {
        list += strspn(list, ", \t");
        size_t length = strcspn(list, ", \t");
        if (length == strlen(FL_SUBPROTOCOL) && memcmp(list, FL_SUBPROTOCOL, length) == 0)
            return true;
        list += length;
    }
    return false;
}

/* 0: the library goes on with the upgrade. The callback's `in` must not be used here: with some values of Upgrade, this
 * library has freed it by now. */
static int check_upgrade(struct lws *wsi)
{
    char value[HEADER_VALUE_MAX];
    const char *upgrade = header(wsi, WSI_TOKEN_UPGRADE, value);

    /* Absent: the library has answered by itself and let go of the headers. */
    if (!upgrade)
        return -1;
    /* The library would also go over to HTTP/2, which nobody needs here and whose parser has known holes. */
    bool is_websocket = fl_ascii_equal(upgrade, "websocket");
    if (check(wsi) != 0)
        return -1;
    if (!is_websocket)
        return refuse(wsi, HTTP_STATUS_FORBIDDEN, "flamelet: only websockets can be upgraded to\n");
    const char *path = header(wsi, WSI_TOKEN_GET_URI, value);
    if (!path || strcmp(path, FL_WEBSOCKET_PATH) != 0)
        return refuse(wsi, HTTP_STATUS_NOT_FOUND, "flamelet: the websocket is at /ws\n");
    const char *version = header(wsi, WSI_TOKEN_VERSION, value);
    if (!version || strcmp(version, "13") != 0)
        return refuse(wsi, HTTP_STATUS_BAD_REQUEST, "flamelet: the websocket's version must be 13\n");
    if (!offers_subprotocol(header(wsi, WSI_TOKEN_PROTOCOL, value)))
        return refuse(wsi, HTTP_STATUS_BAD_REQUEST, "flamelet: the subprotocol must be \"flamelet\"\n");
    return 0;
}

int fl__http_callback(struct lws *wsi, enum lws_callback_reasons reason, void *session, void *in, size_t length)
{
    struct fl_server *server = lws_context_user(lws_get_context(wsi));

    switch (reason) {
    case LWS_CALLBACK_HTTP:
        return serve_page(wsi, session, server, in, length);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return send_more(wsi, session, server);
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return check_upgrade(wsi);
    case LWS_CALLBACK_WSI_DESTROY:
        fl__server_forget_socket(server, wsi);
        return 0;
    case LWS_CALLBACK_HTTP_BODY:
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
    /* A websocket that asked for this protocol by name, and what CONNECT is turned into. */
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
    case LWS_CALLBACK_RAW_ADOPT:
    case LWS_CALLBACK_RAW_RX:
        return -1;
    default:
        /* Not the library's default handler: it answers things that we do not offer. */
        return 0;
    }
}
