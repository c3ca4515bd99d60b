/* Answers every request with the same page, over connections that are kept. It listens on the
   port of its first argument, else on that of PORT. A child does the work, and ends with it. */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECTIONS 100
#define PAGE "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n"

static void leave(int signal) {
    (void)signal;
    _exit(0);
}

static void serve(int listener) {
    struct pollfd each[CONNECTIONS + 1] = {{.fd = listener, .events = POLLIN}};
    char request[4096];
    for (int i = 1; i <= CONNECTIONS; i++) each[i].fd = -1;
    while (poll(each, CONNECTIONS + 1, -1) > 0) {
        for (int i = 1; i <= CONNECTIONS; i++) {
            if (each[i].fd < 0 || !each[i].revents) continue;
            ssize_t got = read(each[i].fd, request, sizeof request);
            if (got <= 0 || write(each[i].fd, PAGE, sizeof PAGE - 1) < 0) {
                close(each[i].fd);
                each[i].fd = -1;
            }
        }
        if (!each[0].revents) continue;
        int taken = accept(listener, NULL, NULL), place = 1;
        while (place <= CONNECTIONS && each[place].fd >= 0) place++;
        if (taken >= 0 && place > CONNECTIONS) close(taken);
        else if (taken >= 0) each[place] = (struct pollfd){.fd = taken, .events = POLLIN};
    }
}

int main(int argc, char **argv) {
    const char *port = argc > 1 ? argv[1] : getenv("PORT");
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port ? atoi(port) : 0)};
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 128)) return 7;
    signal(SIGPIPE, SIG_IGN);
    /* The first process of a container hears only of signals that it has a handler for. */
    signal(SIGTERM, leave);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(listener);
        _exit(1);
    }
    wait(NULL);
    return 1;
}
