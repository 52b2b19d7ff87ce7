/*
 * server [option value ...]: a small Table service for tests, on this machine only. It prints its
 * port, and ends when its standard input is closed.
 *
 *     --dialect azure|azurite   answers as the service (so without this) or as its emulator
 *     --account NAME, --key K   the account (devstoreaccount1 with its public key)
 *     --errors json|xml|header  the form of errors, instead of the one that the request asks for
 *     --log FILE                a file that gets a line for each request: its method and target
 *     --command 'COMMAND'       as if the command were the first line of standard input
 *
 * A line of standard input is a command, and holds for every request that is sent after it:
 *
 *     fault KIND N [P]    the N-th request from now on meets a fault of service/faults.h; N+: all
 *                         from there on. P: milliseconds of a delay, seconds of Retry-After, status
 *                         of a page
 *     pages SEED          cut pages at random, and continue them in every form; 0: no longer
 *     rows N              at most so many entities in a page
 *     forget              no faults, and an empty log
 *     mark WORD           write the word to the file FILE.mark, FILE being the log's: the commands
 *                         before have been obeyed
 *     canned 1            give replies without looking: service/canned.h; 0: no longer
 *
 * The same as the body of POST /-/ is for clients that have no access to the input. GET /-/ answers
 * with the log. Neither is a request that counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "service/address.h"
#include "service/batch.h"
#include "service/canned.h"
#include "service/faults.h"
#include "service/http.h"
#include "service/operations.h"
#include "service/pages.h"
#include "service/refusal.h"
#include "service/signature.h"
#include "service/tables.h"

#define ACCOUNT "devstoreaccount1"
#define KEY                                                                                        \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

enum { CONNECTIONS_MAX = 200, READ_SIZE = 65536, LINE_MAX_SIZE = 200 };

typedef struct connection {
    int fd; /* -1: free */
    pt_buffer in;
    pt_buffer out;
    size_t sent;
    int64_t due;    /* milliseconds: nothing is sent or read before; 0: at once */
    bool closes;    /* after everything is sent */
    bool continues; /* was told to go on with the body of this request */
    bool drains;    /* reads on until the client closes, so that it gets to the reply */
} connection;

typedef struct server {
    service service;
    faults faults;
    canned canned;
    connection connections[CONNECTIONS_MAX];
    size_t connections_used; /* the rest was never used */
    int listening;
    pt_buffer log; /* one line a request: method and target */
    const char *log_path;
    char line[LINE_MAX_SIZE]; /* of standard input, so far */
    size_t line_size;
} server;

static int64_t microseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static int64_t now(void)
{
    return microseconds() / 1000;
}

/* --- Performing --- */

static void route(service *served, request *asked, reply *given)
{
    address named = address_read(served, asked, asked->target);
    if (!signature_check(served, asked, &named, given)) {
        return;
    }
    if (named.kind == ADDRESS_NONE || named.other_account) {
        refuse(served, asked, given, "ResourceNotFound");
    } else if (named.kind == ADDRESS_BATCH && slice_is(asked->method, "POST")) {
        batch_perform(served, asked, given);
    } else if (named.kind == ADDRESS_TABLES || named.kind == ADDRESS_TABLE) {
        tables_perform(served, asked, &named, given);
    } else if (named.kind == ADDRESS_ENTITIES && slice_is(asked->method, "GET")) {
        pages_perform(served, asked, &named, given);
    } else if (named.kind == ADDRESS_ENTITIES || named.kind == ADDRESS_ENTITY) {
        operations_perform(served, asked, &named, given);
    } else {
        refuse(served, asked, given, "NotImplemented");
    }
}

static void throttle(service *served, request *asked, reply *given)
{
    address named = address_read(served, asked, asked->target);
    if (named.kind == ADDRESS_BATCH) {
        batch_refuse(served, asked, given, "TooManyRequests");
    } else {
        refuse(served, asked, given, "TooManyRequests");
    }
}

static void perform(server *s, request *asked, const fault *met, reply *given)
{
    if (met->kind == FAULT_BUSY) {
        char seconds[24];
        snprintf(seconds, sizeof seconds, "%lld", (long long)met->parameter);
        refuse(&s->service, asked, given, "ServerBusy");
        reply_header(given, "Retry-After", seconds);
    } else if (met->kind == FAULT_THROTTLE) {
        throttle(&s->service, asked, given);
    } else if (met->kind == FAULT_PAGE) {
        given->status = met->parameter != 0 ? (int)met->parameter : STATUS_OK;
        given->is_foreign = true;
        reply_header(given, "Content-Type", "text/html");
        pt_buffer_append_text(&given->body, "<html><body>Sign in</body></html>");
    } else if (met->kind == FAULT_REDIRECT) {
        given->status = STATUS_FOUND;
        given->is_foreign = true;
        reply_header(given, "Location", "http://127.0.0.1:1/login?back=sig%3Dc2VjcmV0");
    } else if (!canned_answer(&s->canned, &s->service, asked, given)) {
        route(&s->service, asked, given);
        canned_keep(&s->canned, asked, given);
    }
    check_buffer(&given->headers);
    check_buffer(&given->body);
    given->body.size -= met->kind == FAULT_SPOIL ? given->body.size / 2 : 0;
}

