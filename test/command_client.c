// What command_client.py does, in a tenth of the time: it runs a thousand times. test/run.py compiles it.

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

static char *message;
static size_t size, room;

static void put(const void *data, size_t length) {
  if (size + length > room) {
    room = 2 * (size + length);
    message = realloc(message, room);
    if (!message) exit(1);
  }
  memcpy(message + size, data, length);
  size += length;
}

// As Python's marshal has them.
static void put_head(char type, uint32_t count) {
  put(&type, 1);
  put(&count, sizeof count);
}

static void put_text(const char *text, size_t length) {
  put_head('u', length);
  put(text, length);
}

static int fail(const char *what) {
  perror(what);
  return 1;
}

int main(int count, char **arguments) {
  const char *path = getenv("IREE_TUNER_TEST_SERVER");
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  if (!path || count < 2) return 2;
  if (snprintf(to.sun_path, sizeof to.sun_path, "%s.%s", path, arguments[1]) >= (int)sizeof to.sun_path)
    return 2;
  int server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (server < 0 || connect(server, (struct sockaddr *)&to, sizeof to)) return fail(to.sun_path);

  put_head('(', 3);
  put_head('[', count - 1);
  for (int each = 1; each < count; each++) put_text(arguments[each], strlen(arguments[each]));
  char *folder = getcwd(NULL, 0);
  if (!folder) return fail("getcwd");
  put_text(folder, strlen(folder));
  put("{", 1);
  for (char **each = environ; *each; each++) {
    const char *value = strchr(*each, '=');
    if (!value) continue;
    put_text(*each, value - *each);
    put_text(value + 1, strlen(value + 1));
  }
  put("0", 1);

  uint32_t length = size;
  if (send(server, &length, sizeof length, 0) != sizeof length) return fail("send");
  int files[] = {0, 1, 2};
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof files)];
  } control = {0};
  struct iovec data = {message, size};
  struct msghdr all = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
                       .msg_controllen = sizeof control};
  struct cmsghdr *head = CMSG_FIRSTHDR(&all);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof files);
  memcpy(CMSG_DATA(head), files, sizeof files);
  ssize_t sent = sendmsg(server, &all, 0);
  for (; sent >= 0 && size > (size_t)sent; sent = send(server, message, size, 0)) {
    message += sent;
    size -= sent;
  }
  if (sent < 0) return fail("send");

  int32_t status = 0;
  if (recv(server, &status, sizeof status, MSG_WAITALL) != sizeof status) return fail("the server");
  if (status < 0) {
    signal(-status, SIG_DFL);
    kill(getpid(), -status);
  }
  return status;
}