/* --- Commands --- */

static bool set_number(const char *text, const char *name, long long *number)
{
    int used = 0;
    size_t size = strlen(name);
    return strncmp(text, name, size) == 0 && sscanf(text + size, " %lld %n", number, &used) == 1 &&
           text[size + (size_t)used] == 0;
}

static void write_mark(const server *s, const char *word)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s.mark", s->log_path);
    FILE *file = fopen(path, "w");
    if (file == NULL || fprintf(file, "%s\n", word) < 0 || fclose(file) != 0) {
        give_up(path, strerror(errno));
    }
}

/* Obeys a line of standard input, or the body of a POST to /-/. */
static bool obey(server *s, const char *command)
{
    long long number;
    if (strncmp(command, "fault ", strlen("fault ")) == 0) {
        return faults_add(&s->faults, command + strlen("fault "));
    }
    if (set_number(command, "pages", &number)) {
        s->service.seed = (uint64_t)number;
    } else if (set_number(command, "rows", &number) && number > 0) {
        s->service.rows = number;
    } else if (set_number(command, "canned", &number)) {
        s->canned.is_on = number != 0;
    } else if (strcmp(command, "forget") == 0) {
        s->faults = (faults){.count = 0};
        pt_buffer_clear(&s->log);
        if (s->log_path != NULL && truncate(s->log_path, 0) != 0 && errno != ENOENT) {
            give_up(s->log_path, strerror(errno));
        }
    } else if (strncmp(command, "mark ", strlen("mark ")) == 0 && s->log_path != NULL) {
        write_mark(s, command + strlen("mark "));
    } else {
        return false;
    }
    return true;
}

/* GET /-/ tells the log, POST obeys. Neither counts as a request. */
static void control(server *s, request *asked, reply *given)
{
    given->status = STATUS_OK;
    if (slice_is(asked->method, "GET")) {
        pt_buffer_append_slice(&given->body, pt_buffer_slice(&s->log));
    } else if (!obey(s, request_copy(asked, asked->body))) {
        refuse_bare(given, STATUS_BAD);
    }
}

static void write_log(server *s, const request *asked)
{
    size_t from = s->log.size;
    pt_buffer_append_slice(&s->log, asked->method);
    pt_buffer_append_byte(&s->log, ' ');
    pt_buffer_append_slice(&s->log, asked->target);
    pt_buffer_append_byte(&s->log, '\n');
    check_buffer(&s->log);
    if (s->log_path == NULL) {
        return;
    }
    int fd = open(s->log_path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    size_t size = s->log.size - from;
    if (fd < 0 || write(fd, s->log.data + from, size) != (ssize_t)size || close(fd) != 0) {
        give_up(s->log_path, strerror(errno));
    }
}

/* --- Connections --- */

static void end_connection(connection *c)
{
    close(c->fd);
    pt_buffer_free(&c->in);
    pt_buffer_free(&c->out);
    *c = (connection){.fd = -1};
}

static void accept_connection(server *s)
{
    int fd = accept4(s->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < CONNECTIONS_MAX; i++) {
        if (s->connections[i].fd < 0) {
            s->connections[i].fd = fd;
            s->connections_used = i < s->connections_used ? s->connections_used : i + 1;
            return;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

static bool asks_to_close(const request *asked)
{
    return pt_is_word(request_header(asked, "Connection"), "close");
}

/* Appends the reply, or the part of it that the fault leaves. */
static void send_reply(server *s, connection *c, const reply *given, const fault *met, bool closes)
{
    size_t from = c->out.size;
    uint64_t cut = s->service.seed != 0 ? service_random(&s->service) : 0;
    http_write(&s->service, given, closes, cut, &c->out);
    c->closes = closes || met->kind == FAULT_CLOSE;
    if (met->kind == FAULT_DROP || met->kind == FAULT_LOSE) {
        c->out.size = from;
        c->closes = true;
    } else if (met->kind == FAULT_CUT) {
        c->out.size = from + (c->out.size - from) / 2;
        c->closes = true;
    } else if (met->kind == FAULT_DELAY) {
        c->due = now() + met->parameter;
    }
}

static void serve(server *s, connection *c, request *asked)
{
    reply given = {.code = ""};
    fault met = {.kind = FAULT_NONE};
    if (pt_slice_has_prefix(asked->target, pt_slice_text("/-/"))) {
        control(s, asked, &given);
    } else {
        write_log(s, asked);
        met = faults_next(&s->faults);
        given.status = STATUS_OK;
        if (met.kind != FAULT_DROP) {
            perform(s, asked, &met, &given);
        }
    }
    send_reply(s, c, &given, &met, asks_to_close(asked));
    reply_free(&given);
}

/* A request that cannot be read is answered, and its connection closed: where it ends is unknown.
 */
static void refuse_request(server *s, connection *c, request *asked, http_found found)
{
    reply given = {.code = ""};
    fault none = {.kind = FAULT_NONE};
    if (found == HTTP_LARGE_BODY) {
        write_log(s, asked);
        refuse(&s->service, asked, &given, "RequestBodyTooLarge");
    } else {
        refuse_bare(&given, found == HTTP_LONG_HEADER ? STATUS_LONG_HEADER : STATUS_BAD);
    }
    send_reply(s, c, &given, &none, true);
    c->drains = true;
    reply_free(&given);
}

/* Takes the next request out of the received bytes. False: it has not come as a whole. */
static bool serve_next(server *s, connection *c)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    pt_arena memory = {0};
    request *asked = pt_arena_alloc(&memory, sizeof *asked);
    size_t size = 0;
    if (asked == NULL) {
        give_up("request", "out of memory");
    }
    *asked = (request){.memory = &memory};
    http_found found = http_read(pt_buffer_slice(&c->in), asked, &size);
    if (found == HTTP_WANTS_100 && !c->continues) {
        c->continues = true;
        pt_buffer_append_text(&c->out, go_on);
    } else if (found == HTTP_REQUEST) {
        c->continues = false;
        serve(s, c, asked);
        memmove(c->in.data, c->in.data + size, c->in.size - size);
        c->in.size -= size;
    } else if (found > HTTP_REQUEST) {
        refuse_request(s, c, asked, found);
    }
    pt_arena_free(&memory);
    return found == HTTP_REQUEST;
}

/* False: the connection has ended. */
static bool receive(connection *c)
{
    uint8_t *room = pt_buffer_extend(&c->in, READ_SIZE);
    check_buffer(&c->in);
    ssize_t size = recv(c->fd, room, READ_SIZE, 0);
    c->in.size -= READ_SIZE - (size > 0 ? (size_t)size : 0);
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool send_more(connection *c)
{
    ssize_t size = send(c->fd, c->out.data + c->sent, c->out.size - c->sent, MSG_NOSIGNAL);
    c->sent += size > 0 ? (size_t)size : 0;
    if (c->sent == c->out.size) {
        pt_buffer_clear(&c->out);
        c->sent = 0;
    }
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Reads bytes, and serves the requests in them. False: the connection has ended. */
static bool receive_and_serve(server *s, connection *c)
{
    bool is_alive = receive(c);
    if (c->drains) {
        c->in.size = 0;
    }
    while (is_alive && !c->closes && c->due == 0 && serve_next(s, c)) {
    }
    return is_alive;
}

/* Before a connection closes whose client may still send, the rest is read: otherwise the client
 * would not get to the reply. */
static void advance(server *s, connection *c, short events)
{
    static const short readable = POLLIN | POLLHUP | POLLERR | POLLRDHUP;
    bool is_alive = true;
    c->due = c->due != 0 && now() >= c->due ? 0 : c->due;
    if (c->due != 0) {
        is_alive = (events & readable) == 0;
    } else if (c->out.size == 0 && (events & readable) != 0) {
        is_alive = receive_and_serve(s, c);
    }
    if (is_alive && c->due == 0 && c->out.size != 0) {
        is_alive = send_more(c);
        while (is_alive && c->out.size == 0 && !c->closes && c->due == 0 && serve_next(s, c)) {
        }
    }
    bool is_done = c->closes && c->due == 0 && c->out.size == 0;
    if (!is_alive || (is_done && !c->drains)) {
        end_connection(c);
    } else if (is_done) {
        shutdown(c->fd, SHUT_WR);
    }
}

/* --- The loop --- */

/* Reads commands. False: standard input is closed. */
static bool read_commands(server *s)
{
    char bytes[LINE_MAX_SIZE];
    ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
    for (ssize_t i = 0; i < size; i++) {
        if (bytes[i] != '\n' && s->line_size + 1 < sizeof s->line) {
            s->line[s->line_size++] = bytes[i];
            continue;
        }
        s->line[s->line_size] = 0;
        s->line_size = 0;
        if (!obey(s, s->line)) {
            give_up("not a command", s->line);
        }
    }
    return size > 0;
}

static int wait_time(const server *s)
{
    int64_t shortest = -1;
    for (size_t i = 0; i < s->connections_used; i++) {
        const connection *c = &s->connections[i];
        if (c->fd >= 0 && c->due != 0) {
            int64_t left = c->due - now();
            left = left > 0 ? left : 0;
            shortest = shortest < 0 || left < shortest ? left : shortest;
        }
    }
    return (int)shortest;
}

static void fill(const server *s, struct pollfd *fds)
{
    fds[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = s->listening, .events = POLLIN};
    for (size_t i = 0; i < s->connections_used; i++) {
        const connection *c = &s->connections[i];
        short events = c->due != 0 ? POLLRDHUP : c->out.size != 0 ? POLLOUT : POLLIN;
        fds[2 + i] = (struct pollfd){.fd = c->fd, .events = events};
    }
}

/*
 * Waits until something comes. A server that answers many clients does not sleep between two
 * requests: with canned replies, which are there to measure clients, this one stays awake a little.
 */
static void wait_for_any(server *s, struct pollfd *fds, nfds_t count)
{
    enum { AWAKE_MICROSECONDS = 50 };
    int found = 0;
    if (s->canned.is_on) {
        int64_t end = microseconds() + AWAKE_MICROSECONDS;
        while ((found = poll(fds, count, 0)) == 0 && microseconds() < end) {
            sched_yield();
        }
    }
    if (found == 0) {
        found = poll(fds, count, wait_time(s));
    }
    if (found < 0 && errno != EINTR) {
        give_up("poll", strerror(errno));
    }
}

/* Commands come first: one that was written before a request was sent holds for the request. poll
 * looks at the input before the connections, so both may have come in between: it is asked again.
 */
static void run(server *s)
{
    struct pollfd fds[2 + CONNECTIONS_MAX];
    for (;;) {
        size_t used = s->connections_used;
        fill(s, fds);
        wait_for_any(s, fds, 2 + used);
        if (poll(fds, 1, 0) < 0 && errno != EINTR) {
            give_up("poll", strerror(errno));
        }
        if (fds[0].revents != 0 && !read_commands(s)) {
            return;
        }
        if (fds[1].revents != 0) {
            accept_connection(s);
        }
        for (size_t i = 0; i < used; i++) {
            connection *c = &s->connections[i];
            if (c->fd >= 0 && c->fd == fds[2 + i].fd && (fds[2 + i].revents != 0 || c->due != 0)) {
                advance(s, c, fds[2 + i].revents);
            }
        }
    }
}

/* --- Starting --- */

static void read_option(server *s, const char *name, const char *value)
{
    static const char *const forms[] = {
        [ERROR_OWN] = "own", [ERROR_JSON] = "json", [ERROR_XML] = "xml", [ERROR_HEADER] = "header"};
    if (strcmp(name, "--dialect") == 0 &&
        (strcmp(value, "azure") == 0 || strcmp(value, "azurite") == 0)) {
        s->service.dialect = strcmp(value, "azure") == 0 ? AZURE : AZURITE;
    } else if (strcmp(name, "--account") == 0) {
        s->service.account = value;
    } else if (strcmp(name, "--key") == 0) {
        s->service.key = value;
    } else if (strcmp(name, "--log") == 0) {
        s->log_path = value;
    } else if (strcmp(name, "--command") == 0) {
        if (!obey(s, value)) {
            give_up("not a command", value);
        }
    } else if (strcmp(name, "--errors") == 0) {
        size_t form = 0;
        while (form < sizeof forms / sizeof forms[0] && strcmp(forms[form], value) != 0) {
            form++;
        }
        if (form == sizeof forms / sizeof forms[0]) {
            give_up(name, "is own, json, xml or header");
        }
        s->service.error_form = (error_form)form;
    } else {
        give_up("not an option", name);
    }
}

/* Listens on this machine only; the kernel chooses the port. */
static int listen_on(int *port)
{
    struct sockaddr_in loopback = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof loopback;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&loopback, size) != 0 || listen(fd, 128) != 0 ||
        getsockname(fd, (struct sockaddr *)&loopback, &size) != 0) {
        give_up("listening", strerror(errno));
    }
    *port = ntohs(loopback.sin_port);
    return fd;
}

int main(int argc, char **argv)
{
    static server s = {
        .service = {.account = ACCOUNT, .key = KEY, .rows = PAGE_MAX, .dialect = AZURE},
    };
    int port;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) {
            give_up("an option without value", argv[i]);
        }
        read_option(&s, argv[i], argv[i + 1]);
    }
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        s.connections[i].fd = -1;
    }
    signal(SIGPIPE, SIG_IGN);
    tables_open(&s.service, ":memory:");
    pages_prepare(&s.service);
    s.listening = listen_on(&port);
    printf("%d\n", port);
    fflush(stdout);
    run(&s);
    sqlite3_close(s.service.db);
    return EXIT_SUCCESS;
}
